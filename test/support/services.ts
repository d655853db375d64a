/**
 * The real services of a test run, from inside a test. Each starts when the first test of the run asks for it and is
 * shared by all; what a test makes in them has a name of its own.
 */
import { randomBytes } from 'node:crypto';
import { inject } from 'vitest';
import { MatrixAccounts } from '../../demo/services/matrix-accounts.ts';
import type { MatrixAccount } from '../../demo/services/matrix-accounts.ts';
import type { DeskAnswers } from './service-desk.ts';

/** The homeserver of the run, with limits that no test meets. */
export interface TestHomeserver {
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  readonly serverName: string;
  /** Makes a user whose name starts with `name` and is used by no other test, signed in once. */
  newUser(name: string, options?: { readonly admin?: boolean }): Promise<MatrixAccount>;
  /** Signs a user in as one more device. */
  login(userId: string, password: string): Promise<MatrixAccount>;
}

/** A database of one's own with all migrations applied: a copy of a template, made in about 50 ms. */
export async function freshDatabase(): Promise<string> {
  return (await ask('/database')).url;
}

/** A database of one's own with nothing in it. */
export async function emptyDatabase(): Promise<string> {
  return (await ask('/empty-database')).url;
}

/** Redis (Valkey), and a prefix for keys and queues that no other test uses. */
export async function testRedis(): Promise<{ readonly url: string; readonly prefix: string }> {
  return { url: (await ask('/redis')).url, prefix: `test-${randomName()}` };
}

/** The homeserver (Synapse). */
export async function testHomeserver(): Promise<TestHomeserver> {
  return homeserverOf(await ask('/homeserver'));
}

/** A homeserver with Synapse's default limits: 0.2 messages a second for each account, after 10 at once. */
export async function limitedHomeserver(): Promise<TestHomeserver> {
  return homeserverOf(await ask('/limited-homeserver'));
}

function homeserverOf({
  url,
  serverName,
  registrationSecret,
}: DeskAnswers['/homeserver']): TestHomeserver {
  const accounts = new MatrixAccounts(url, registrationSecret);
  return {
    url,
    serverName,
    async newUser(name, options = {}) {
      const account = await accounts.register(`${name}-${randomName()}`, randomName(), options);
      if (account === undefined)
        throw new Error(`The name of the test user ${name} was used twice.`);
      return account;
    },
    async login(userId, password) {
      const account = await accounts.login(userId, password);
      if (account === undefined) throw new Error(`${userId} could not be signed in.`);
      return account;
    },
  };
}

/** All three, started side by side. */
export async function testServices(): Promise<{
  readonly databaseUrl: string;
  readonly redis: { readonly url: string; readonly prefix: string };
  readonly homeserver: TestHomeserver;
}> {
  const [databaseUrl, redis, homeserver] = await Promise.all([
    freshDatabase(),
    testRedis(),
    testHomeserver(),
  ]);
  return { databaseUrl, redis, homeserver };
}

async function ask<Path extends keyof DeskAnswers>(path: Path): Promise<DeskAnswers[Path]> {
  // Without a test runner, as in the benchmarks, the address stands in the environment.
  const desk = process.env['NOMOS_SERVICE_DESK'] ?? inject('serviceDesk');
  if (desk === undefined) {
    throw new Error(
      'No services here: the vitest project needs test/support/global-setup.ts as its globalSetup.',
    );
  }
  const response = await fetch(desk + path);
  const body = await response.json();
  if (!response.ok)
    throw new Error(`${path} is not to be had: ${(body as { error: string }).error}`);
  return body as DeskAnswers[Path];
}

function randomName(): string {
  return randomBytes(5).toString('hex');
}
