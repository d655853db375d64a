/**
 * Signs this browser in. It becomes a device of its own (encryption keys are kept per device), which it stays until the
 * homeserver no longer knows it.
 */
const STORE = 'hydrogen_sessions_v1';

/** @returns {Promise<{sessionId: string, lobby: string | undefined}>} */
export async function signedInSession() {
  const { lobby } = await ask('GET');
  const known = storedSessions();
  const [kept] = known;
  if (kept !== undefined && known.length === 1 && (await isSignedIn(kept))) {
    return { sessionId: kept.id, lobby };
  }
  await forget(known);
  const { userId, deviceId, accessToken } = await ask('POST');
  const id = String(crypto.getRandomValues(new Uint32Array(2)).join(''));
  const homeserver = location.origin;
  const fresh = { id, userId, deviceId, accessToken, homeserver, homeServer: homeserver };
  localStorage.setItem(STORE, JSON.stringify([{ ...fresh, lastUsed: Date.now() }]));
  return { sessionId: id, lobby };
}

async function ask(method) {
  const response = await fetch('./session', { method, headers: { accept: 'application/json' } });
  const body = await response.json();
  if (!response.ok) throw new Error(body.error);
  return body;
}

function storedSessions() {
  try {
    const sessions = JSON.parse(localStorage.getItem(STORE) ?? '[]');
    return Array.isArray(sessions) ? sessions : [];
  } catch {
    return [];
  }
}

async function isSignedIn({ accessToken, homeserver }) {
  if (homeserver !== location.origin) return false;
  const response = await fetch('./_matrix/client/v3/account/whoami', {
    headers: { authorization: `Bearer ${accessToken}` },
  });
  if (response.status === 401) return false;
  if (!response.ok)
    throw new Error(
      'The homeserver does not answer. Is Nomos still starting? Reload to try again.',
    );
  return true;
}

async function forget(sessions) {
  localStorage.removeItem(STORE);
  for (const { id } of sessions) {
    await new Promise((resolve) => {
      const request = indexedDB.deleteDatabase(`hydrogen_session_${id}`);
      request.onsuccess = request.onerror = request.onblocked = resolve;
    });
  }
}
