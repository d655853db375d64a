import { z } from 'zod';
import type { Config, MatrixLogin } from '../../config/config.ts';
import { networkTrouble, ok, skipped, warning, type Finding } from './finding.ts';
import { call } from './homeserver.ts';

const NAME = 'encryption';
const whoami = z.looseObject({ user_id: z.string(), device_id: z.string().optional() });
const keys = z.looseObject({
  device_keys: z.record(
    z.string(),
    z.record(
      z.string(),
      z.looseObject({
        signatures: z.record(z.string(), z.record(z.string(), z.string())).default({}),
      }),
    ),
  ),
});

/** Whether the bot can read encrypted rooms, and whether clients will warn of its device there. */
export async function checkEncryption(
  url: string,
  login: MatrixLogin,
  mode: Config['encryption'],
): Promise<Finding[]> {
  if (mode === 'never')
    return [ok(NAME, 'turned off: encrypted rooms are answered with a plain word')];
  // A login of the doctor's own would be another device.
  if (login.kind === 'password') return [ok(NAME, 'the bot’s device is signed at its first start')];
  try {
    return [await ofToken(url, login, mode)];
  } catch (error) {
    return [skipped(NAME, networkTrouble(error))];
  }
}

async function ofToken(
  url: string,
  login: MatrixLogin & { kind: 'token' },
  mode: Config['encryption'],
): Promise<Finding> {
  const token = login.accessToken;
  const who = whoami.safeParse((await call(url, 'GET', 'v3/account/whoami', { token })).body).data;
  if (who === undefined) return skipped(NAME, 'the account must be right first');
  const { user_id: userId, device_id: deviceId } = who;
  if (deviceId === undefined) {
    return warning(
      NAME,
      `the token belongs to no device, so encrypted rooms cannot be read${mode === 'always' ? ', and NOMOS_ENCRYPTION=always will not start' : ''}`,
      'Take the token of a login, or set MATRIX_USER and MATRIX_PASSWORD.',
    );
  }
  const answer = await call(url, 'POST', 'v3/keys/query', {
    token,
    body: { device_keys: { [userId]: [deviceId] } },
  });
  const device = keys.safeParse(answer.body).data?.device_keys[userId]?.[deviceId];
  const signers = Object.keys(device?.signatures[userId] ?? {});
  if (signers.some((signer) => signer !== `ed25519:${deviceId}`)) {
    return ok(NAME, `the bot’s device ${deviceId} is signed by its account`);
  }
  if (device === undefined) {
    return ok(
      NAME,
      `the keys of the bot’s device ${deviceId} are made at the first start${login.password === undefined ? '; without MATRIX_PASSWORD clients may call it unverified' : ''}`,
    );
  }
  return warning(
    NAME,
    `the bot’s device ${deviceId} is not signed by its account, so clients warn of it; messages are encrypted all the same`,
    'Set MATRIX_PASSWORD and start once, or verify the device from another session of the bot’s account.',
  );
}
