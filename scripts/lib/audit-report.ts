/** A known fault of a package that production uses. */
export interface Advisory {
  /** The id of the advisory, such as `GHSA-xxxx-xxxx-xxxx`. */
  readonly id: string;
  readonly name: string;
  readonly severity: string;
  readonly title: string;
}

/** What `npm audit --json` said: the advisories, or why it could not say. */
export type AuditAnswer =
  | { readonly answered: true; readonly advisories: readonly Advisory[] }
  | { readonly answered: false; readonly why: string };

/** Reads what `npm audit --json` printed (report version 2). Anything else counts as no answer. */
export function readAudit(printed: string): AuditAnswer {
  let report: unknown;
  try {
    report = JSON.parse(printed);
  } catch {
    // The caller says so.
    return { answered: false, why: 'npm audit printed no report' };
  }
  if (!isRecord(report) || !isRecord(report['vulnerabilities'])) {
    const message = isRecord(report) ? report['message'] : undefined;
    return {
      answered: false,
      why: typeof message === 'string' ? message : 'npm audit printed another report than known',
    };
  }
  const found = new Map<string, Advisory>();
  for (const one of Object.values(report['vulnerabilities'])) {
    const via = isRecord(one) && Array.isArray(one['via']) ? one['via'] : [];
    // A name alone says through which package it comes; that one is listed for itself.
    for (const cause of via.filter(isRecord)) {
      const id = String(cause['url']).split('/').at(-1) ?? '';
      found.set(id, {
        id,
        name: String(cause['name']),
        severity: String(cause['severity']),
        title: String(cause['title']),
      });
    }
  }
  return { answered: true, advisories: [...found.values()] };
}

/** The advisories that a document gives a reason for: each stands there by its id. */
export function exceptionsIn(document: string): ReadonlySet<string> {
  return new Set(document.match(/GHSA(?:-[0-9a-z]{4}){3}/g));
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
