import { scaleBand, scaleLinear } from 'd3-scale';
import type { TrendDay } from '../../core/executions/trend.ts';
import { cutLabel } from '../../core/text/label.ts';
import { visible } from '../../core/text/visible.ts';
import { escapeHtml } from '../cards/rich.ts';
import { FONT, INK, PAPER } from './graph-dot.ts';

/** In units of a phone's screen: what is 13 here is read as 13 there. */
const WIDTH = 390;
const HEIGHT = 300;
const PLOT = { left: 40, right: 378, top: 78, bottom: 262 } as const;
const TICKS = 4;
/** Told apart by brightness too, for those who do not see red and green as two colours. */
const GOOD = '#3f8fd2';
const BAD = '#b3261e';
const FAINT = '#d5dae1';
const QUIET = '#5b6675';

/** What a trend shows. */
export interface TrendPicture {
  readonly title: string;
  readonly days: readonly TrendDay[];
}

/** The chart as SVG: a bar per day, failures on top of what went well. */
export function trendSvg({ title, days }: TrendPicture): string {
  const most = Math.max(1, ...days.map((day) => day.succeeded + day.failed));
  const y = scaleLinear().domain([0, most]).nice(TICKS).range([PLOT.bottom, PLOT.top]);
  const x = scaleBand()
    .domain(days.map(({ day }) => day))
    .range([PLOT.left, PLOT.right])
    .paddingInner(0.25);
  const width = x.bandwidth().toFixed(2);
  const bar = (at: number, from: number, to: number, fill: string): string =>
    to > from
      ? `<rect x="${at.toFixed(2)}" y="${y(to).toFixed(2)}" width="${width}" height="${(y(from) - y(to)).toFixed(2)}" fill="${fill}"/>`
      : '';
  const bars = days.map(({ day, succeeded, failed }) => {
    const at = x(day) ?? PLOT.left;
    return bar(at, 0, succeeded, GOOD) + bar(at, succeeded, succeeded + failed, BAD);
  });
  const grid = y
    .ticks(TICKS)
    .filter((value) => Number.isInteger(value))
    .map((value) => {
      const at = y(value).toFixed(2);
      return `<line x1="${PLOT.left}" x2="${PLOT.right}" y1="${at}" y2="${at}" stroke="${FAINT}"/>${words(String(value), PLOT.left - 6, y(value) + 4.5, { anchor: 'end', fill: QUIET })}`;
    });
  const sum = (of: (day: TrendDay) => number): number =>
    days.reduce((total, day) => total + of(day), 0);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${HEIGHT}" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="${FONT}" font-size="13">`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="${PAPER}"/>`,
    words(cutLabel(title, 40), 14, 26, { size: 16 }),
    `<rect x="14" y="42" width="12" height="12" fill="${GOOD}"/>`,
    words(`${sum((day) => day.succeeded)} succeeded`, 32, 53),
    `<rect x="160" y="42" width="12" height="12" fill="${BAD}"/>`,
    words(`${sum((day) => day.failed)} failed`, 178, 53),
    ...grid,
    ...bars,
    `<line x1="${PLOT.left}" x2="${PLOT.right}" y1="${PLOT.bottom}" y2="${PLOT.bottom}" stroke="${QUIET}"/>`,
    ...dateLabels(days, x),
    '</svg>',
  ].join('\n');
}

function* dateLabels(
  days: readonly TrendDay[],
  x: (day: string) => number | undefined,
): Generator<string> {
  const last = days.length - 1;
  const shown = new Set([0, Math.round(last / 3), Math.round((2 * last) / 3), last]);
  for (const [index, { day }] of days.entries()) {
    if (!shown.has(index)) continue;
    const anchor = index === last ? 'end' : index === 0 ? 'start' : 'middle';
    const at = index === last ? PLOT.right : (x(day) ?? PLOT.left);
    yield words(shortDate(day), at, PLOT.bottom + 20, { anchor, fill: QUIET });
  }
}

/** `2026-11-29` as `29 Nov`. */
export function shortDate(day: string): string {
  return new Date(`${day}T00:00:00Z`).toLocaleDateString('en-GB', {
    timeZone: 'UTC',
    day: 'numeric',
    month: 'short',
  });
}

function words(
  text: string,
  x: number,
  y: number,
  style: { anchor?: 'start' | 'middle' | 'end'; fill?: string; size?: number } = {},
): string {
  const size = style.size === undefined ? '' : ` font-size="${style.size}"`;
  return `<text x="${x.toFixed(2)}" y="${y.toFixed(2)}" text-anchor="${style.anchor ?? 'start'}" fill="${style.fill ?? INK}"${size}>${escapeHtml(visible(text, { spaces: 'plain' }))}</text>`;
}
