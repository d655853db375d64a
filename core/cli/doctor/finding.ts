import { errorText, NomosError } from '../../errors.ts';

/** How one piece of the configuration is: `skipped` when something else must be mended first. */
export type State = 'ok' | 'warning' | 'failed' | 'skipped';

/** What was found about one piece: what is so, and when it is not well, how to mend it. */
export interface Finding {
  name: string;
  state: State;
  detail: string;
  mend?: string;
}

/** A piece that is well. */
export function ok(name: string, detail: string): Finding {
  return { name, state: 'ok', detail };
}

/** A piece that works but is not as it should be. */
export function warning(name: string, detail: string, mend: string): Finding {
  return { name, state: 'warning', detail, mend };
}

/** A piece that does not work. */
export function failed(name: string, detail: string, mend?: string): Finding {
  return { name, state: 'failed', detail, ...(mend === undefined ? {} : { mend }) };
}

/** A piece that could not be looked at. */
export function skipped(name: string, detail: string): Finding {
  return { name, state: 'skipped', detail };
}

/** What an error says of a piece, with its own way out or the one given. */
export function failure(name: string, error: unknown, mend?: string): Finding {
  const hint = error instanceof NomosError ? error.hint : undefined;
  return failed(name, errorText(error), hint ?? mend);
}

/** Names what kept a connection from coming about, in words that a person can act on. */
export function networkTrouble(error: unknown): string {
  const parts = [error, error instanceof Error ? error.cause : undefined];
  const codes = parts.flatMap((part) =>
    part instanceof Error && 'code' in part ? [String(part.code)] : [],
  );
  const known = codes.map((code) => TROUBLES[code]).find((words) => words !== undefined);
  if (known !== undefined) return known;
  if (error instanceof Error && error.name === 'TimeoutError') return 'it does not answer in time';
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return errorText(cause);
}

const TROUBLES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there (connection refused)',
  ECONNRESET: 'it closed the connection',
  ENOTFOUND: 'the host name is not known',
  EAI_AGAIN: 'the host name cannot be looked up now (is DNS reachable?)',
  ETIMEDOUT: 'it does not answer in time (a firewall, or the host is off)',
  EHOSTUNREACH: 'there is no way to that host',
  ENETUNREACH: 'there is no way to that network',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is signed by itself',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate chain has a certificate that is signed by itself',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate cannot be verified',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
};
