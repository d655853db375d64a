import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import type { RemoteRunner, RunEnd } from '../../core/executions/ports.ts';
import { request, runnerFor } from '../support/remote.ts';
import { findSshd, TestSshd } from '../support/sshd.ts';

const noSshd = findSshd() === undefined;
const COMMANDS = 40;
const CHAOS_MS = 8_000;
const SEED = Number(process.env['NOMOS_SEED'] ?? 20_261);

describe.skipIf(noSshd)(`random cuts${noSshd ? ' (skipped: sshd is not installed)' : ''}`, () => {
  let server: TestSshd;
  const runners: RemoteRunner[] = [];
  afterEach(async () => {
    await Promise.all(runners.splice(0).map((runner) => runner.close()));
    await server.stop();
  });

  test(
    `R2, R6: under random cuts, crashes and cancellations every command runs at most once and ends truthfully (NOMOS_SEED=${SEED})`,
    { timeout: 120_000 },
    async () => {
      server = await TestSshd.start();
      const random = generator(SEED);
      const worker = (): RemoteRunner => {
        const runner = runnerFor(server, {
          keepaliveIntervalMs: 150,
          reattachForMs: 2_000,
          limits: { backoffMs: 20, maxBackoffMs: 200 },
        });
        runners.push(runner);
        return runner;
      };
      const workers = [worker(), worker(), worker()];
      const any = (): RemoteRunner => workers[Math.floor(random() * workers.length)] ?? worker();

      const drive = async (
        index: number,
      ): Promise<{ index: number; code: number; end: RunEnd }> => {
        const code = index % 7;
        const abort = new AbortController();
        const wanted = request(
          server,
          `echo start ${index} >>log; sleep ${(random() * 1.5).toFixed(2)}; echo end ${index} >>log; echo out ${index}; exit ${code}`,
          {
            signal: abort.signal,
          },
        );
        await pause(random() * CHAOS_MS * 0.7);
        // Some are cancelled, and some are started twice as a queue does that delivers twice.
        if (index % 5 === 0) setTimeout(() => abort.abort(), random() * 1_200);
        const twice =
          index % 4 === 0
            ? any().run({ ...wanted, signal: new AbortController().signal })
            : undefined;
        let end = await any().run(wanted);
        while (end.kind === 'connection_lost') end = await any().reattach(wanted);
        if ((await twice) !== undefined && end.kind === 'not_started') {
          // This one was not let in; the other may have been. The target knows.
          do end = await any().reattach(wanted);
          while (end.kind === 'connection_lost');
        }
        return { index, code, end };
      };
      const driven = Array.from({ length: COMMANDS }, (_, index) => drive(index));

      const until = Date.now() + CHAOS_MS;
      while (Date.now() < until) {
        await pause(150 + random() * 350);
        const what = random();
        if (what < 0.4) server.signalSessions('SIGKILL');
        else if (what < 0.7) {
          server.signalSessions('SIGSTOP');
          await pause(random() * 1_200);
          server.signalSessions('SIGCONT');
        } else {
          await server.crash();
          await pause(random() * 400);
          await server.listen();
        }
      }

      const file = path.join(server.home, 'log');
      const ends = await Promise.all(driven);
      const log = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
      const count = (line: string): number => log.filter((one) => one === line).length;
      const kinds = new Map<string, number>();
      for (const { index, code, end } of ends) {
        kinds.set(end.kind, (kinds.get(end.kind) ?? 0) + 1);
        const started = count(`start ${index}`);
        const ended = count(`end ${index}`);
        expect(started, `starts of ${index}`).toBeLessThanOrEqual(1);
        if (end.kind === 'exited') {
          expect(end.exitCode).toBe(code);
          expect([started, ended]).toEqual([1, 1]);
          expect(Buffer.from(end.stdout.bytes).toString()).toBe(`out ${index}\n`);
        } else if (end.kind === 'cancelled') {
          expect(index % 5).toBe(0);
          // A command may be cancelled between its claim and its first word.
          if (!end.started) expect(started).toBe(0);
          expect(end.groupGone).toBe(true);
        } else {
          expect(end.kind).toBe('not_started');
          expect(started).toBe(0);
        }
      }

      // The chaos was neither so small that nothing happened nor so large that nothing ran.
      expect(kinds.get('exited') ?? 0).toBeGreaterThan(COMMANDS / 4);
    },
  );
});

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Mulberry32: small, and the same everywhere for one seed. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
