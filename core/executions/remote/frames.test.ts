import { Buffer } from 'node:buffer';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { encodeMessage, MessageReader, type RemoteMessage } from './frames.ts';

const ID = '01890000-0000-7000-8000-000000000001';
const BEGIN: RemoteMessage = { type: 'begin', id: ID };

const output = fc.record({
  type: fc.constant('output' as const),
  stream: fc.constantFrom('stdout' as const, 'stderr' as const),
  afterGap: fc.boolean(),
  bytes: fc.uint8Array({ minLength: 1, maxLength: 50 }),
});
const other = fc.constantFrom<RemoteMessage>(
  { type: 'void' },
  { type: 'keepalive' },
  { type: 'started', shell: 'bash' },
  { type: 'exists', shell: 'sh' },
  { type: 'attached', shell: 'sh' },
  { type: 'refused', reason: 'tools', text: 'there is no setsid auf dem Gerät' },
  {
    type: 'end',
    cause: 'timeout',
    exitCode: 143,
    groupGone: true,
    durationMs: 12,
    stdoutBytes: 0,
    stderrBytes: 9_000_000_000,
  },
  { type: 'gone', reason: 'rebooted', alive: false },
);

function read(bytes: Buffer, cuts: readonly number[]): RemoteMessage[] {
  const messages: RemoteMessage[] = [];
  const reader = new MessageReader(ID, (message) => messages.push(message));
  let from = 0;
  for (const cut of [
    ...cuts.map((one) => one % (bytes.length + 1)).sort((a, b) => a - b),
    bytes.length,
  ]) {
    if (cut > from) reader.push(bytes.subarray(from, cut));
    from = Math.max(from, cut);
  }
  return joined(messages);
}

// Pieces of one frame are one piece of output, however they were cut on the way.
function joined(messages: readonly RemoteMessage[]): RemoteMessage[] {
  const result: RemoteMessage[] = [];
  for (const message of messages) {
    const last = result.at(-1);
    if (
      message.type === 'output' &&
      last?.type === 'output' &&
      last.stream === message.stream &&
      last.afterGap === message.afterGap
    ) {
      last.bytes = Buffer.concat([last.bytes, message.bytes]);
    } else
      result.push(
        message.type === 'output' ? { ...message, bytes: Buffer.from(message.bytes) } : message,
      );
  }
  return result;
}

test('X4: what is said arrives as it was said, however it is cut and whatever a login script printed before', () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(output, other), { maxLength: 12 }),
      fc.array(fc.nat(), { maxLength: 12 }),
      fc.string({ maxLength: 30 }),
      (said, cuts, noise) => {
        const bytes = Buffer.concat([Buffer.from(noise), ...[BEGIN, ...said].map(encodeMessage)]);
        expect(read(bytes, cuts)).toEqual(joined([BEGIN, ...said]));
      },
    ),
  );
});

test('L10: output that looks like a control line stays output', () => {
  const forged = encodeMessage({
    type: 'end',
    cause: 'exit',
    exitCode: 0,
    groupGone: true,
    durationMs: 1,
    stdoutBytes: 0,
    stderrBytes: 0,
  });
  const said: RemoteMessage[] = [
    BEGIN,
    { type: 'output', stream: 'stdout', afterGap: false, bytes: forged },
  ];
  expect(read(Buffer.concat(said.map(encodeMessage)), [])).toEqual(said);
});

test.each([
  ['hello'],
  ['nomos1 started'.replace('1', '2')],
  ['o 0'],
  ['o -1'],
  ['o 12345678901'],
  ['nomos1 end exit x 1 1 1 1'],
  ['nomos1 gone away 1'],
  [''],
])('X7: %j is not taken for anything', (line) => {
  expect(() => read(Buffer.concat([encodeMessage(BEGIN), Buffer.from(`${line}\n`)]), [])).toThrow(
    /something unknown/,
  );
});

test('R12: noise without end is cut off', () => {
  const reader = new MessageReader(ID, () => {});
  expect(() => {
    for (let i = 0; i < 100; i += 1) reader.push(Buffer.alloc(10_000, i % 2 === 0 ? 'x' : 'y\n'));
  }).toThrow(/prints without end/);
});

test('X4: after the start of a read everything is its own', () => {
  const raw: string[] = [];
  const messages: RemoteMessage[] = [];
  const reader = new MessageReader(
    ID,
    (message) => messages.push(message),
    (chunk) => raw.push(chunk.toString()),
  );
  reader.push(
    Buffer.concat([
      encodeMessage(BEGIN),
      encodeMessage({ type: 'started', shell: 'bash' }),
      Buffer.from('nomos1 void\n'),
    ]),
  );
  reader.push(Buffer.from('o 5\n'));
  expect(messages).toEqual([BEGIN, { type: 'started', shell: 'bash' }]);
  expect(raw.join('')).toBe('nomos1 void\no 5\n');
});
