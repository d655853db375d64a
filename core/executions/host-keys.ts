import type { Database } from '../db/database.ts';
import type { HostEndpoint, HostKeyStore, PinnedKey } from './ports.ts';

/** Keeps host keys that were pinned at first use in Postgres (X3). A key that is there is never replaced here (Z5). */
export function databaseHostKeys(database: Database): HostKeyStore {
  return {
    async get(host: HostEndpoint): Promise<PinnedKey | null> {
      const row = await database.read.hostKey.findUnique({
        where: { host_port: { host: host.address, port: host.port } },
      });
      return row === null
        ? null
        : { type: row.keyType, publicKey: row.publicKey, fingerprint: row.fingerprint };
    },
    async pin(host: HostEndpoint, key: PinnedKey): Promise<void> {
      await database.write(async (unit) => {
        const { count } = await unit.db.hostKey.createMany({
          data: {
            host: host.address,
            port: host.port,
            keyType: key.type,
            publicKey: key.publicKey,
            fingerprint: key.fingerprint,
          },
          skipDuplicates: true,
        });
        if (count === 0) return;
        unit.audit({
          actor: 'system',
          action: 'host_key.pinned',
          subject: host.slug,
          data: { address: host.address, port: host.port, fingerprint: key.fingerprint },
        });
      });
    },
  };
}
