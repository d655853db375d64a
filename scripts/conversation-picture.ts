/**
 * Photographs a real conversation: `node scripts/conversation-picture.ts [folder]` (default `docs/images`) plays the
 * demonstration over the embedded services in a home of its own, opens the chat page in Chromium and writes
 * `conversation.png` (a task from the request to the digest, beside the list of rooms), `conversation-phone.png` (a
 * deletion that waits for "I confirm", on a phone) and `lobby-phone.png`. Needs Chromium (`CHROMIUM`, or one on the PATH) and a font with emoji.
 */
import '../demo/quiet.ts';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { readConfig } from '../core/config/config.ts';
import { startProgram } from '../core/program.ts';
import { startDefaults } from '../demo/defaults.ts';
import { lobbyRoom } from '../demo/lobby.ts';
import { DemoOperator } from '../demo/operator.ts';
import { deletion, restart } from '../demo/scenes.ts';
import { removeDatabaseHome } from '../demo/services/postgres-home.ts';
import { findChromium, launchChromium } from './lib/chromium.ts';

const DESK = { width: 1200, height: 1850 };
const PHONE = { width: 390, height: 844 };
const LOAD_MS = 60_000;

const say = (text: string): void => void process.stderr.write(`${text}\n`);

async function main(folder: string): Promise<void> {
  const executable = findChromium();
  if (executable === undefined)
    throw new Error('There is no Chromium: install it, or set CHROMIUM.');
  const home = mkdtempSync(join(tmpdir(), 'nomos-picture-'));
  const stack = new AsyncDisposableStack();
  stack.defer(() => rmSync(home, { recursive: true, force: true }));
  stack.defer(() => removeDatabaseHome(join(home, 'services')));
  try {
    const { PATH, HOME, CI } = process.env;
    const defaults = await startDefaults(
      { PATH, HOME, CI },
      { home, packages: process.env['NOMOS_HOME'] || '.nomos', pace: 0.5, onProgress: say },
    );
    stack.defer(() => defaults.stop());
    const config = readConfig({ ...defaults.environment, NOMOS_API_LISTEN: '127.0.0.1:0' });
    const program = await startProgram(config, new Set(['bot', 'jobs', 'api']));
    stack.defer(() => program.stop());
    const lobby = await lobbyRoom(config.databaseUrl, program.failed);
    const { homeserver } = defaults;
    const chat = await defaults.serveChat(() => lobby);
    if (homeserver === undefined || chat === undefined) throw new Error('No embedded homeserver.');
    const operator = new DemoOperator({
      url: homeserver.url,
      accessToken: homeserver.operator.accessToken,
    });
    operator.start();
    stack.defer(() => operator.stop());
    await operator.waitFor('the lobby', (event) => event.roomId === lobby);
    const browser = await launchChromium(executable);
    stack.defer(() => browser.close());
    const page = await open(browser, chat.url);
    const file = (name: string): string => join(folder, name);
    const restarted = await restart(operator, lobby);
    await photograph(page, restarted, DESK, file('conversation.png'));
    await deletion(operator, lobby, async (room) =>
      photograph(page, room, PHONE, file('conversation-phone.png')),
    );
    await photograph(page, lobby, PHONE, file('lobby-phone.png'));
  } finally {
    await stack.disposeAsync();
  }
}

async function open(browser: Browser, url: string): Promise<Page> {
  const page = await browser.newPage({ viewport: DESK, colorScheme: 'light' });
  page.on('pageerror', (error) => say(`The page says: ${error.message}`));
  await page.goto(url);
  await page.locator('.LeftPanel').waitFor({ timeout: LOAD_MS });
  return page;
}

/** Opens a room and takes the picture once nothing in it has moved for a second. */
async function photograph(
  page: Page,
  roomId: string,
  viewport: { width: number; height: number },
  file: string,
): Promise<void> {
  await page.setViewportSize(viewport);
  await page.evaluate((id) => {
    const { location: page } = globalThis as unknown as { location: { hash: string } };
    const place = /^#\/session\/[^/]+/.exec(page.hash)?.[0] ?? '';
    page.hash = `${place}/room/${id}`;
  }, roomId);
  await page.locator('.Timeline_message').last().waitFor({ timeout: LOAD_MS });
  let before = '';
  for (let still = 0; still < 4;) {
    await page.waitForTimeout(250);
    const now = await page.locator('.Timeline').innerText();
    still = now === before ? still + 1 : 0;
    before = now;
  }
  await page.screenshot({ path: file });
  say(`Wrote ${file}`);
}

await main(resolve(process.argv[2] ?? 'docs/images'));
