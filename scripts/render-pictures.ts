/**
 * Draws the pictures of the operator guide: what `!graph` and `!trend` answer with, from made-up state and by the code that
 * draws them in rooms. `node scripts/render-pictures.ts` writes docs/images/graph.png and docs/images/trend.png.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PictureRenderer } from '../bot/pictures/render.ts';
import { GRAPH, TREND } from './lib/example-pictures.ts';
import { noteSource, PICTURES } from './lib/picture-sources.ts';

const folder = fileURLToPath(new URL('../docs/images', import.meta.url));
const renderer = new PictureRenderer();
const pictures = {
  'graph.png': await renderer.graph(GRAPH),
  'trend.png': await renderer.trend(TREND),
} as const;
for (const name of ['graph.png', 'trend.png'] as const) {
  await writeFile(join(folder, name), pictures[name].bytes);
  noteSource(folder, name, PICTURES[name].source());
}
await renderer.close();
