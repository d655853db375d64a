import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createToken } from '../../core/api/tokens.ts';
import { Database } from '../../core/db/database.ts';
import { asId, type UserId } from '../../core/ids.ts';
import { noteReplacedKey } from '../../core/signing-keys.ts';
import { ApiWorld } from '../support/api-world.ts';
import { nomos, nomosHere, type CliResult } from '../support/cli.ts';
import { emptyDatabase } from '../support/services.ts';

const OPERATORS = '@ann:test=admin,@bob:test=approver,@eve:test=viewer';
let world: ApiWorld;

beforeAll(async () => {
  world = await ApiWorld.open();
});
afterAll(() => world[Symbol.asyncDispose]());

const run = (args: string[], extra: NodeJS.ProcessEnv = {}): Promise<CliResult> =>
  nomos(args, { DATABASE_URL: world.core.database.url, ...extra });

const here = (args: string[], extra: NodeJS.ProcessEnv = {}): Promise<CliResult> =>
  nomosHere(args, { DATABASE_URL: world.core.database.url, ...extra });

describe('nomos trust', () => {
  it('A20: vouches for replaced signing keys of an operator, and for nobody else', async () => {
    const { database } = world.core;
    const environment = { NOMOS_OPERATORS: OPERATORS };
    const ann = asId<UserId>('@ann:test');
    expect(await here(['trust'], environment)).toMatchObject({ code: 2 });
    const stranger = await here(['trust', '@mallory:test'], environment);
    expect(stranger).toMatchObject({ code: 2, stderr: expect.stringContaining('no operator') });
    const early = await here(['trust', ann], environment);
    expect(early).toMatchObject({ code: 1, stderr: expect.stringContaining('@ann:test') });

    const seen = (key: string) => database.write((unit) => noteReplacedKey(unit, ann, key));
    expect(await seen('one')).toBe(false);
    const trusted = await here(['trust', ann], environment);
    expect(trusted).toMatchObject({ code: 0, stdout: expect.stringContaining('key one of @ann') });
    expect(await seen('one')).toBe(true);
    // Keys that replace those are others.
    expect(await seen('two')).toBe(false);
    expect(await seen('one')).toBe(false);
  });
});

describe('nomos token', () => {
  it('H3: makes a token that works, shows it once, lists it without it, and ends it at once', async () => {
    const made = await run(['token', 'create', 'dashboard']);
    expect(made).toMatchObject({ code: 0, stdout: expect.stringMatching(/^nomos_[\w-]{43}\n$/) });
    expect(made.stderr).toContain('It is shown only now');
    const token = made.stdout.trim();
    expect((await world.get('/api/v1/sessions', token)).status).toBe(200);
    expect((await world.post('/api/v1/sessions', token, { text: 'x' })).status).toBe(403);

    const listed = await run(['token', 'list', '--json']);
    expect(JSON.parse(listed.stdout)).toMatchObject([
      { name: 'dashboard', scopes: ['read'], operator: null, revokedAt: null },
    ]);
    expect(listed.stdout).not.toContain(token.slice(6));
    expect((await run(['token', 'list'])).stdout).toMatch(/^dashboard: read, last used \d{4}-/);

    expect(await run(['token', 'revoke', 'dashboard'])).toMatchObject({
      code: 0,
      stdout: 'Revoked "dashboard".\n',
    });
    expect((await world.get('/api/v1/sessions', token)).status).toBe(401);
    expect((await run(['token', 'revoke', 'dashboard'])).code).toBe(1);
    expect((await run(['token', 'list'])).stdout).toContain('dashboard (revoked)');
    // The name is free again, and the old token stays dead.
    expect((await run(['token', 'create', 'dashboard'])).code).toBe(0);
    expect((await world.get('/api/v1/sessions', token)).status).toBe(401);
    expect(
      await world.core.database.read.auditEntry.findMany({
        where: { action: { startsWith: 'token.' }, subject: 'dashboard' },
        orderBy: { id: 'asc' },
      }),
    ).toMatchObject([
      { action: 'token.created', actor: 'system' },
      { action: 'token.revoked', actor: 'system' },
      { action: 'token.created', actor: 'system' },
    ]);
  });

  it('H3, A15: a token that approves is bound to an operator, with that operator’s role', async () => {
    const made = await run(
      [
        'token',
        'create',
        'bob-approves',
        '--scopes',
        'read, approve',
        '--operator',
        '@bob:test',
        '--json',
      ],
      { NOMOS_OPERATORS: OPERATORS },
    );
    expect(made.code).toBe(0);
    const record = JSON.parse(made.stdout) as { token: string };
    expect(record).toMatchObject({
      name: 'bob-approves',
      scopes: ['read', 'approve'],
      operator: '@bob:test',
    });
    const task = await world.core.task('x');
    const outcome = await world.core.request(task, 'host:a', 'systemctl restart nginx');
    if (outcome.kind !== 'waiting') throw new Error('it did not wait');
    const answer = await world.post(
      `/api/v1/approvals/${outcome.approvalId}/decision`,
      record.token,
      {
        decision: 'approve',
      },
    );
    expect(answer.status).toBe(200);
    expect(
      await world.core.database.read.approval.findUnique({ where: { id: outcome.approvalId } }),
    ).toMatchObject({
      decidedBy: '@bob:test',
      decidedMeans: 'api',
      decidedEvent: 'token:bob-approves',
    });
  });

  it.each([
    [['token', 'create', 'x', '--scopes', 'approve'], 'needs the operator'],
    [['token', 'create', 'x', '--scopes', 'operate'], 'needs the operator'],
    [
      ['token', 'create', 'x', '--scopes', 'approve', '--operator', '@mallory:test'],
      '@mallory:test is not among the operators; allowed: @ann:test, @bob:test, @eve:test',
    ],
    [
      ['token', 'create', 'x', '--scopes', 'root'],
      'unknown scope "root"; allowed: read, operate, approve, signals',
    ],
    [['token', 'create', 'x', '--scopes', ''], 'allowed: read, operate, approve, signals'],
    [['token', 'create', 'a b'], '"a b" is no name for a token'],
    [['token', 'create', '../x'], 'is no name for a token'],
    [['token', 'create', 'x'.repeat(65)], 'is no name for a token'],
    [['token', 'revoke', 'nobody'], 'No token "nobody"'],
  ])('H3: %j fails with words that say what is allowed', async (args, words) => {
    const { code, stdout, stderr } = await here(args, { NOMOS_OPERATORS: OPERATORS });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(words);
    expect(stderr).not.toMatch(/\n\s+at /);
  });

  it.each([
    [['token']],
    [['token', 'delete', 'x']],
    [['token', 'create']],
    [['token', 'revoke']],
    [['token', 'create', 'x', 'y']],
    [['token', 'list', 'x']],
    [['token', 'create', 'x', '--scope', 'read']],
    [['audit']],
    [['audit', 'repair']],
    [['doctor', '--fix']],
    [['nothing']],
  ])('%j is called wrongly: exit 2 and how it is called', async (args) => {
    const { code, stdout, stderr } = await here(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/nomos/);
    expect(stderr).not.toMatch(/\n\s+at /);
  });

  it('H3: of two tokens made at once under one name there is one', async () => {
    const made = await Promise.allSettled(
      Array.from({ length: 6 }, () =>
        createToken(world.core.database, { name: 'twice', scopes: ['read'] }),
      ),
    );
    expect(made.filter((one) => one.status === 'fulfilled')).toHaveLength(1);
  });

  it('a database that is away, or empty, is told in words, with the way out', async () => {
    const away = await nomos(['token', 'list'], {
      DATABASE_URL: 'postgres://nomos:hunter2@127.0.0.1:1/nomos',
    });
    expect(away).toMatchObject({ code: 1, stdout: '' });
    expect(away.stderr).toContain('Cannot reach PostgreSQL at 127.0.0.1:1/nomos');
    expect(away.stderr).not.toContain('hunter2');
    const empty = await nomos(['token', 'list'], { DATABASE_URL: await emptyDatabase() });
    expect(empty).toMatchObject({ code: 1, stdout: '' });
    expect(empty.stderr).toContain('nomos migrate');
    const none = await nomos(['token', 'list'], {});
    expect(none).toMatchObject({ code: 1, stdout: '' });
    expect(none.stderr).toContain('DATABASE_URL is not set');
  });
});

describe('nomos audit verify', () => {
  it('R15: exits with 0 for a whole log and with 1 for one that was changed, cut out of or added to', async () => {
    await using own = await ApiWorld.open();
    const { database } = own.core;
    const verify = (...args: string[]): Promise<CliResult> =>
      nomos(['audit', 'verify', ...args], { DATABASE_URL: database.url });
    for (const text of ['one', 'two', 'three']) await own.core.task(text);
    const entries = await database.read.auditEntry.findMany({ orderBy: { id: 'asc' } });
    expect(await verify()).toMatchObject({
      code: 0,
      stdout: `The audit log is whole: ${entries.length} entries.\n`,
    });
    const [, second, third] = entries;
    if (second === undefined || third === undefined) throw new Error('too few entries');

    const owner = await Database.connect(database.url, { connections: 1 });
    try {
      await owner.read.$executeRaw`ALTER TABLE audit_log DISABLE TRIGGER audit_append_only`;
      await owner.read
        .$executeRaw`UPDATE audit_log SET data = data || '{"via":"nobody"}' WHERE id = ${second.id}`;
      const changed = await verify();
      expect(changed.code).toBe(1);
      expect(changed.stdout).toContain(`BROKEN at entry ${second.id}: its content`);
      await owner.read.$executeRaw`DELETE FROM audit_log WHERE id = ${second.id}`;
      const cut = await verify('--json');
      expect(cut.code).toBe(1);
      expect(JSON.parse(cut.stdout)).toEqual({
        ok: false,
        entries: entries.length - 1,
        broken: { id: Number(third.id), why: 'chain' },
      });
    } finally {
      await owner.close();
    }
  });

  it('R15: the log refuses to be changed or shortened by the program’s own account', async () => {
    await world.core.task('x');
    const { read } = world.core.database;
    await expect(read.$executeRaw`UPDATE audit_log SET actor = 'x'`).rejects.toThrow('append-only');
    await expect(read.$executeRaw`DELETE FROM audit_log`).rejects.toThrow('append-only');
  });
});

describe('nomos', () => {
  it('says what there is, and its version', async () => {
    const help = await run(['--help']);
    expect(help.code).toBe(0);
    for (const name of [
      'start',
      'doctor',
      'migrate',
      'seed',
      'token',
      'audit',
      'classify',
      'intent',
      'version',
    ]) {
      expect(help.stdout).toMatch(new RegExp(`^  ${name} +\\w`, 'm'));
      if (name === 'version') continue;
      expect(await here([name, '--help'])).toMatchObject({
        code: 0,
        stdout: expect.stringContaining(`nomos ${name}`),
      });
    }
    expect(await run(['version'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+/),
    });
    expect((await run([])).code).toBe(2);
  });
});
