import type { Risk } from '../../core/policy/risk.ts';
import { cutLabel } from '../../core/text/label.ts';
import { visible } from '../../core/text/visible.ts';
import { code, type Rich } from './rich.ts';
import type { ApprovalState, ExecutionStatus, StepState } from './state.ts';

/** A mark and the class's own name, as policy, API and cards all call it (P1). */
export const RISK_BADGE: Readonly<Record<Risk, string>> = {
  read_only: '⚪ read only',
  reversible_low: '🟢 reversible low',
  config_mutation: '🟠 config mutation',
  destructive: '🔴 DESTRUCTIVE',
};

/** The risk's mark alone. */
export const RISK_MARK: Readonly<Record<Risk, string>> = {
  read_only: '⚪',
  reversible_low: '🟢',
  config_mutation: '🟠',
  destructive: '🔴',
};

/** A mark for each word of an execution's life. */
export const EXECUTION_MARK: Readonly<Record<ExecutionStatus, string>> = {
  requested: '🕒',
  pending_approval: '❗',
  approved: '👍',
  queued: '🕒',
  running: '▶️',
  completed: '✅',
  failed: '❌',
  denied: '🚫',
  revoked: '🚫',
  expired: '⌛',
  cancelled: '🛑',
  unknown: '❓',
};

/** A mark for each word of a plan step's life. */
export const STEP_MARK: Readonly<Record<StepState['status'], string>> = {
  pending: '⬜',
  running: '🔄',
  done: '✅',
  failed: '❌',
  skipped: '⏭️',
  blocked: '⛔',
  replaced: '↩️',
};

/** What is typed to confirm something destructive (A3). */
export const CONFIRMATION = 'I confirm';

/** One safe line of at most 60 characters (C3). */
export function label(text: string, maxCharacters = 60): string {
  // Of a huge text only the beginning can be shown, so only that is looked at.
  const head = text.slice(0, maxCharacters * 20);
  return cutLabel(visible(head, { spaces: 'plain' }), maxCharacters);
}

/** A name in fixed width: a slug, a short id, an error's code. */
export function slug(text: string): Rich {
  return code(label(text, 60));
}

/** How an operator or a token is called on a card: the name without its homeserver. The audit log has the whole id. */
export function nameOf(actor: string | null): string {
  if (actor === null) return 'nobody';
  if (actor.startsWith('token:')) return `API token ${label(actor.slice(6), 30)}`;
  return label(actor.replace(/^@/, '').replace(/:.*$/s, ''), 30) || 'unknown';
}

/** `3 commands`, `1 command`. */
export function count(many: number, one: string, more = `${one}s`): string {
  return `${many} ${many === 1 ? one : more}`;
}

/** Names in a row, the rest as a number: `a, b, c and 4 more`. */
export function names(known: readonly string[], shown = 5, all = known.length): string {
  const head = known.slice(0, shown).map((name) => label(name, 40));
  const rest = all - head.length;
  if (rest > 0) return `${head.join(', ')} and ${rest} more`;
  if (head.length < 2) return head.join('');
  return `${head.slice(0, -1).join(', ')} and ${head.at(-1)}`;
}

/** Bytes for people: `812 bytes`, `3.4 KiB`, `12 MiB`. */
export function bytes(count: number): string {
  if (count < 1024) return `${count} bytes`;
  const [value, unit] = count < 1024 * 1024 ? [count / 1024, 'KiB'] : [count / 1024 / 1024, 'MiB'];
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${unit}`;
}

/** A number with its thousands apart: `12,345`. */
export function number(value: number): string {
  return Math.round(value).toLocaleString('en-GB');
}

/** By what means a decision was made, as words after "by ann". */
export function meansWords(approval: Pick<ApprovalState, 'decidedMeans'>): string {
  switch (approval.decidedMeans) {
    case 'tap':
      return 'with a tap';
    case 'word':
      return 'in words';
    case 'confirmation':
      return 'by typed confirmation';
    case 'command':
      return 'by command';
    case 'api':
      return 'through the API';
    case 'plan':
      return 'with the plan';
    case null:
      return '';
  }
}

/** Whether a summary begins with the task's title, so that both under each other would say it twice. */
export function beginsWithTitle(summary: string, title: string | null): boolean {
  const said = foldWords(title ?? '');
  return said !== '' && `${foldWords(summary)} `.startsWith(`${said} `);
}

/** Whether the first line of a summary says more than the task's title. */
export function saysMore(summary: string, title: string | null): boolean {
  const line = foldWords(summary.trim().split('\n', 1)[0] ?? '');
  return line !== '' && line !== foldWords(title ?? '');
}

function foldWords(text: string): string {
  return text
    .slice(0, 2_000)
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
}

/** The first line of a text that says something. */
export function firstLine(text: string): string {
  return text.trim().split('\n', 1)[0] ?? '';
}
