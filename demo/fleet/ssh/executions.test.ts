import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { buildFleet } from '../fleet.ts';
import { Executions } from './executions.ts';
import type { Follower } from './executions.ts';

const shell = buildFleet(0.01).hosts.find(({ slug }) => slug === 'host:web-1')?.shell;

/** Collects what is said until there is no more. */
function listener(): Follower & { readonly said: Promise<string> } {
  const { promise, resolve } = Promise.withResolvers<string>();
  const pieces: Buffer[] = [];
  return {
    said: promise,
    send: (bytes) => void pieces.push(bytes),
    finish: () => resolve(Buffer.concat(pieces).toString()),
  };
}

describe('executions that a machine remembers', { timeout: 60_000 }, () => {
  it('X7: of many ends the oldest outputs are cut to their end, which is told, and the ends stay', async () => {
    if (!shell) throw new Error('no web-1');
    const executions = new Executions(shell);
    const ids = Array.from({ length: 9 }, () => randomUUID());
    for (const id of ids) {
      const each = listener();
      executions.start(id, `printf '%2000000s' x; echo ${id}`, 10_000, each);
      await each.said;
    }
    const read = async (id: string): Promise<string> => {
      const again = listener();
      executions.attach(id, again);
      return again.said;
    };
    const [oldest, newest] = [ids[0] ?? '', ids[8] ?? ''];
    const old = await read(oldest);
    expect(old.length).toBeLessThan(6_000);
    expect(old).toMatch(/^nomos1 attached bash\nO 4096\n/);
    expect(old).toContain(`${oldest}\nnomos1 end exit 0 1 `);
    expect((await read(newest)).length).toBeGreaterThan(2_000_000);
  });

  it('two that start the same id at once get one run', async () => {
    if (!shell) throw new Error('no web-1');
    const executions = new Executions(shell);
    const id = randomUUID();
    const both = [listener(), listener()];
    for (const each of both)
      executions.start(id, 'echo x >> /root/once; wc -l < /root/once', 9_000, each);
    const [first = '', second = ''] = await Promise.all(both.map((each) => each.said));
    expect(first).toMatch(/^nomos1 started bash\no 2\n1\nnomos1 end exit 0/);
    expect(second.replace('exists', 'started')).toBe(first);
  });
});
