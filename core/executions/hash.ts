import { createHash } from 'node:crypto';
import type { StoredTarget } from '../graph/targets.ts';

/**
 * What an approval covers (A16): the machine, the user and the exact bytes of the command, as a hash. Made when the
 * execution is requested, and again from the row in the transaction in which a worker claims it.
 */
export function commandHash(target: StoredTarget, command: string): string {
  const { host, container } = target;
  const bound = [
    host.address,
    host.port,
    host.user,
    container?.pveId ?? null,
    target.slug,
    command,
  ];
  return createHash('sha256').update(JSON.stringify(bound)).digest('hex');
}

/** What an approval over several executions covers: the hash over theirs, in order. */
export function subjectHash(commandHashes: readonly string[]): string {
  return createHash('sha256').update(commandHashes.join('\n')).digest('hex');
}
