/** Whose fault an error is: decides the HTTP status, the words on the card, and who must act. */
export type Fault = 'operator' | 'model' | 'target' | 'system';

/**
 * An expected failure: a stable code for machines, words for people, the fields that matter, whose fault it is, and,
 * where there is one, the way out. Unexpected failures are plain errors.
 */
export class NomosError extends Error {
  readonly code: string;
  readonly fault: Fault;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly hint: string | undefined;

  constructor(
    code: string,
    fault: Fault,
    message: string,
    options: { fields?: Record<string, unknown>; hint?: string; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.code = code;
    this.fault = fault;
    this.fields = options.fields ?? {};
    this.hint = options.hint;
  }
}

/** The configuration is wrong: names the option, what was given and what is allowed. */
export class ConfigurationError extends NomosError {
  constructor(
    message: string,
    options: { fields?: Record<string, unknown>; hint?: string; cause?: unknown } = {},
  ) {
    super('configuration_invalid', 'operator', message, options);
  }
}

/** Nothing by that name or id. */
export class NotFoundError extends NomosError {
  constructor(what: string, name: string, hint?: string) {
    super('not_found', 'operator', `No ${what} "${name}".`, {
      fields: { what, name },
      ...(hint === undefined ? {} : { hint }),
    });
  }
}

/** The words of any thrown thing, for a log line or a card. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
