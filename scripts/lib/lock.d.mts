/** Who holds a lock, with whatever the holder said about itself. */
export interface LockHolder {
  readonly pid: number;
  readonly identity: string;
  /** ISO time. */
  readonly since: string;
  readonly [field: string]: unknown;
}

/** A lock held by this process until `release()` or its end. */
export interface HeldLock {
  readonly path: string;
  describe(fields: Record<string, unknown>): void;
  release(): void;
}

/** See lock.mjs. */
export function lockHolder(path: string): LockHolder | undefined;
/** See lock.mjs. */
export function takeLock(
  path: string,
  about?: Record<string, unknown>,
): { taken: true; lock: HeldLock } | { taken: false; holder: LockHolder };
