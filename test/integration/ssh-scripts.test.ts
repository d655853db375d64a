import { Buffer } from 'node:buffer';
import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { newId } from '../../core/ids.ts';
import type { CommandTarget } from '../../core/executions/ports.ts';
import { MessageReader, type RemoteMessage } from '../../core/executions/remote/frames.ts';
import {
  attachRequest,
  cancelRequest,
  readRequest,
  READ_STOPPED,
  startRequest,
  type ExecRequest,
} from '../../core/executions/remote/protocol.ts';

// The scripts alone, without SSH, in a folder made for it: each shell that may be a target's `sh`, and targets that lack things.
const TARGET: CommandTarget = {
  host: { slug: 'local', address: '127.0.0.1', port: 22, user: 'me' },
};

const shells = ['dash', 'bash --posix', 'busybox sh'].map((shell) => ({
  shell,
  missing: lacks(shell),
}));

for (const { shell, missing } of shells) {
  describe.skipIf(missing)(`sh is ${shell}${missing ? ' (skipped: not installed)' : ''}`, () => {
    let dir: string;
    beforeEach(() => {
      dir = mkdtempSync(path.join(tmpdir(), 'nomos-script-'));
    });
    afterEach(() => {
      rmSync(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    });
    const say = (request: ExecRequest, id: string, change?: (exec: string) => string) =>
      talkTo(dir, shell, request, id, change);
    const start = (command: string, timeoutMs = 10_000, change?: (exec: string) => string) => {
      const id = newId();
      return say(startRequest(TARGET, id, command, timeoutMs, 300), id, change);
    };

    test('X7: runs once, and tells the same again', async () => {
      const id = newId();
      const request = startRequest(
        TARGET,
        id,
        'echo out; echo err >&2; echo x >>runs; wc -l <runs; exit 9',
        10_000,
      );
      const first = await say(request, id);
      expect(first.end).toMatchObject({ type: 'end', cause: 'exit', exitCode: 9 });
      expect(first).toMatchObject({ how: 'started', err: 'err\n' });
      expect(first.out.replaceAll(' ', '')).toBe('out\n1\n');
      for (const [how, again] of [
        ['exists', request],
        ['attached', attachRequest(TARGET, id)],
      ] as const) {
        expect(await say(again, id)).toMatchObject({
          how,
          out: first.out,
          err: 'err\n',
          end: first.end,
        });
      }
    });

    test('X7: an id that was given up never runs', async () => {
      const id = newId();
      expect((await say(attachRequest(TARGET, id), id)).end).toEqual({ type: 'void' });
      expect((await say(startRequest(TARGET, id, 'echo x', 1_000), id)).end).toEqual({
        type: 'void',
      });
      const other = newId();
      expect((await say(cancelRequest(TARGET, other), other)).end).toEqual({ type: 'void' });
      expect((await say(startRequest(TARGET, other, 'echo x', 1_000), other)).end).toEqual({
        type: 'void',
      });
    });

    test('X5: the time limit ends what ignores TERM', async () => {
      const end = await start('trap "" TERM; echo a; sleep 20; sleep 20', 300);
      expect(end.out).toBe('a\n');
      expect(end.end).toMatchObject({ cause: 'timeout', groupGone: true, exitCode: 137 });
    });

    test('X5: a target without /proc ends the whole group all the same', async () => {
      const end = await start('sleep 20 & sleep 20', 300, (exec) =>
        exec.replaceAll('/proc/', '/no-proc/'),
      );
      expect(end.end).toMatchObject({ cause: 'timeout', groupGone: true });
    });

    test('X5: a read ends with its input', async () => {
      const id = newId();
      const end = await say(readRequest(TARGET, id, 'sleep 20', 10_000, 300), id);
      expect(end.code).toBe(READ_STOPPED);
    });

    test('X7: without setsid it uses job control where the shell has it, else it refuses before anything runs', async () => {
      const end = await start('sleep 20 & sleep 20', 300, (exec) =>
        exec.replaceAll('-v setsid', '-v no-such-program'),
      );
      // Whether a shell has job control without a terminal depends on its version.
      if (end.how === 'started')
        expect(end.end).toMatchObject({ cause: 'timeout', groupGone: true });
      else
        expect(end).toMatchObject({
          how: undefined,
          end: { type: 'refused', reason: 'tools', text: expect.stringContaining('setsid') },
        });
    });

    test('A16: a command starts only while the files that are fixed are what they were', async () => {
      writeFileSync(path.join(dir, 'a b.sh'), 'echo one\n');
      const other = path.join(dir, 'other.sh');
      writeFileSync(other, 'echo "it\'s"\n');
      const fixed = ['a b.sh', other].map((file) => ({
        path: file,
        sha256: createHash('sha256')
          .update(readFileSync(path.resolve(dir, file)))
          .digest('hex'),
      }));
      const run = (): Promise<Told> => {
        const id = newId();
        const command = 'echo "$(sh "a b.sh") $(sh other.sh)"';
        return say(startRequest(TARGET, id, command, 10_000, 300, fixed), id);
      };
      expect(await run()).toMatchObject({ how: 'started', out: "one it's\n" });

      writeFileSync(other, 'touch ran\n');
      const changed = { how: undefined, end: { type: 'refused', reason: 'changed', text: other } };
      expect(await run()).toMatchObject(changed);
      rmSync(other);
      expect(await run()).toMatchObject(changed);
      mkdirSync(other);
      expect(await run()).toMatchObject(changed);
      expect(readdirSync(dir)).not.toContain('ran');
    });

    test.each([
      ['cut off before its newline', (line: string) => line.slice(0, -1)],
      ['one byte short', (line: string) => `${line.slice(0, -2)}\n`],
      ['nothing at all', () => ''],
    ])(
      'R1, X6: a command that arrives damaged (%s) is refused before anything runs',
      async (_, damage) => {
        const id = newId();
        const request = startRequest(TARGET, id, 'touch ran', 1_000);
        const end = await say({ ...request, stdin: damage(request.stdin) }, id);
        expect(end).toMatchObject({ how: undefined, end: { type: 'refused', reason: 'command' } });
        expect((await say(attachRequest(TARGET, id), id)).end).toEqual({ type: 'void' });
      },
    );

    test('X7: a state directory that cannot be made is told', async () => {
      const id = newId();
      const end = await talkTo('/dev/null', shell, startRequest(TARGET, id, 'true', 1_000), id);
      expect(end.end).toMatchObject({ type: 'refused', reason: 'state' });
    });
  });
}

interface Told {
  how: string | undefined;
  out: string;
  err: string;
  end: RemoteMessage | undefined;
  code: number | null;
}

// Runs an exec string as a login shell would, with `sh` meaning the given shell throughout.
function talkTo(
  dir: string,
  shell: string,
  request: ExecRequest,
  id: string,
  change: (exec: string) => string = (exec) => exec,
): Promise<Told> {
  const exec = change(request.exec)
    .replace('exec sh -c', `exec ${shell} -c`)
    .replace('$own sh -c', `$own ${shell} -c`);
  const told: Told = { how: undefined, out: '', err: '', end: undefined, code: null };
  return new Promise((resolve, reject) => {
    const child = spawn('/bin/sh', ['-c', exec], {
      env: { ...process.env, HOME: dir, NOMOS_STATE_DIR: path.join(dir, 'state') },
    });
    const reader = new MessageReader(
      id,
      (message) => {
        if (message.type === 'output')
          told[message.stream === 'stdout' ? 'out' : 'err'] += Buffer.from(
            message.bytes,
          ).toString();
        else if (
          message.type === 'started' ||
          message.type === 'exists' ||
          message.type === 'attached'
        )
          told.how = message.type;
        else if (message.type !== 'begin' && message.type !== 'keepalive') told.end = message;
      },
      request.holdStdin ? () => {} : undefined,
    );
    child.stdout.on('data', (chunk: Buffer) => reader.push(chunk));
    child.stdin.on('error', () => {});
    child.stdin.end(request.stdin);
    child.on('error', reject);
    child.on('close', (code) => resolve({ ...told, code }));
  });
}

function lacks(shell: string): boolean {
  const [program = 'sh', ...args] = shell.split(' ');
  try {
    execFileSync(program, [...args, '-c', 'true'], { stdio: 'ignore' });
    return false;
  } catch {
    return true;
  }
}
