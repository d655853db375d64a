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
import { examples, type Example } from '../bot/cards/examples.ts';
import { escapeHtml } from '../bot/cards/rich.ts';

const WIDTH = 390;
const COLUMNS = 3;
const GAP = 16;
const LOCK_SCREEN_CHARACTERS = 180;

const STYLE = `
  body { margin: 0; padding: ${GAP}px; columns: ${COLUMNS}; column-gap: ${GAP}px; background: #e9ecf1; font: 15px/1.4 "Noto Sans", "DejaVu Sans", sans-serif; color: #1b1d22; }
  section { break-inside: avoid; width: ${WIDTH}px; }
  h2 { font-size: 12px; color: #5b6270; margin: 18px 0 4px; text-transform: uppercase; letter-spacing: .04em; }
  .bubble { background: #fff; border-radius: 12px; padding: 8px 12px; overflow-wrap: anywhere; }
  .bubble p { margin: 4px 0; } .bubble ul, .bubble ol { margin: 4px 0; padding-left: 20px; }
  .bubble pre { background: #f1f3f6; border-radius: 6px; padding: 6px 8px; margin: 6px 0; overflow-x: auto; font-size: 12px; }
  .bubble code { font-family: "DejaVu Sans Mono", monospace; font-size: .87em; background: #f1f3f6; border-radius: 3px; }
  .bubble blockquote { margin: 4px 0; padding-left: 10px; border-left: 3px solid #c3cad6; color: #444; }
  .lock { background: #2b303a; color: #f2f4f8; border-radius: 12px; padding: 7px 12px; margin-top: 5px; font-size: 12px; line-height: 1.35; white-space: pre-line; overflow-wrap: anywhere; }
`;

function drawn({ name, card }: Example): string {
  const cut =
    card.body.length > LOCK_SCREEN_CHARACTERS
      ? `${card.body.slice(0, LOCK_SCREEN_CHARACTERS)}…`
      : card.body;
  const bell = card.mentions.length > 0 ? '🔔 ' : '';
  return `<section><h2>${escapeHtml(name)}</h2><div class="bubble">${card.formatted_body}</div><div class="lock">${bell}${escapeHtml(cut)}</div></section>`;
}

// The handful that stands in the docs; with --all every example is drawn.
const MAIN = [
  'Task card (pinned)',
  'Progress of a pass',
  'Waits for a tap',
  'Running',
  'Failed',
  'Waits for “I confirm”',
  'Question',
  'Answer',
  'Digest',
];

const args = process.argv.slice(2);
const shown = examples().filter(({ name }) => args.includes('--all') || MAIN.includes(name));
const folder = args.find((arg) => !arg.startsWith('--')) ?? 'docs/images';
const page = `<!doctype html><meta charset="utf-8"><title>Nomos cards</title><style>${STYLE}</style>${shown.map(drawn).join('')}`;
const work = mkdtempSync(join(tmpdir(), 'nomos-cards-'));
try {
  const html = join(work, 'cards.html');
  writeFileSync(html, page);
  const executable =
    process.env['CHROMIUM'] ?? execFileSync('which', ['chromium'], { encoding: 'utf8' }).trim();
  const browser = await chromium.launch({ executablePath: executable, args: ['--no-sandbox'] });
  const tab = await browser.newPage({
    viewport: { width: COLUMNS * (WIDTH + GAP) + GAP, height: 800 },
  });
  await tab.goto(pathToFileURL(html).href);
  await tab.screenshot({ path: join(folder, 'cards.png'), fullPage: true });
  await browser.close();
} finally {
  rmSync(work, { recursive: true });
}
