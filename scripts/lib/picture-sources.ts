/**
 * Whether the pictures in the docs show what the code draws today. Pixels differ from machine to machine, so beside the pictures
 * stands a hash of what each was drawn from.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { dotOf } from '../../bot/pictures/graph-dot.ts';
import { trendSvg } from '../../bot/pictures/trend-svg.ts';
import { cardsPage } from './cards-page.ts';
import { GRAPH, TREND } from './example-pictures.ts';

/** The pictures that are made from pure functions: what they are drawn from, and what draws them. */
export const PICTURES = {
  'cards.png': { source: () => cardsPage(), drawnBy: 'scripts/render-cards.ts' },
  'graph.png': {
    source: () => dotOf(GRAPH, 'TB') + dotOf(GRAPH, 'LR'),
    drawnBy: 'scripts/render-pictures.ts',
  },
  'trend.png': { source: () => trendSvg(TREND), drawnBy: 'scripts/render-pictures.ts' },
} as const;

const FILE = 'sources.json';
const shape = z.record(z.string(), z.string());

/** Keeps what a picture in `folder` was drawn from. */
export function noteSource(folder: string, name: string, source: string): void {
  const sources = { ...readSources(folder), [name]: hashOf(source) };
  const sorted = Object.fromEntries(Object.entries(sources).sort(([a], [b]) => a.localeCompare(b)));
  writeFileSync(join(folder, FILE), `${JSON.stringify(sorted, null, 2)}\n`);
}

/** The pictures in `folder` that the code would draw otherwise, each with the script that draws it. */
export function stalePictures(folder: string): Array<{ name: string; drawnBy: string }> {
  const sources = readSources(folder);
  return Object.entries(PICTURES).flatMap(([name, { source, drawnBy }]) =>
    existsSync(join(folder, name)) && sources[name] === hashOf(source()) ? [] : [{ name, drawnBy }],
  );
}

function readSources(folder: string): Record<string, string> {
  const file = join(folder, FILE);
  return existsSync(file) ? shape.parse(JSON.parse(readFileSync(file, 'utf8'))) : {};
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
