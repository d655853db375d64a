import type { DecryptedRoomEvent, OlmMachine } from '@matrix-org/matrix-sdk-crypto-wasm';
import { z } from 'zod';
import type { CryptoLibrary } from './machine.ts';

/** What is known of the device that an event came from. */
export interface SenderTrust {
  /** The device is one of the sender's own and its owner signed it: clients call that verified. */
  crossSigned: boolean;
  /** The sender's signing keys are others than those that were seen first, and nobody has vouched for them. */
  identityChanged: boolean;
}

/** Whether somebody vouched for a user's new signing key. */
export type IsVouchedFor = (userId: string, key: string) => Promise<boolean>;

const masterKeyShape = z.looseObject({ keys: z.record(z.string(), z.string()) });

/**
 * Looks at who sent an event. The library's shield alone is no proof: it shows nothing for a person who was never verified,
 * so the device itself is asked too, and it must hold the key that the event came with. A homeserver can hand out new
 * signing keys at any time, so only those count that were seen first, or that somebody vouched for since.
 */
export async function trustOf(
  olm: OlmMachine,
  library: CryptoLibrary,
  sender: string,
  decrypted: DecryptedRoomEvent,
  isVouchedFor: IsVouchedFor,
): Promise<SenderTrust> {
  const identityChanged = await hasNewIdentity(olm, library, sender, isVouchedFor);
  return {
    crossSigned: !identityChanged && (await isCrossSigned(olm, library, sender, decrypted)),
    identityChanged,
  };
}

async function isCrossSigned(
  olm: OlmMachine,
  library: CryptoLibrary,
  sender: string,
  decrypted: DecryptedRoomEvent,
): Promise<boolean> {
  if (decrypted.shieldState(false).color !== library.ShieldColor.None) return false;
  const deviceId = decrypted.senderDevice;
  if (deviceId === undefined || decrypted.sender.toString() !== sender) return false;
  const device = await olm.getDevice(new library.UserId(sender), deviceId);
  if (device === undefined || device.isDeleted() || device.isBlacklisted()) return false;
  const key = device.curve25519Key?.toBase64();
  return device.isCrossSignedByOwner() && key === decrypted.senderCurve25519Key;
}

async function hasNewIdentity(
  olm: OlmMachine,
  library: CryptoLibrary,
  sender: string,
  isVouchedFor: IsVouchedFor,
): Promise<boolean> {
  const identity = await olm.getIdentity(new library.UserId(sender));
  if (!(identity instanceof library.OtherUserIdentity)) return false;
  if (!identity.identityNeedsUserApproval()) return false;
  const { keys } = masterKeyShape.parse(JSON.parse(identity.masterKey));
  if (!(await isVouchedFor(sender, Object.values(keys).join(' ')))) return true;
  await identity.pinCurrentMasterKey();
  return false;
}
