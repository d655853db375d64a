/** The part of the walk that follows what a command keeps: redirections, assignments, parameters, files that run later. */
import { changes } from '../model.ts';
import type { Arg } from '../model.ts';
import { literalsOf } from './outputs.ts';
import type { Assignment, Command, Word } from './parse.ts';
import { Parts } from './parts.ts';
import { readRedirect } from './redirects.ts';
import { readParts, readText, readWord } from './words.ts';

/** Files whose text runs later. */
const LATER =
  /^\/etc\/(cron|systemd|init|rc|profile|bash|update-motd|network\/if-|ppp)|\/(\.bashrc|\.profile|\.bash_profile|\.zshrc|authorized_keys)$|^\/var\/spool\/cron|^\/(usr\/)?lib\/systemd/;

/** The likeliest text of a word. */
const likely = (arg: Arg): string => arg.guess ?? arg.value;

/** Redirections, assignments and what is written for later. */
export abstract class Stores extends Parts {
  protected redirect(redirect: Parameters<typeof readRedirect>[0]): void {
    if (redirect.type === 'HereDoc') for (const part of redirect.body.parts ?? []) this.part(part);
    else if (redirect.target) this.word(redirect.target);
    const { findings, input } = readRedirect(redirect, {
      text: (word) => readText(word, this),
      parts: (parts) => readParts(parts, this),
      directories: this.directories,
    });
    this.note(...findings);
    if (!input) return;
    const earlier = input.from === 'text' ? [] : this.input.texts;
    this.input = { ...input, texts: [...input.texts, ...earlier] };
  }

  /** `set -- rm -rf /srv; "$@"`: the words become the parameters. Such a script is never read-only; this is about danger. */
  protected setsParameters(words: readonly Word[]): void {
    const args = words.flatMap((word) => readWord(word, this));
    const from = args.findIndex((arg) => arg.value === '--');
    if (from >= 0) this.parameters = args.slice(from + 1);
  }

  /** Remembers what is written to which file; what is written to where commands are kept for later is looked at. */
  protected remember(command: Command): void {
    const files = command.redirects.flatMap((redirect) =>
      redirect.type === 'Redirect' && redirect.target && />/.test(redirect.operator)
        ? [likely(readText(redirect.target, this))]
        : [],
    );
    for (const file of files) {
      const texts = [...literalsOf(command, this), ...this.input.texts];
      this.write(file, texts);
      if (!LATER.test(file)) continue;
      const lines = texts.flatMap((text) => text.split('\n'));
      const bare = lines.map((line) =>
        line.replace(/^\s*(@\w+|([\d*,/-]+\s+){5})\s*(\w+\s+)?/, ''),
      );
      this.note(...this.suspect([...bare, ...lines.map((line) => line.replace(/^\w+=-?/, ''))]));
    }
  }

  /** What an assignment runs, and what it may hold for later: `PAGER='rm -rf /' man x`. */
  protected assigned(item: Assignment): void {
    const values = item.value.type === 'Word' ? [item.value] : item.value.elements;
    for (const value of values) {
      this.word(value);
      if (value.parts?.some((part) => part.type === 'ProcessSubstitution')) {
        this.note(changes('a process substitution in an assignment'));
      }
    }
    if (item.index) {
      this.note(changes(`assigns to an element of ${item.name}`));
      this.word(item.index);
    }
    const text = item.text.slice(item.text.indexOf('=') + 1);
    if (/\s/.test(text)) this.note(...this.suspect([text.replace(/^(['"])([^]*)\1$/, '$2')]));
  }
}
