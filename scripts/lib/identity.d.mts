/** See identity.mjs. */
export function processIdentity(pid: number): string | undefined;
/** See identity.mjs. */
export function stillRuns(seen: { pid: number; identity: string }): boolean;
