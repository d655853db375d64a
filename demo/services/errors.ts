/** Stable codes of what can go wrong while the embedded services are set up. */
export type SetupErrorCode =
  | 'SETUP_ALREADY_RUNNING'
  | 'SETUP_OPTIONAL_PACKAGE_MISSING'
  | 'SETUP_PORT_TAKEN'
  | 'SETUP_FOLDER_NOT_WRITABLE'
  | 'SETUP_NO_DATABASE_USER'
  | 'SETUP_SERVICE_FAILED'
  | 'SETUP_ACCOUNT_FAILED'
  | 'SETUP_STATE_UNREADABLE';

/** Something that stops the embedded services. The message says what is wrong and the way out; it is shown as it is. */
export class SetupError extends Error {
  override readonly name = 'SetupError';
  readonly code: SetupErrorCode;

  constructor(code: SetupErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** The code of a failed system call (`ENOENT`, `EADDRINUSE` …), or `undefined` for any other error. */
export function systemCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
