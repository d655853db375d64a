/**
 * What is said between here and a target to run a command on it. Version 1.
 *
 * Each action is one SSH `exec` request without a terminal. Its string is
 *
 *     exec [pct exec <pveId> -- ]sh -c '<begin>' nomos1 '<script>' <action> <arguments>
 *
 * In the script every newline is written as `~` and every `!` as `^`, since csh takes neither between single quotes;
 * <begin> turns them back and runs it.
 * The script is fixed text; the arguments are ids and numbers. The operator's command is never part of the string: it comes on
 * standard input as one line of printable ASCII (`encodeCommand`), so that no quoting on the way can change it, through a login
 * shell, `pct exec` or both. `parseExec` reads the string back; a server that simulates a target needs neither the script nor
 * a shell. What such a server must do, per action:
 *
 * Every action first answers `nomos1 begin <id>\n` on standard output. What stands before that line (a login script's chatter) is
 * skipped by the reader. All other answers of `start`, `attach` and `cancel` are control lines and frames on standard
 * output (`frames.ts` encodes and decodes them); then the channel ends with exit status 0. Standard error carries nothing of
 * the protocol.
 *
 * `start <id> <commandBytes> <timeoutMs> <graceMs> [<fixedBytes>]`. With a fourth number: first read a line like the command's, of that
 *   length when decoded, which holds lines of `<SHA-256> <path>`; if one of these files, seen from the home directory, up to
 *   `MAX_SCRIPT_BYTES` of it, has another hash or is not there, answer `refused changed <path>` and claim nothing. Read one line from standard input and decode it (`decodeCommand`). If input ends before
 *   the newline, or the decoded command is not `commandBytes` long: answer `refused command …` and run nothing. Claim the id,
 *   atomically, for ever: if it is claimed already, never run the command; answer `exists <shell>` and go on as for `attach`,
 *   or `void` if the claim was made by an `attach` or a `cancel`. Else answer `started <shell>`, run the command with the pinned
 *   environment, home directory, no input, and send its output as frames (`o` and `e`) while it runs. The command goes on when the channel or
 *   connection closes, and its output and end are kept. At its end send the rest of the output, then one `end` line. After
 *   `timeoutMs` end it, and all that it started: TERM, KILL after `graceMs`; the `end` line then says `timeout`.
 * `attach <id>`. Never runs anything. Id not claimed: claim it, answer `void`. Claimed that way before: `void`. Else
 *   `attached <shell>`, then the output from its very start as frames, followed to its end, then `end`. If the end can never be known
 *   (a reboot): `gone …`.
 * `cancel <id>`. Not claimed: claim it, answer `void`. Running: end it as for a time-out and answer `end` with `cancel`. Ended already: its
 *   `end` line. No output frames. Whoever follows the same id gets the same `end` line on its own channel.
 * `read <id> <commandBytes> <timeoutMs> <graceMs>`. Read the line as for `start`; on a fault answer `refused …`. Answer
 *   `started <shell>`, then run the command: from here on the channel's standard output and standard error are the command's own, raw, and its
 *   exit status is the command's. Nothing is claimed and nothing kept. Standard input stays open: when it ends, end the command
 *   and all that it started and exit with `READ_STOPPED` if nothing of it is left, `READ_STOPPED_SOME_LEFT` if something is. The same after `timeoutMs`.
 */
import { Buffer } from 'node:buffer';
import { SshError } from '../ssh/errors.ts';
import type { CommandTarget, RunRequest } from '../ports.ts';
import { READ_SCRIPT, WRAPPER_SCRIPT } from './script.ts';

/** The word that every control line begins with; its digit is the protocol's version. */
export const PROTOCOL = 'nomos1';

/** A command handed over as one argument of `bash -c` must stay below Linux's limit of 128 KiB for one argument. */
export const MAX_COMMAND_BYTES = 120_000;

/** Exit status of a read that was stopped, by the end of its input or by its time limit, and nothing of it is left. */
export const READ_STOPPED = 253;
/** The same, but some process of it could not be ended. */
export const READ_STOPPED_SOME_LEFT = 252;

/** Time between TERM and KILL for a command that is cancelled or timed out. */
export const DEFAULT_GRACE_MS = 3_000;

/** An action as a target reads it back from an exec string. */
export type RemoteAction = { pveId: number | undefined; id: string } & (
  | {
      action: 'start' | 'read';
      commandBytes: number;
      timeoutMs: number;
      graceMs: number;
      /** Length of the list of fixed files that comes before the command; 0 when no file is fixed. */
      fixedBytes: number;
    }
  | { action: 'attach' | 'cancel' }
);

/** An exec request: its string, and what is written to standard input first. */
export interface ExecRequest {
  exec: string;
  stdin: string;
  /** `true`: keep standard input open until the command is to be stopped. `false`: end it at once. */
  holdStdin: boolean;
}

const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The request that starts a change, at most once for this id. */
export function startRequest(
  target: CommandTarget,
  id: string,
  command: string,
  timeoutMs: number,
  graceMs = DEFAULT_GRACE_MS,
  fixed: NonNullable<RunRequest['fixed']> = [],
): ExecRequest {
  const line = encodeCommand(command);
  const args = [Buffer.byteLength(command), wholeMs(timeoutMs), wholeMs(graceMs)];
  const files = fixed.map(({ path, sha256 }) => `${sha256} ${path}`).join('\n');
  if (fixed.length > 0) args.push(Buffer.byteLength(files));
  return {
    exec: execString(target, WRAPPER_SCRIPT, 'start', id, args),
    stdin: fixed.length > 0 ? `${encodeCommand(files)}${line}` : line,
    holdStdin: false,
  };
}

/** The request that follows a change that was started before, and starts nothing. */
export function attachRequest(target: CommandTarget, id: string): ExecRequest {
  return {
    exec: execString(target, WRAPPER_SCRIPT, 'attach', id, []),
    stdin: '',
    holdStdin: false,
  };
}

/** The request that ends a change. */
export function cancelRequest(target: CommandTarget, id: string): ExecRequest {
  return {
    exec: execString(target, WRAPPER_SCRIPT, 'cancel', id, []),
    stdin: '',
    holdStdin: false,
  };
}

/** The request that runs a read, which ends with its channel. */
export function readRequest(
  target: CommandTarget,
  id: string,
  command: string,
  timeoutMs: number,
  graceMs = DEFAULT_GRACE_MS,
): ExecRequest {
  const line = encodeCommand(command);
  const args = [Buffer.byteLength(command), wholeMs(timeoutMs), wholeMs(graceMs)];
  return { exec: execString(target, READ_SCRIPT, 'read', id, args), stdin: line, holdStdin: true };
}

/**
 * A command as one line of printable ASCII. One that is such a line already goes as it is behind a "=", which the target's `read`
 * leaves alone; any other as letters, digits, spaces and octal escapes, which `printf %b` of every POSIX shell turns back into the
 * same bytes. Throws `SshError` (`ssh_command_invalid`) for what no shell can be given: nothing, a NUL, or too much.
 */
export function encodeCommand(command: string): string {
  const bytes = Buffer.from(command);
  if (command.trim() === '') throw new SshError('ssh_command_invalid', 'The command is empty.');
  if (bytes.includes(0)) {
    throw new SshError(
      'ssh_command_invalid',
      'The command contains a NUL byte, which no shell can be given.',
    );
  }
  if (!command.isWellFormed()) {
    throw new SshError(
      'ssh_command_invalid',
      'The command contains half of a UTF-16 surrogate pair, which has no byte form.',
    );
  }
  if (bytes.length > MAX_COMMAND_BYTES) {
    throw new SshError(
      'ssh_command_invalid',
      `The command is ${bytes.length} bytes long; at most ${MAX_COMMAND_BYTES} can be handed over.`,
      {
        hint: 'Write long content to a file in several commands.',
        fields: { bytes: bytes.length, limit: MAX_COMMAND_BYTES },
      },
    );
  }
  if (PLAIN.test(command)) return `=${command}\n`;
  let line = '';
  for (const byte of bytes) line += ENCODED[byte];
  return `${line}\n`;
}

/** The bytes of a command from its line (without the newline). Throws on what `encodeCommand` never writes. */
export function decodeCommand(line: string): Buffer {
  if (line.startsWith('=') && PLAIN.test(line)) return Buffer.from(line.slice(1));
  if (!/^(?:[A-Za-z0-9 ]|\\0[0-7]{3})*$/.test(line)) {
    throw new SshError(
      'ssh_protocol',
      'The command line on standard input is not in the encoded form.',
    );
  }
  return Buffer.from(
    line.replace(/\\0([0-7]{3})/g, (_, octal: string) =>
      String.fromCharCode(Number.parseInt(octal, 8)),
    ),
    'latin1',
  );
}

/** Runs the script that is $1, see `onOneLine`. */
export const BEGIN =
  'x=$(PATH=$PATH:/usr/bin:/bin; printf "%s" "$1" | tr "~^" "\\012\\041"); shift; set -- "$x" "$@"; eval "$x"';

const EXEC =
  /^exec (?:pct exec ([1-9][0-9]{2,8}) -- )?sh -c '([^']*)' nomos1 '[^']*' (start|read|attach|cancel) ([0-9a-f-]{36})((?: [0-9]{1,10})*)$/;

/** Reads an exec string back, for a server that plays a target. Null for anything that this module did not build. */
export function parseExec(exec: string): RemoteAction | null {
  const match = EXEC.exec(exec);
  if (match === null) return null;
  const [, pve, begin, action, id, rest] = match;
  if (begin !== BEGIN || id === undefined || !ID.test(id)) return null;
  const numbers = (rest ?? '').trim().split(' ').filter(Boolean).map(Number);
  const pveId = pve === undefined ? undefined : Number(pve);
  if (action === 'start' || action === 'read') {
    const [commandBytes, timeoutMs, graceMs, fixedBytes = 0] = numbers;
    if (
      commandBytes === undefined ||
      timeoutMs === undefined ||
      graceMs === undefined ||
      numbers.length > (action === 'start' ? 4 : 3)
    )
      return null;
    return { action, pveId, id, commandBytes, timeoutMs, graceMs, fixedBytes };
  }
  if ((action !== 'attach' && action !== 'cancel') || numbers.length > 0) return null;
  return { action, pveId, id };
}

function execString(
  target: CommandTarget,
  script: string,
  action: string,
  id: string,
  args: readonly number[],
): string {
  if (!ID.test(id))
    throw new SshError(
      'ssh_command_invalid',
      `"${id}" is not an execution id: a UUID in lower case is needed.`,
    );
  let into = '';
  if (target.container !== undefined) {
    const { pveId, slug } = target.container;
    if (!Number.isInteger(pveId) || pveId < 100 || pveId > 999_999_999) {
      throw new SshError(
        'ssh_command_invalid',
        `Container ${slug} has the number ${pveId}; Proxmox numbers are 100 to 999999999.`,
      );
    }
    into = `pct exec ${pveId} -- `;
  }
  return `exec ${into}sh -c '${BEGIN}' ${PROTOCOL} '${onOneLine(script)}' ${[action, id, ...args].join(' ')}`;
}

/** A script as every login shell hands it on between single quotes: csh takes neither newlines nor `!` there. */
export function onOneLine(script: string): string {
  return script.replaceAll('\n', '~').replaceAll('!', '^');
}

function wholeMs(ms: number): number {
  if (!Number.isFinite(ms) || ms < 1)
    throw new SshError('ssh_command_invalid', `A time limit of ${ms} ms: it must be at least 1.`);
  return Math.min(Math.ceil(ms), 9_999_999_999);
}

const PLAIN = /^[ -~]*$/;

// Only what means the same to the `read` and the `printf %b` of every shell stays itself.
const ENCODED: readonly string[] = Array.from({ length: 256 }, (_, byte) => {
  const char = String.fromCharCode(byte);
  return /[A-Za-z0-9 ]/.test(char) ? char : `\\0${byte.toString(8).padStart(3, '0')}`;
});
