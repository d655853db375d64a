/**
 * Draws the pictures of the operator guide: what `!graph` and `!trend` answer with, from made-up state and by the code that
 * draws them in rooms. `node scripts/render-pictures.ts` writes docs/images/graph.png and docs/images/trend.png.
 */
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { PictureRenderer } from '../bot/pictures/render.ts';
import type { GraphPicture, PictureEdge, PictureNode, Tone } from '../bot/pictures/state.ts';

const node = (slug: string, tone: Tone, note?: string): PictureNode => {
  const [type = '', name = ''] = slug.split(':');
  return { slug, type, name, tone, note };
};
const edge = (
  source: string,
  type: string,
  target: string,
  dependent: PictureEdge['dependent'],
): PictureEdge => ({ source, type, target, dependent });

const GRAPH: GraphPicture = {
  title: 'nas-1 and what depends on it',
  leftOut: 0,
  nodes: [
    node('host:nas-1', 'subject'),
    node('storage:tank@nas-1', 'near'),
    node('service:backup@nas-1', 'near'),
    node('volume:tank-backup', 'far'),
    node('volume:tank-media', 'far'),
    node('lxc:nfs-export', 'far'),
    node('service:nfs-server@nfs-export', 'far', 'failed'),
  ],
  edges: [
    edge('host:nas-1', 'provides', 'storage:tank@nas-1', 'target'),
    edge('storage:tank@nas-1', 'stores', 'volume:tank-backup', 'target'),
    edge('storage:tank@nas-1', 'stores', 'volume:tank-media', 'target'),
    edge('service:backup@nas-1', 'mounts', 'volume:tank-backup', 'source'),
    edge('lxc:nfs-export', 'mounts', 'volume:tank-media', 'source'),
    edge('service:nfs-server@nfs-export', 'runs_on', 'lxc:nfs-export', 'source'),
  ],
};
const DAYS = Array.from({ length: 30 }, (_value, index) => ({
  day: new Date(Date.UTC(2026, 9, 31 + index)).toISOString().slice(0, 10),
  succeeded: (index * 7) % 13,
  failed: index % 9 === 4 ? 2 : 0,
}));

const renderer = new PictureRenderer();
const pictures = {
  graph: await renderer.graph(GRAPH),
  trend: await renderer.trend({ title: 'Commands, last 30 days', days: DAYS }),
};
for (const [name, { bytes }] of Object.entries(pictures)) {
  const file = fileURLToPath(new URL(`../docs/images/${name}.png`, import.meta.url));
  await writeFile(file, bytes);
}
await renderer.close();
