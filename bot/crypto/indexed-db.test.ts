import { expect, test } from 'vitest';
import { UserId } from '@matrix-org/matrix-sdk-crypto-wasm';
import { type RowChange, openKeptDatabase } from './indexed-db.ts';

const library = await import('@matrix-org/matrix-sdk-crypto-wasm');
const openMachine = async (name: string) => {
  await library.initAsync();
  const handle = await library.StoreHandle.open(name, null);
  return async () =>
    library.OlmMachine.initFromStore(
      new UserId('@bot:example.org'),
      new library.DeviceId('DEVICE'),
      handle,
    );
};

test('R4: what the library writes is kept before its promise resolves, and is all there at the next start', async () => {
  const kept: RowChange[] = [];
  let writing = 0;
  const first = await openKeptDatabase(undefined, async (changes) => {
    writing++;
    await new Promise((resolve) => setImmediate(resolve));
    kept.push(...changes);
    writing--;
  });
  const makeFirst = await openMachine(first.name);
  const { layout } = first.watch();
  const machine = await makeFirst();
  await machine.updateTrackedUsers([new UserId('@ann:example.org')]);
  expect(writing).toBe(0);
  const rows = new Map(
    kept.map(({ store, key, value }) => [`${store} ${key}`, { store, key, value }]),
  );
  expect([...rows.keys()]).toContain('tracked_users "@ann:example.org"');

  const saved = [...rows.values()].flatMap(({ store, key, value }) =>
    value === null ? [] : [{ store, key, value }],
  );
  const second = await openKeptDatabase({ layout, rows: saved }, async () => {});
  second.watch();
  const again = await (await openMachine(second.name))();
  expect(again.identityKeys.ed25519.toBase64()).toBe(machine.identityKeys.ed25519.toBase64());
  expect([...(await again.trackedUsers())].map(String)).toEqual(['@ann:example.org']);
});

test('R9: once something could not be kept, nothing that follows counts either', async () => {
  let fails = false;
  const store = await openKeptDatabase(undefined, async () => {
    if (fails) throw new Error('the database is away');
  });
  const make = await openMachine(store.name);
  store.watch();
  const machine = await make();
  fails = true;
  await expect(machine.updateTrackedUsers([new UserId('@ann:example.org')])).rejects.toThrow();
  fails = false;
  await expect(machine.updateTrackedUsers([new UserId('@bob:example.org')])).rejects.toThrow();
  expect(store.failure).toMatchObject({ message: 'the database is away' });
});
