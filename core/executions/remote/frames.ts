import { Buffer } from 'node:buffer';

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
