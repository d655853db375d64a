/**
 * The verdict over a command (P1–P5): pure, synchronous and total. It never throws, whatever the text; what it cannot understand
 * is at least config_mutation.
 */
import { ruleFor } from './commands/index.ts';
import type { Finding } from './model.ts';
import { destroys, changes } from './model.ts';
import { RISKS, stricter } from './risk.ts';
import type { Risk } from './risk.ts';
import { walkSource } from './shell/walk.ts';
import type { ScriptUse, Session } from './shell/scope.ts';

/** The class of a command and why, in words for the operator's card. `reasons` is never empty. */
export interface Verdict {
  risk: Risk;
  reasons: string[];
}

/** Most reasons that one verdict gives. */
const MAX_REASONS = 8;

/**
 * Classifies a command as it would run in the environment of `environment.ts`. `declared` is what the agent said about it: the
 * verdict is the stricter of both.
 */
export function classify(command: string, declared?: Risk): Verdict {
  const { findings } = examine(command);
  const computed = findings.reduce<Risk>(
    (risk, finding) => stricter(risk, finding.risk),
    'read_only',
  );
  const reasons = reasonsOf(findings);
  if (declared === undefined || stricter(computed, declared) === computed)
    return { risk: computed, reasons };
  return {
    risk: declared,
    reasons: [`declared as ${declared}`, ...(computed === 'read_only' ? [] : reasons)],
  };
}

/** Another home, which moves paths that begin there. */
const OTHER_HOME = /(?<!\$\{?)\b(?:HOME|CDPATH)\b/;
/** Another root, or a directory for each file. */
const OTHER_PLACE = /\bchroot\b|-execdir\b|-okdir\b/;

/**
 * The files that a command runs as scripts or programs of their own, as far as they can be told from its text. Where it may be
 * another file than it seems there is no path: the wrong one must not be shown as the one that runs.
 */
export function scriptsRun(command: string): ScriptUse[] {
  const why = 'its directory is only known when it runs';
  return [...examine(command).session.scripts.values()].map((use) => {
    const moves =
      OTHER_PLACE.test(command) || (OTHER_HOME.test(command) && use.path?.startsWith('/') !== true);
    return moves && use.path !== undefined ? { ...use, path: undefined, why } : use;
  });
}

function examine(command: string): { findings: Finding[]; session: Session } {
  const bad = unreadable(command);
  const session: Session = {
    registry: ruleFor,
    commands: 0,
    directories: new Set(['~']),
    suspected: new Map(),
    written: new Map(),
    scripts: new Map(),
  };
  try {
    const findings = walkSource(command.replaceAll('\0', ' '), session);
    return { findings: bad ? [changes(bad), ...findings] : findings, session };
  } catch (error) {
    const what = error instanceof Error ? error.message : String(error);
    return {
      findings: [destroys(`could not be judged, so it counts as the worst: ${what}`)],
      session,
    };
  }
}

/** Text that a shell does not get as it was sent, or that a person does not see as it runs. */
function unreadable(command: string): string | undefined {
  if (command.trim() === '') return 'an empty command';
  if (command.includes('\0')) return 'holds a NUL character, which no command can';
  if (command.includes('\ufffd'))
    return 'holds a character that could not be read (U+FFFD): the bytes were no valid UTF-8';
  if (!command.isWellFormed()) return 'holds half a character (a lone surrogate): not valid text';
  const hidden =
    /[\u0001-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\u00a0\u1680]|[\u{e0000}-\u{e0fff}]/u.exec(
      command,
    );
  if (hidden)
    return `holds an invisible or control character: U+${(hidden[0].codePointAt(0) as number).toString(16).padStart(4, '0').toUpperCase()}`;
  return undefined;
}

function reasonsOf(findings: readonly Finding[]): string[] {
  if (findings.length === 0) return ['every part of it only reads'];
  const sorted = [...findings].sort((a, b) => RISKS.indexOf(b.risk) - RISKS.indexOf(a.risk));
  const reasons = [...new Set(sorted.map((finding) => finding.reason))];
  return reasons.length > MAX_REASONS
    ? [...reasons.slice(0, MAX_REASONS), `and ${reasons.length - MAX_REASONS} more`]
    : reasons;
}
