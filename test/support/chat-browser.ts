/** The chat page in a real browser, as the operator has it: pages, rooms, cards, chips and replies. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { startChatPage } from '../../demo/chat/index.ts';
import type { MatrixAccount } from '../../demo/services/matrix-accounts.ts';
import { launchChromium } from '../../scripts/lib/chromium.ts';

const LOAD_MS = 60_000;
const WAIT_MS = 75_000;

/** See the head of this file. */
export class ChatBrowser implements AsyncDisposable {
  readonly page: Page;
  /** What went wrong in the page: errors that nobody caught. */
  readonly errors: string[] = [];
  readonly #stack: AsyncDisposableStack;

  private constructor(page: Page, stack: AsyncDisposableStack) {
    this.page = page;
    this.#stack = stack;
    page.on('pageerror', (error) => this.errors.push(error.message));
  }

  /** Builds and serves the chat page for this account and opens it with the lobby in view. */
  static async open(args: {
    executablePath: string;
    homeserverUrl: string;
    account: MatrixAccount;
    lobby: string;
    viewport?: { width: number; height: number };
  }): Promise<ChatBrowser> {
    const stack = new AsyncDisposableStack();
    try {
      const home = mkdtempSync(join(tmpdir(), 'nomos-chat-'));
      stack.defer(() => rmSync(home, { recursive: true, force: true }));
      const served = await startChatPage({
        home,
        homeserverUrl: args.homeserverUrl,
        session: args.account,
        lobby: () => args.lobby,
      });
      stack.defer(() => served.stop());
      const browser = await launchChromium(args.executablePath);
      stack.defer(() => browser.close());
      const page = await browser.newPage({
        viewport: args.viewport ?? { width: 1200, height: 1000 },
      });
      const chat = new ChatBrowser(page, stack);
      await page.goto(served.url);
      await page.locator('.MessageComposer_input textarea').waitFor({ timeout: LOAD_MS });
      return chat;
    } catch (error) {
      await stack.disposeAsync();
      throw error;
    }
  }

  /** Writes into the room in view and sends it with Enter. */
  async say(text: string): Promise<void> {
    const composer = this.page.locator('.MessageComposer_input textarea');
    await composer.fill(text);
    await composer.press('Enter');
  }

  /** Opens the room whose name in the list contains this text. */
  async openRoom(name: string): Promise<void> {
    await this.page.locator('.RoomList li', { hasText: name }).first().click({ timeout: WAIT_MS });
    await this.page.locator('.RoomHeader', { hasText: name }).waitFor({ timeout: WAIT_MS });
  }

  /** The newest message that contains this text, once it is there. Quotes of it in other messages do not count. */
  async message(text: string): Promise<Locator> {
    const found = this.page
      .locator('.Timeline_message:not(.ReplyPreviewView *)')
      .filter({ has: this.page.locator('.Timeline_messageBody', { hasText: text }) })
      .last();
    await found.waitFor({ timeout: WAIT_MS });
    return found;
  }

  /** Taps the chip of a reaction that stands on a message already. */
  async tapChip(message: Locator, key: string): Promise<void> {
    await message
      .locator('.Timeline_messageReactions button', { hasText: key })
      .click({ timeout: WAIT_MS });
  }

  /** Answers a message through its menu. */
  async reply(message: Locator, text: string): Promise<void> {
    await message.hover();
    await message.locator('.Timeline_messageOptions').click();
    await this.page.locator('.menu button', { hasText: 'Reply' }).click({ timeout: WAIT_MS });
    await this.say(text);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}
