import { NomosError } from '../../core/errors.ts';

/** The demo fleet cannot start, or ended though nobody asked it to. */
export class DemoFleetError extends NomosError {
  constructor(
    message: string,
    options: { hint?: string; cause?: unknown; fields?: Record<string, unknown> } = {},
  ) {
    super('demo_fleet_failed', 'system', message, options);
  }
}
