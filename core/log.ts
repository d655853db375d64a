import { pino } from 'pino';

/**
 * The program's log: JSON lines on standard error, `NOMOS_LOG_LEVEL` (default `info`). Fields: session, turn, pass,
 * execution. Command output and model text only ever at `debug`.
 */
export const log = pino(
  {
    level: process.env['NOMOS_LOG_LEVEL'] ?? 'info',
    base: null,
    // Errors stand under `error`; without this they would be written as {}.
    serializers: { error: pino.stdSerializers.err },
  },
  pino.destination(2),
);
