import type { Context } from 'koa';
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Database } from '../db/database.ts';
import { asId, type UserId } from '../ids.ts';
import { Operators } from '../operators.ts';
import { authentication } from './auth.ts';

const TOKEN = 'nomos_a-token';
const operators = new Operators([{ userId: asId<UserId>('@ann:test'), role: 'viewer' }]);

/** A database that knows one token, which acts in this name. */
function knowing(operator: string | null): Database {
  const hash = createHash('sha256').update(TOKEN).digest('hex');
  const row = {
    ...{ id: 'i', name: 't', scopes: ['read', 'operate'], operator, hash },
    ...{ createdAt: new Date(), lastUsedAt: new Date(), revokedAt: null },
  };
  return { read: { apiToken: { findUnique: () => Promise.resolve(row) } } } as unknown as Database;
}

/** Shows the token, and tells whether it was let in. */
async function shown(operator: string | null): Promise<boolean> {
  let inside = false;
  const ctx = {
    ip: '127.0.0.1',
    path: '/',
    method: 'GET',
    state: {},
    get: () => `Bearer ${TOKEN}`,
  };
  await authentication(knowing(operator), operators)(ctx as unknown as Context, async () => {
    inside = true;
    return Promise.resolve();
  });
  return inside;
}

describe('tokens and whose they are', () => {
  it('Z1, T12: a token of someone who is no operator any more reads nothing either', async () => {
    await expect(shown('@gone:test')).rejects.toMatchObject({ code: 'role_missing' });
    expect(await shown('@ann:test')).toBe(true);
  });

  it('H3: a token in nobody’s name is let in, for what needs no name', async () => {
    expect(await shown(null)).toBe(true);
  });
});
