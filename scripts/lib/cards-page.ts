/** The page of which `docs/images/cards.png` is a photograph: the main cards as a phone shows them. */
import { examples, type Example } from '../../bot/cards/examples.ts';
import { escapeHtml } from '../../bot/cards/rich.ts';

const WIDTH = 390;
const COLUMNS = 3;
const GAP = 16;
/** How wide the page is, in pixels. */
export const PAGE_WIDTH = COLUMNS * (WIDTH + GAP) + GAP;
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

// The handful that stands in the docs.
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

/** The page as HTML, with the cards of the docs or, with `all`, every example. */
export function cardsPage(all = false): string {
  const shown = examples().filter(({ name }) => all || MAIN.includes(name));
  return `<!doctype html><meta charset="utf-8"><title>Nomos cards</title><style>${STYLE}</style>${shown.map(drawn).join('')}`;
}
