import { z } from 'zod';
import { NomosError } from '../../core/errors.ts';
import { log } from '../../core/log.ts';
import type { NomosClient } from '../matrix/client.ts';
import { AuthenticationNeededError, sortFailure } from '../matrix/errors.ts';
import type { Machine } from './machine.ts';
import { carryOut } from './requests.ts';
import type { DeviceOwner } from './store.ts';

/** What the homeserver has of the bot's own keys. */
const ownKeysShape = z.looseObject({
  device_keys: z.record(z.string(), z.record(z.string(), z.unknown())).default({}),
  master_keys: z.record(z.string(), z.unknown()).default({}),
});
const deviceShape = z.looseObject({
  keys: z.record(z.string(), z.string()),
  signatures: z.record(z.string(), z.record(z.string(), z.string())).default({}),
});

/** The homeserver has keys for the bot's device that are not those that are kept here. */
export class DeviceKeysLostError extends NomosError {
  constructor({ deviceId }: DeviceOwner) {
    super(
      'device_keys_lost',
      'operator',
      `The homeserver knows the bot’s device ${deviceId} by other keys than the database holds, so nobody could encrypt for it.`,
      {
        fields: { deviceId },
        hint: 'Sign the bot in as a new device: remove this device from the account, then start with MATRIX_USER and MATRIX_PASSWORD, or with a new MATRIX_ACCESS_TOKEN. A device’s keys never come back from a backup of the database.',
      },
    );
  }
}

/** To be called before a device gets its first keys: throws `DeviceKeysLostError` when it had some before. */
export async function refuseKnownDevice(client: NomosClient, owner: DeviceOwner): Promise<void> {
  const { device } = await ownState(client, owner);
  if (device !== undefined) throw new DeviceKeysLostError(owner);
}

/**
 * Sees to it that the keys of the bot's device are on the homeserver, and that the bot's account has signed them
 * (cross-signing), so that clients do not warn of the device. The first signing needs the account's password on most
 * homeservers; without it the bot works, and clients show its device as unverified.
 */
export async function introduceDevice(options: {
  machine: Machine;
  client: NomosClient;
  owner: DeviceOwner;
  /** The account's password, where the configuration has one. */
  password: string | undefined;
  settle: () => Promise<void>;
}): Promise<'signed' | 'unsigned'> {
  const { machine, client, owner } = options;
  await options.settle();
  const state = await ownState(client, owner);
  return machine.use(async (olm, library) => {
    const { hasMaster, hasSelfSigning } = await olm.crossSigningStatus();
    const own = hasMaster && hasSelfSigning;
    if (own && state.signed) return 'signed';
    if (!own && state.hasIdentity) {
      log.warn(
        { device: owner.deviceId },
        'the bot’s account is signed by another of its sessions; verify the bot’s device there, or clients will warn of it',
      );
      return state.signed ? 'signed' : 'unsigned';
    }
    // The keys were made before and did not arrive, or not all of them: the same ones are sent again.
    const requests = await olm.bootstrapCrossSigning(!own);
    const upload: unknown = requests.uploadKeysRequest;
    if (upload instanceof library.KeysUploadRequest) {
      await carryOut(client, olm, library, upload);
    }
    const body = JSON.parse(requests.uploadSigningKeysRequest.body) as Record<string, unknown>;
    if (!(await uploadSigningKeys(client, owner, body, options.password))) return 'unsigned';
    await carryOut(client, olm, library, requests.uploadSignaturesRequest);
    log.info({ device: owner.deviceId }, 'the bot’s account has signed its device');
    return 'signed';
  });
}

async function ownState(
  client: NomosClient,
  { userId, deviceId }: DeviceOwner,
): Promise<{
  device: z.infer<typeof deviceShape> | undefined;
  hasIdentity: boolean;
  /** By more than the device itself. */
  signed: boolean;
}> {
  const answer = ownKeysShape.parse(
    await client.doRequest('POST', '/_matrix/client/v3/keys/query', null, {
      device_keys: { [userId]: [] },
    }),
  );
  const device = deviceShape.safeParse(answer.device_keys[userId]?.[deviceId]).data;
  return {
    device,
    hasIdentity: userId in answer.master_keys,
    signed: Object.keys(device?.signatures[userId] ?? {}).some(
      (key) => key !== `ed25519:${deviceId}`,
    ),
  };
}

/** Uploads the account's signing keys, with the password where the homeserver asks who is there. Whether it took them. */
async function uploadSigningKeys(
  client: NomosClient,
  { userId }: DeviceOwner,
  body: Record<string, unknown>,
  password: string | undefined,
): Promise<boolean> {
  const path = '/_matrix/client/v3/keys/device_signing/upload';
  try {
    await client.doRequest('POST', path, null, body);
    return true;
  } catch (error) {
    if (!(error instanceof AuthenticationNeededError)) throw error;
    if (password === undefined) {
      log.warn(
        'the bot’s device stays unsigned, and clients will warn of it: signing it for the first time needs MATRIX_PASSWORD',
      );
      return false;
    }
    const identifier = { type: 'm.id.user', user: userId };
    const auth = { type: 'm.login.password', identifier, password, session: error.session };
    try {
      await client.doRequest('POST', path, null, { ...body, auth });
      return true;
    } catch (refusal) {
      const failure = sortFailure(refusal);
      if (failure.kind !== 'permanent') throw refusal;
      log.error(
        { error: failure.text },
        'the bot’s device stays unsigned, and clients will warn of it: the homeserver refuses MATRIX_PASSWORD for that',
      );
      return false;
    }
  }
}
