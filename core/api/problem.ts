import { NomosError } from '../errors.ts';

/** A failure as problem+json (RFC 9457). `code` is the stable name, `detail` the words, `hint` the way out. */
export interface Problem {
  type: 'about:blank';
  title: string;
  status: number;
  code: string;
  detail: string;
  hint?: string;
  fields?: Record<string, unknown>;
}

const TITLES: Readonly<Record<number, string>> = {
  400: 'Bad request',
  401: 'Not signed in',
  403: 'Not allowed',
  404: 'Not found',
  405: 'Method not allowed',
  408: 'Too slow',
  409: 'Conflict',
  413: 'Too large',
  415: 'Unsupported media type',
  422: 'Cannot be done',
  429: 'Too many requests',
  500: 'Internal error',
  503: 'Not available',
};

/** Which HTTP status a code becomes; a code that is not named here goes by whose fault it is. */
const STATUSES: Readonly<Record<string, number>> = {
  request_invalid: 400,
  not_signed_in: 401,
  scope_missing: 403,
  not_found: 404,
  method_not_allowed: 405,
  already_decided: 409,
  approval_expired: 409,
  confirmation_needed: 409,
  decision_not_allowed: 403,
  task_archived: 409,
  body_too_large: 413,
  media_type: 415,
  too_many_failures: 429,
  database_unreachable: 503,
};

/** An error of the API itself. */
export class ApiError extends NomosError {
  constructor(
    code: keyof typeof STATUSES,
    message: string,
    options: { hint?: string; fields?: Record<string, unknown> } = {},
  ) {
    super(code, 'operator', message, options);
  }
}

/**
 * The answer for whatever was thrown. Expected failures are told in their own words; anything else says only that it
 * happened, with an id that the log has too, and no stack trace (Z7).
 */
export function toProblem(error: unknown, incident: string): Problem {
  if (error instanceof NomosError) {
    const status = STATUSES[error.code] ?? (error.fault === 'system' ? 500 : 422);
    return {
      type: 'about:blank',
      title: TITLES[status] ?? 'Error',
      status,
      code: error.code,
      detail: error.message,
      ...(error.hint === undefined ? {} : { hint: error.hint }),
      ...(Object.keys(error.fields).length === 0 ? {} : { fields: { ...error.fields } }),
    };
  }
  return {
    type: 'about:blank',
    title: 'Internal error',
    status: 500,
    code: 'internal_error',
    detail: `Something went wrong inside Nomos. The log has the details under ${incident}.`,
  };
}
