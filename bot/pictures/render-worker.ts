import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parentPort } from 'node:worker_threads';
import { Graphviz } from '@hpcc-js/wasm-graphviz';
import { initWasm, Resvg } from '@resvg/resvg-wasm';
import { FONT } from './graph-dot.ts';
import type { RenderAnswer, RenderJob } from './render.ts';

/** The narrowest picture, in the units of a phone's screen: a small one is not blown up to its width. */
const PHONE_WIDTH = 390;
/** How high a picture may be before its text gets too small, in the same units. */
const PHONE_HEIGHT = 560;
/** Pixels for one unit: sharp on a phone, and when a larger graph is zoomed into. */
const SHARPNESS = 2.6;
/** The most pixels of a side, however large the graph is. */
const MAX_PIXELS = 2600;

const file = (name: string): Promise<Buffer> => readFile(fileURLToPath(import.meta.resolve(name)));

const font = file('dejavu-fonts-ttf/ttf/DejaVuSans.ttf');
const rasterizer = file('@resvg/resvg-wasm/index_bg.wasm').then((wasm) => initWasm(wasm));
// The layouts are needed only for graphs.
let graphviz: Promise<Graphviz> | undefined;

async function render(job: RenderJob): Promise<RenderAnswer> {
  const svg = job.kind === 'svg' ? job.svg : await layout(job.dots);
  await rasterizer;
  const image = new Resvg(svg, {
    font: { fontBuffers: [await font], defaultFontFamily: FONT },
    fitTo: { mode: 'width', value: pixelWidth(sizeOf(svg)) },
  });
  const picture = image.render();
  try {
    return {
      id: job.id,
      png: { bytes: picture.asPng(), width: picture.width, height: picture.height },
    };
  } finally {
    picture.free();
    image.free();
  }
}

/** Of several layouts the one that has to shrink least to fit on a phone. */
async function layout(dots: readonly string[]): Promise<string> {
  const engine = await (graphviz ??= Graphviz.load());
  const [best] = dots
    .map((dot) => engine.layout(dot, 'svg', 'dot'))
    .map((svg) => ({ svg, fit: fitOf(sizeOf(svg)) }))
    .toSorted((a, b) => b.fit - a.fit);
  if (best === undefined) throw new RangeError('a graph needs at least one layout');
  return best.svg;
}

interface Size {
  width: number;
  height: number;
}

function fitOf({ width, height }: Size): number {
  return Math.min(PHONE_WIDTH / width, PHONE_HEIGHT / height);
}

function pixelWidth({ width, height }: Size): number {
  const wanted = Math.max(width, PHONE_WIDTH) * SHARPNESS;
  const scale = Math.min(1, MAX_PIXELS / wanted, (MAX_PIXELS * width) / (wanted * height));
  return Math.round(wanted * scale);
}

function sizeOf(svg: string): Size {
  const [, width, height] = /viewBox="[\d.-]+ [\d.-]+ ([\d.]+) ([\d.]+)"/.exec(svg) ?? [];
  return { width: Number(width), height: Number(height) };
}

parentPort?.on('message', (job: RenderJob) => {
  render(job).then(
    (answer) => parentPort?.postMessage(answer),
    (error: unknown) =>
      parentPort?.postMessage({ id: job.id, error: String(error) } satisfies RenderAnswer),
  );
});
