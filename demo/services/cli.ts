/**
 * `node demo/services/cli.ts up` keeps the embedded services up, without Nomos itself, for developing against them.
 * It prints their addresses and ends them at Ctrl-C.
 */
import { fileURLToPath } from 'node:url';
import { SetupError, startEmbedded } from './index.ts';

if (process.argv[2] !== 'up') {
  process.stderr.write('Usage: node demo/services/cli.ts up\n');
  process.exit(2);
}
try {
  const services = await startEmbedded({
    home: process.env['NOMOS_HOME'] || fileURLToPath(new URL('../../.nomos', import.meta.url)),
    need: { postgres: true, redis: true, homeserver: true },
    onProgress: (text) => process.stderr.write(`${text}\n`),
  });
  const { databaseUrl, redisUrl, homeserver } = services;
  process.stdout.write(`${JSON.stringify({ databaseUrl, redisUrl, homeserver }, null, 2)}\n`);
  if (homeserver !== undefined) services.announce(homeserver.url);
  const kept = setInterval(() => undefined, 60_000);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => {
      clearInterval(kept);
      void services.stop().then(() => process.exit(0));
    });
  }
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
}
