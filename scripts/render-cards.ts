/**
 * Draws the main cards as a phone shows them: `node scripts/render-cards.ts [folder] [--all]` (default `docs/images`)
 * writes `cards.png` there. Each card stands twice: as its HTML, which holds only
 * the tags that Element X shows, and as its plain text, cut to what a lock screen has room for. Needs Chromium
 * (`CHROMIUM`, default `chromium` on the PATH) and a font with emoji.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';
import { cardsPage, PAGE_WIDTH } from './lib/cards-page.ts';
import { noteSource } from './lib/picture-sources.ts';

const args = process.argv.slice(2);
const all = args.includes('--all');
const folder = args.find((arg) => !arg.startsWith('--')) ?? 'docs/images';
const page = cardsPage(all);
const work = mkdtempSync(join(tmpdir(), 'nomos-cards-'));
try {
  const html = join(work, 'cards.html');
  writeFileSync(html, page);
  const executable =
    process.env['CHROMIUM'] ?? execFileSync('which', ['chromium'], { encoding: 'utf8' }).trim();
  const browser = await chromium.launch({ executablePath: executable, args: ['--no-sandbox'] });
  const tab = await browser.newPage({
    viewport: { width: PAGE_WIDTH, height: 800 },
  });
  await tab.goto(pathToFileURL(html).href);
  await tab.screenshot({ path: join(folder, 'cards.png'), fullPage: true });
  await browser.close();
  if (!all) noteSource(folder, 'cards.png', page);
} finally {
  rmSync(work, { recursive: true });
}
