import { MatrixError } from 'matrix-bot-sdk';
import { ConfigurationError, NomosError, errorText } from '../../core/errors.ts';

/**
 * The homeserver answered with something that is no Matrix error: a proxy's page, an empty 502. A success that is no JSON has
 * the status 502: some other server's page stands in front of the homeserver, or in its place.
 */
export class HomeserverError extends NomosError {
  readonly status: number;
  constructor(status: number, what: string, answer: { status: number; page: boolean }) {
    const said = `${what} was answered with ${answer.status}${answer.page ? ' and a web page' : ''}`;
    super(
      'homeserver_error',
      'system',
      answer.status >= 200 && answer.status < 300
        ? `The address answers, but it is not a Matrix homeserver: ${said}, not with JSON.`
        : answer.page
          ? `A web server answers in the homeserver’s place: ${said}. The homeserver behind it may be down.`
          : `The homeserver is in trouble: ${said}.`,
      {
        fields: { status },
        hint: 'Check MATRIX_HOMESERVER_URL, and look at the log of the homeserver and of the proxy in front of it.',
      },
    );
    this.status = status;
  }
}

/** The homeserver wants to know again who is there before it does this (user-interactive authentication). */
export class AuthenticationNeededError extends HomeserverError {
  /** To be sent back with the proof. */
  readonly session: string | undefined;
  constructor(what: string, session: string | undefined) {
    super(401, what, { status: 401, page: false });
    this.session = session;
  }
}

/** The homeserver did not answer: no connection, or none in time. */
export class HomeserverUnreachableError extends NomosError {
  constructor(url: string, cause: unknown) {
    super(
      'homeserver_unreachable',
      'system',
      `Cannot reach the homeserver at ${url}: ${rootCause(cause)}`,
      { cause, hint: 'Check MATRIX_HOMESERVER_URL and that the homeserver is up.' },
    );
  }
}

/** What a failed request means for whoever made it. */
export type Failure =
  /** Wait this long, then the same again; it was not carried out. */
  | { kind: 'limited'; retryAfterMs: number; text: string }
  /** The server or the way to it is in trouble: try again. */
  | { kind: 'transient'; text: string }
  /** The access token is not good (any more). */
  | { kind: 'token'; text: string }
  /** It will never work like this. */
  | { kind: 'permanent'; text: string; errcode: string };

const DEFAULT_RETRY_AFTER_MS = 5_000;

/** Sorts a thrown thing. What is unknown counts as transient: nothing is given up for a reason nobody understands. */
export function sortFailure(error: unknown): Failure {
  if (error instanceof MatrixError) {
    const { statusCode, errcode } = error;
    const text = `${errcode}: ${error.error}`;
    if (statusCode === 429 || errcode === 'M_LIMIT_EXCEEDED') {
      return {
        kind: 'limited',
        retryAfterMs: error.retryAfterMs ?? DEFAULT_RETRY_AFTER_MS,
        text,
      };
    }
    if (errcode === 'M_UNKNOWN_TOKEN' || errcode === 'M_MISSING_TOKEN') {
      return { kind: 'token', text };
    }
    if (statusCode >= 500) return { kind: 'transient', text };
    return { kind: 'permanent', text, errcode };
  }
  if (error instanceof HomeserverError) {
    const permanent = error.status >= 400 && error.status < 500 && error.status !== 408;
    return permanent
      ? { kind: 'permanent', text: error.message, errcode: String(error.status) }
      : { kind: 'transient', text: error.message };
  }
  return { kind: 'transient', text: errorText(error) };
}

/** Whether the homeserver itself broke at a request, as opposed to being away or a proxy speaking for it. */
export function isServerError(error: unknown): boolean {
  const status =
    error instanceof MatrixError
      ? error.statusCode
      : error instanceof HomeserverError
        ? error.status
        : undefined;
  return status === 500;
}

/** Whether something else than a homeserver answered, such as a proxy that does not find it. 413 is a proxy's own limit, and final. */
export function isNoMatrixAnswer(error: unknown): boolean {
  return error instanceof HomeserverError && error.status !== 413;
}

/** What to tell whoever set the bot up when the homeserver refuses its access token. */
export function tokenRefused(
  homeserverUrl: string,
  text: string,
  variable: 'MATRIX_ACCESS_TOKEN' | 'MATRIX_USER',
): ConfigurationError {
  return variable === 'MATRIX_ACCESS_TOKEN'
    ? new ConfigurationError(
        `MATRIX_ACCESS_TOKEN: the homeserver at ${homeserverUrl} refuses the token (${text}).`,
        {
          fields: { option: 'MATRIX_ACCESS_TOKEN' },
          hint: 'Sign the bot in again and set MATRIX_ACCESS_TOKEN to the new token, or set MATRIX_USER and MATRIX_PASSWORD in its place.',
        },
      )
    : new ConfigurationError(
        `MATRIX_USER, MATRIX_PASSWORD: the homeserver at ${homeserverUrl} refuses them (${text}).`,
        {
          fields: { option: 'MATRIX_USER' },
          hint: 'Check that the account is there on this homeserver and that the password is right, or set MATRIX_ACCESS_TOKEN in their place.',
        },
      );
}

// fetch hides what happened behind "fetch failed".
function rootCause(error: unknown): string {
  let current: unknown = error;
  while (current instanceof Error && current.cause instanceof Error) current = current.cause;
  return errorText(current) || String(current);
}
