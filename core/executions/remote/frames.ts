import { Buffer } from 'node:buffer';
import { SshError } from '../ssh/errors.ts';

/** The kinds of shell that a target may run commands with. */
export type RemoteShell = 'bash' | 'sh';

/** Why a command ended. */
export type EndCause = 'exit' | 'cancel' | 'timeout';

/** One thing that a target says, decoded. Where it comes in the conversation is told in `protocol.ts`. */
export type RemoteMessage =
  | { type: 'begin'; id: string }
  /** Nothing ran and nothing will; `reason` is one of the wrapper's words, `text` says it to people. */
  | { type: 'refused'; reason: string; text: string }
  | { type: 'void' }
  | { type: 'started' | 'exists' | 'attached'; shell: RemoteShell }
  | {
      type: 'end';
      cause: EndCause;
      exitCode: number;
      groupGone: boolean;
      durationMs: number;
      stdoutBytes: number;
      stderrBytes: number;
    }
  /** The end can never be known. `alive`: processes of it are still there. */
  | { type: 'gone'; reason: 'rebooted' | 'lost'; alive: boolean }
  /** A piece of output. `afterGap`: bytes before it are missing, and it is the very end of its stream. */
  | { type: 'output'; stream: 'stdout' | 'stderr'; afterGap: boolean; bytes: Uint8Array }
  /** Sent every few seconds while nothing else is, so that a target notices a closed channel. */
  | { type: 'keepalive' };

/** The bytes of a message on standard output, for a server that plays a target. */
export function encodeMessage(message: RemoteMessage): Buffer {
  switch (message.type) {
    case 'begin':
      return Buffer.from(`nomos1 begin ${message.id}\n`);
    case 'refused':
      return Buffer.from(
        `nomos1 refused ${message.reason} ${message.text.replaceAll('\n', ' ')}\n`,
      );
    case 'void':
      return Buffer.from('nomos1 void\n');
    case 'started':
    case 'exists':
    case 'attached':
      return Buffer.from(`nomos1 ${message.type} ${message.shell}\n`);
    case 'end':
      return Buffer.from(
        `nomos1 end ${message.cause} ${message.exitCode} ${message.groupGone ? 1 : 0} ${Math.round(message.durationMs)} ${message.stdoutBytes} ${message.stderrBytes}\n`,
      );
    case 'gone':
      return Buffer.from(`nomos1 gone ${message.reason} ${message.alive ? 1 : 0}\n`);
    case 'keepalive':
      return Buffer.from('k\n');
    case 'output': {
      const letter = message.stream === 'stdout' ? 'o' : 'e';
      const head = `${message.afterGap ? letter.toUpperCase() : letter} ${message.bytes.length}\n`;
      return Buffer.concat([Buffer.from(head), message.bytes]);
    }
  }
}

const MAX_LINE_BYTES = 4096;
const MAX_NOISE_BYTES = 256 * 1024;
const NEWLINE = 0x0a;

interface Frame {
  stream: 'stdout' | 'stderr';
  afterGap: boolean;
  left: number;
}

/**
 * Decodes what a target says on standard output, in pieces of any size. What comes before the `begin` line of this id is skipped.
 * Holds at most one line, never a whole frame: output is handed on as it comes. Throws `SshError` (`ssh_protocol`) on
 * anything that a target does not say.
 */
export class MessageReader {
  readonly #id: string;
  readonly #onMessage: (message: RemoteMessage) => void;
  #held: Buffer = Buffer.alloc(0);
  #skipped = 0;
  #begun = false;
  #frame: Frame | undefined;
  #rawAfterStart: ((chunk: Buffer) => void) | undefined;
  #raw = false;

  /** `rawAfterStart`: for a read, takes everything after its `started` line as it is. */
  constructor(
    id: string,
    onMessage: (message: RemoteMessage) => void,
    rawAfterStart?: (chunk: Buffer) => void,
  ) {
    this.#id = id;
    this.#onMessage = onMessage;
    this.#rawAfterStart = rawAfterStart;
  }

  push(chunk: Buffer): void {
    if (this.#raw) {
      this.#rawAfterStart?.(chunk);
      return;
    }
    let rest = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    this.#held = Buffer.alloc(0);
    while (rest.length > 0) {
      if (this.#frame !== undefined) {
        rest = this.#output(this.#frame, rest);
        continue;
      }
      const end = rest.indexOf(NEWLINE);
      if (end < 0) {
        if (rest.length > MAX_LINE_BYTES && this.#begun) throw unreadable(rest);
        // Noise without a newline keeps only what may be the beginning of our line.
        this.#held = Buffer.from(this.#begun ? rest : rest.subarray(-MAX_LINE_BYTES));
        if (!this.#begun) this.#skip(rest.length - this.#held.length);
        return;
      }
      const line = rest.subarray(0, end).toString('latin1');
      rest = rest.subarray(end + 1);
      if (!this.#begun) this.#await(line);
      else this.#line(line);
      if (this.#raw) {
        if (rest.length > 0) this.#rawAfterStart?.(rest);
        return;
      }
    }
  }

  #await(line: string): void {
    // A login script may have printed words without a newline before ours.
    if (!line.endsWith(`nomos1 begin ${this.#id}`)) {
      this.#skip(line.length + 1);
      return;
    }
    this.#begun = true;
    this.#onMessage({ type: 'begin', id: this.#id });
  }

  #skip(bytes: number): void {
    this.#skipped += bytes;
    if (this.#skipped > MAX_NOISE_BYTES) {
      throw new SshError(
        'ssh_protocol',
        'The target prints without end before any command is run.',
        {
          hint: "Look at the user's login scripts on the target.",
        },
      );
    }
  }

  #output(frame: Frame, rest: Buffer): Buffer {
    const bytes = rest.subarray(0, frame.left);
    frame.left -= bytes.length;
    this.#onMessage({ type: 'output', stream: frame.stream, afterGap: frame.afterGap, bytes });
    if (frame.left === 0) this.#frame = undefined;
    return rest.subarray(bytes.length);
  }

  #line(line: string): void {
    if (line === 'k') {
      this.#onMessage({ type: 'keepalive' });
      return;
    }
    const frame = /^([oeOE]) ([1-9][0-9]{0,8})$/.exec(line);
    if (frame !== null) {
      const letter = frame[1] ?? 'o';
      const stream = letter === 'o' || letter === 'O' ? 'stdout' : 'stderr';
      this.#frame = { stream, afterGap: letter === letter.toUpperCase(), left: Number(frame[2]) };
      return;
    }
    const message = controlLine(line);
    if (message === null) throw unreadable(Buffer.from(line, 'latin1'));
    this.#onMessage(message);
    if (message.type === 'started' && this.#rawAfterStart !== undefined) this.#raw = true;
  }
}

function controlLine(line: string): RemoteMessage | null {
  const [protocol, word, ...args] = line.split(' ');
  if (protocol !== 'nomos1') return null;
  switch (word) {
    case 'refused':
      return {
        type: 'refused',
        reason: args[0] ?? '',
        text: Buffer.from(args.slice(1).join(' '), 'latin1').toString(),
      };
    case 'void':
      return { type: 'void' };
    case 'started':
    case 'exists':
    case 'attached':
      return { type: word, shell: args[0] === 'bash' ? 'bash' : 'sh' };
    case 'gone':
      if (args[0] !== 'rebooted' && args[0] !== 'lost') return null;
      return { type: 'gone', reason: args[0], alive: args[1] === '1' };
    case 'end': {
      const [cause, ...numbers] = args;
      const [exitCode, gone, durationMs, stdoutBytes, stderrBytes] = numbers.map((text) =>
        /^[0-9]{1,16}$/.test(text) ? Number(text) : undefined,
      );
      if (cause !== 'exit' && cause !== 'cancel' && cause !== 'timeout') return null;
      if (exitCode === undefined || gone === undefined || durationMs === undefined) return null;
      if (stdoutBytes === undefined || stderrBytes === undefined) return null;
      return {
        type: 'end',
        cause,
        exitCode,
        groupGone: gone === 1,
        durationMs,
        stdoutBytes,
        stderrBytes,
      };
    }
    default:
      return null;
  }
}

function unreadable(bytes: Buffer): SshError {
  return new SshError(
    'ssh_protocol',
    `The target's wrapper said something unknown: ${JSON.stringify(bytes.subarray(0, 120).toString('latin1'))}`,
  );
}
