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
  /** Set for what nobody expected: the log has the details under it. */
  incident?: string;
}

/** The media type of a problem. */
export const PROBLEM_TYPE = 'application/problem+json; charset=utf-8';

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
  431: 'Head too large',
  500: 'Internal error',
  503: 'Not available',
};

/** Which HTTP status a code becomes; a code that is not named here goes by whose fault it is. */
const STATUSES = {
  request_invalid: 400,
  request_malformed: 400,
  not_signed_in: 401,
  scope_missing: 403,
  role_missing: 403,
  decision_not_allowed: 403,
  not_found: 404,
  method_not_allowed: 405,
  request_too_slow: 408,
  already_decided: 409,
  already_answered: 409,
  approval_expired: 409,
  confirmation_needed: 409,
  approval_not_shown: 409,
  task_archived: 409,
  task_busy: 409,
  task_not_archived: 409,
  body_too_large: 413,
  media_type: 415,
  too_many_failures: 429,
  too_many_streams: 429,
  head_too_large: 431,
  database_away: 503,
} as const satisfies Record<string, number>;

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
 * The answer for whatever was thrown. Expected failures are told in their own words. A fault of the program or of what it
 * stands on says only that it happened, with an incident that the log has too: no words, no stack trace (Z7).
 */
export function toProblem(error: unknown, incident: string): Problem {
  if (isDatabaseAway(error)) {
    return problem(503, 'database_away', 'The database does not answer now; try again.');
  }
  if (error instanceof NomosError && (error.fault !== 'system' || error.code in STATUSES)) {
    return {
      ...problem(statusOf(error.code), error.code, error.message),
      ...(error.hint === undefined ? {} : { hint: error.hint }),
      ...(Object.keys(error.fields).length === 0 ? {} : { fields: { ...error.fields } }),
    };
  }
  const detail = 'Something went wrong inside Nomos. The log has the details under the incident.';
  return { ...problem(500, 'internal_error', detail), incident };
}

/** A problem by its parts. */
export function problem(status: number, code: string, detail: string): Problem {
  return { type: 'about:blank', title: TITLES[status] ?? 'Error', status, code, detail };
}

/** The HTTP status that a code becomes. */
export function statusOf(code: string): number {
  return Object.hasOwn(STATUSES, code) ? STATUSES[code as keyof typeof STATUSES] : 422;
}

// Prisma's codes for a server that is not there, went away or has no connection left, and the driver's words for the same.
const AWAY_CODES = new Set(['P1001', 'P1002', 'P1008', 'P1017', 'P2024', 'P2028']);
const AWAY =
  /ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|DatabaseNotReachable|ConnectionClosed|SocketTimeout|TooManyConnections|Can't reach database server|Connection terminated|connection timeout|timeout exceeded when trying to connect|terminating connection|the database system is (?:starting up|shutting down|in recovery)/i;

/** Whether the request failed because PostgreSQL was not there; nothing was done, or nothing was committed. */
export function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof NomosError) return error.code === 'database_unreachable';
  const code = 'code' in error ? String(error.code) : '';
  // The API connects to nothing else, so that these words can only be about the database.
  return AWAY_CODES.has(code) || AWAY.test(error.message);
}
