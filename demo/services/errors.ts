import { NomosError } from '../../core/errors.ts';

/** Stable codes of what can go wrong while the embedded services are set up. */
export type SetupErrorCode =
  | 'setup_already_running'
  | 'setup_packages_missing'
  | 'setup_port_taken'
  | 'setup_folder_not_writable'
  | 'setup_no_database_user'
  | 'setup_service_failed'
  | 'setup_account_failed'
  | 'setup_state_unreadable';

/** Something that stops the embedded services. The message says what is wrong and the way out; it is shown as it is. */
export class SetupError extends NomosError {
  constructor(code: SetupErrorCode, message: string, options: { cause?: unknown } = {}) {
    super(code, 'system', message, options);
  }
}

/** The code of a failed system call (`ENOENT`, `EADDRINUSE` …), or `undefined` for any other error. */
export function systemCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
