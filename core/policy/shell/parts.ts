/** The half of the walk that looks into words: everything that Bash does before a command gets them. */
import { changes, NO_INPUT, shown } from '../model.ts';
import type { Finding } from '../model.ts';
import { arithmeticFindings, parameterFindings } from './expressions.ts';
import { Judge } from './judge.ts';
import { literalsOf } from './outputs.ts';
import type { Script, SyntaxNode, Word, WordPart } from './parse.ts';
import { substitutionsBelow } from './visit.ts';

/** Variables of a container that hold no secret. */
const OWN =
  /^(HOME|USER|LOGNAME|HOSTNAME|PATH|PWD|OLDPWD|SHELL|LANG|LC_\w+|TERM|TZ|UID|EUID|PPID|RANDOM|SECONDS|IFS|OSTYPE|HOSTTYPE|MACHTYPE|BASH_VERSION|\w*_?VERSION|REPLY)$/;

/** Words and what is in them. Substitutions are walked as commands of their own. */
export abstract class Parts extends Judge {
  /** Literal texts that process substitutions hand to the command at hand. */
  protected feeds: string[] = [];

  protected abstract statements(script: Script): void;

  protected note(...findings: Finding[]): void {
    this.findings.push(...findings);
  }

  protected word(word: Word): void {
    for (const part of word.parts ?? []) this.part(part);
  }

  protected part(part: WordPart): void {
    switch (part.type) {
      case 'CommandExpansion':
        return this.substituted(part.script);
      case 'ProcessSubstitution':
        if (part.operator === '>') this.note(changes('writes into a process substitution'));
        if (part.script) this.feeds.push(...literalsOf(part.script, this));
        return this.substituted(part.script);
      case 'DoubleQuoted':
      case 'LocaleString':
        for (const child of part.parts) this.part(child);
        return;
      case 'ArithmeticExpansion':
        this.note(...arithmeticFindings(part.expression, this.numbers, false));
        return this.wordsBelow(part);
      case 'SimpleExpansion':
        return this.secretVariable(part.text.slice(1));
      case 'ParameterExpansion':
        this.secretVariable(part.parameter);
        this.note(...parameterFindings(part, (name) => this.numeric(name)));
        return this.wordsBelow(part);
      case 'BraceExpansion':
      case 'Glob':
      case 'ExtendedGlob':
        if (part.type === 'BraceExpansion' && !part.parts && /[$`]/.test(part.text)) {
          this.note(changes(`an expansion in braces: ${shown(part.text)}`));
        }
        for (const child of part.parts ?? []) this.part(child);
        return;
      default:
        return;
    }
  }

  private substituted(script: Script | undefined): void {
    if (!script) return this.note(changes('a substitution that could not be read'));
    const input = this.input;
    this.input = NO_INPUT;
    this.statements(script);
    this.input = input;
  }

  /** Walks into all substitutions below a node that is judged by other rules. */
  protected wordsBelow(node: SyntaxNode): void {
    for (const inner of substitutionsBelow(node)) this.substituted(inner.script);
  }

  /** A variable from outside whose name speaks of a secret. */
  private secretVariable(name: string): void {
    const secret = /PASS|SECRET|TOKEN|KEY|CRED|AUTH|DSN|DATABASE_URL|PRIVATE/.test(name);
    if (secret && !this.values.has(name))
      this.note(changes(`uses ${name}, which may hold a secret`));
    else if (
      this.foreign &&
      /^[A-Z]/.test(name) &&
      !OWN.test(name) &&
      !this.values.has(name) &&
      !this.bound.has(name)
    )
      this.note(changes(`shows ${name} of a container's environment, which may hold a secret`));
  }
}
