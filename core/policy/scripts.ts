/** What is known of the scripts that a command runs, and what that adds to its verdict (P1, P4). */
import { classify, type Verdict } from './classify.ts';
import { shellWord } from '../text/shell-word.ts';

/** A script as it was read on the target before the command was asked for. */
export interface ReadScript {
  /** Its name as the command has it. */
  shown: string;
  /** The program that runs it; empty when it is run by itself. */
  program: string;
  /** The beginning of its text, with secrets hidden. */
  text: string;
}

const SHELLS = /^(ba|da|a|z|k|mk)?sh$/;

/**
 * A command whose script destroys destroys. What a script holds can only raise the class: one that only reads may be changed,
 * and the command that runs it stays what it is.
 */
export function withScripts(alone: Verdict, scripts: readonly ReadScript[]): Verdict {
  if (alone.risk === 'destructive') return alone;
  for (const script of scripts) {
    const inside = classify(asCommand(script));
    if (inside.risk !== 'destructive') continue;
    const why = `${script.shown} holds this: ${inside.reasons[0] ?? 'it destroys'}`;
    return { risk: 'destructive', reasons: [why, ...alone.reasons] };
  }
  return alone;
}

/** The script as a command of its own: shell as it is, any other language as code for its interpreter. */
function asCommand({ program, text }: ReadScript): string {
  const [, line = ''] = /^#!\s*([^\n]*)/.exec(text) ?? [];
  const words = line.split(/\s+/).map((word) => word.split('/').at(-1) ?? '');
  const named = words.find((word) => word !== '' && word !== 'env' && !word.startsWith('-'));
  const by = program !== '' ? program : (named ?? 'sh');
  return SHELLS.test(by) ? text : `python3 -c ${shellWord(text)}`;
}
