import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startChatPage } from '../../demo/chat/index.ts';
import type { ChatPage } from '../../demo/chat/index.ts';
import type { MatrixAccount } from '../../demo/services/matrix-accounts.ts';
import { findChromium, launchChromium } from '../../scripts/lib/chromium.ts';
import { testHomeserver } from '../support/services.ts';

const home = mkdtempSync(join(tmpdir(), 'nomos-chat-'));
const executablePath = findChromium();

let homeserverUrl: string;
let operator: MatrixAccount;
let bot: MatrixAccount;
let room: string;
let page: ChatPage;

beforeAll(async () => {
  const homeserver = await testHomeserver();
  homeserverUrl = homeserver.url;
  [operator, bot] = await Promise.all([
    homeserver.newUser('operator'),
    homeserver.newUser('nomos'),
  ]);
  const made = await matrix(bot, 'POST', '/createRoom', {
    name: 'Lobby',
    invite: [operator.userId],
  });
  room = String(made['room_id']);
  await matrix(operator, 'POST', `/join/${encodeURIComponent(room)}`, {});
  page = await startChatPage({ home, homeserverUrl, session: operator, lobby: () => room });
});

afterAll(async () => {
  await page.stop();
  rmSync(home, { recursive: true, force: true });
});

async function matrix(
  who: MatrixAccount,
  method: string,
  path: string,
  body?: object,
): Promise<Record<string, unknown>> {
  const response = await fetch(`${homeserverUrl}/_matrix/client/v3${path}`, {
    method,
    headers: { authorization: `Bearer ${who.accessToken}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const answer = (await response.json()) as Record<string, unknown>;
  if (!response.ok) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`);
  return answer;
}

let count = 0;
async function say(type: string, content: object): Promise<string> {
  const path = `/rooms/${encodeURIComponent(room)}/send/${type}/t${++count}`;
  return String((await matrix(bot, 'PUT', path, content))['event_id']);
}

/** A request with any Host header, which `fetch` would not send. */
function ask(
  path: string,
  headers: Record<string, string>,
  method = 'GET',
): Promise<{ status: number; headers: NodeJS.Dict<string | string[]>; body: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(
      { host: '127.0.0.1', port: page.port, path, method, headers },
      (answer) => {
        let body = '';
        answer.on('data', (data) => (body += String(data)));
        answer.on('end', () =>
          resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body }),
        );
      },
    );
    sent.once('error', reject);
    sent.end();
  });
}

describe('Z1: who gets the session of the operator', () => {
  const cookie = (): string =>
    `nomos_chat_${page.port}=${new URL(page.url).searchParams.get('key')}`;

  test.each([
    ['without the key', () => ({})],
    ['with another key', () => ({ cookie: `nomos_chat_${page.port}=0123` })],
  ])('nobody %s', async (_, headers: () => Record<string, string>) => {
    const answer = await ask('/session', headers(), 'POST');
    expect(answer.status).toBe(403);
    expect(answer.body).not.toContain('accessToken');
  });

  test.each([
    ['under another name (DNS rebinding)', { host: 'evil.example' }, 421],
    ['from another origin', { origin: 'http://evil.example' }, 403],
    ['from another site', { 'sec-fetch-site': 'cross-site' }, 403],
  ])('nobody %s, even with the cookie', async (_, headers, status) => {
    const answer = await ask('/session', { ...headers, cookie: cookie() }, 'POST');
    expect(answer.status).toBe(status);
    expect(answer.body).not.toContain('accessToken');
    expect(answer.headers).not.toHaveProperty('access-control-allow-origin');
  });

  test('a browser that opened the printed address, as a device of its own', async () => {
    const opened = await ask(`/?key=${new URL(page.url).searchParams.get('key')}`, {});
    expect(opened.status).toBe(200);
    expect(String(opened.headers['set-cookie'])).toMatch(/HttpOnly; SameSite=Strict/);
    const answer = await ask('/session', { cookie: cookie() }, 'POST');
    const session = JSON.parse(answer.body) as MatrixAccount;
    expect(session.userId).toBe(operator.userId);
    expect(session.deviceId).not.toBe(operator.deviceId);
    expect(answer.body).not.toContain(operator.password);
  });

  test.each([
    ['two slashes', (other: string) => `//${other}/_matrix/x`],
    ['backslashes', (other: string) => `/\\${other}/_matrix/x`],
    ['a whole address', (other: string) => `http://${other}/_matrix/x`],
  ])('no other host is asked in this page’s name, by %s', async (_, path) => {
    let asked = 0;
    const other = createServer((_request, response) => {
      asked++;
      response.end('<script>steal()</script>');
    });
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as AddressInfo;
    const answer = await ask(path(`127.0.0.1:${port}`), { cookie: cookie() });
    other.close();
    expect(answer.status).toBe(400);
    expect(answer.body).not.toContain('steal');
    expect(asked).toBe(0);
  });

  test('no file but those of the page, and of the homeserver only what clients use', async () => {
    for (const path of [
      '/../chat.json',
      '/%2e%2e/chat.json',
      '/built-from',
      '/_synapse/admin/v1/register',
    ]) {
      expect((await ask(path, { cookie: cookie() })).status, path).toBe(404);
    }
    expect((await ask('/_matrix/client/versions', {})).status).toBe(200);
  });
});

describe.skipIf(executablePath === undefined)(
  'C17: the chat page in a browser (skipped without Chromium)',
  () => {
    let browser: Browser;
    let tab: Page;

    beforeAll(async () => {
      browser = await launchChromium(executablePath ?? '');
      tab = await browser.newPage();
    });

    afterAll(() => browser.close());

    test('it opens on the lobby, signed in; what is typed arrives', async () => {
      await say('m.room.message', { msgtype: 'm.text', body: 'Ask me something' });
      await tab.goto(page.url);
      await tab.getByText('Ask me something').waitFor();
      expect(tab.url()).not.toContain('key=');
      await tab.locator('textarea').fill('check the disks');
      await tab.keyboard.press('Enter');
      await expect
        .poll(async () => {
          const path = `/rooms/${encodeURIComponent(room)}/messages?dir=b&limit=5`;
          return JSON.stringify(await matrix(bot, 'GET', path));
        })
        .toContain('check the disks');
    });

    test('an edit takes the place of the message; it does not follow it', async () => {
      const id = await say('m.room.message', { msgtype: 'm.text', body: 'running for 1 s' });
      await tab.getByText('running for 1 s').waitFor();
      for (const body of ['running for 2 s', 'completed, exit 0']) {
        await say('m.room.message', {
          ...{ msgtype: 'm.text', body: `* ${body}` },
          'm.new_content': { msgtype: 'm.text', body },
          'm.relates_to': { rel_type: 'm.replace', event_id: id },
        });
      }
      await tab.getByText('completed, exit 0').waitFor();
      expect(await tab.getByText('running for').count()).toBe(0);
      expect(await tab.getByText('* completed').count()).toBe(0);
      await tab.reload();
      await tab.getByText('completed, exit 0').waitFor();
      expect(await tab.getByText('running for').count()).toBe(0);
    });

    test('an edit that somebody else sends for it changes nothing, nor hides the sender’s own', async () => {
      const id = await say('m.room.message', { msgtype: 'm.text', body: 'waits for a decision' });
      await tab.getByText('waits for a decision').waitFor();
      const edit = (body: string): object => ({
        ...{ msgtype: 'm.text', body: `* ${body}` },
        'm.new_content': { msgtype: 'm.text', body },
        'm.relates_to': { rel_type: 'm.replace', event_id: id },
      });
      await say('m.room.message', edit('was approved'));
      await tab.getByText('was approved').waitFor();
      const other = `/rooms/${encodeURIComponent(room)}/send/m.room.message/another-one`;
      await matrix(operator, 'PUT', other, edit('was denied'));
      // What comes after it in the room is here, so it is here as well.
      await say('m.room.message', { msgtype: 'm.text', body: 'the next one' });
      await tab.getByText('the next one').waitFor();
      expect(await tab.getByText('was approved').count()).toBe(1);
      expect(await tab.getByText('was denied').count()).toBe(0);
    });

    test('a click on ✅ is the operator’s reaction, a second one takes it back', async () => {
      const id = await say('m.room.message', { msgtype: 'm.text', body: 'Restart nginx?' });
      const relation = { rel_type: 'm.annotation', event_id: id, key: '✅' };
      await say('m.reaction', { 'm.relates_to': relation });
      const taps = async (): Promise<string[]> => {
        const path = `/_matrix/client/v1/rooms/${encodeURIComponent(room)}/relations/${encodeURIComponent(id)}/m.annotation`;
        const response = await fetch(homeserverUrl + path, {
          headers: { authorization: `Bearer ${bot.accessToken}` },
        });
        const { chunk } = (await response.json()) as { chunk: { sender: string }[] };
        return chunk.map((event) => event.sender);
      };
      const chip = tab.locator('.Timeline_messageReactions button', { hasText: '✅' });
      await chip.click();
      await expect.poll(taps).toContain(operator.userId);
      await chip.click();
      await expect.poll(taps).not.toContain(operator.userId);
    });
  },
);
