/** Made-up state for the pictures of the operator guide that `!graph` and `!trend` answer with. */
import type { GraphPicture, PictureEdge, PictureNode, Tone } from '../../bot/pictures/state.ts';
import type { TrendPicture } from '../../bot/pictures/trend-svg.ts';

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

/** What `graph.png` shows. */
export const GRAPH: GraphPicture = {
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
const days = Array.from({ length: 30 }, (_value, index) => ({
  day: new Date(Date.UTC(2026, 9, 31 + index)).toISOString().slice(0, 10),
  succeeded: (index * 7) % 13,
  failed: index % 9 === 4 ? 2 : 0,
}));

/** What `trend.png` shows. */
export const TREND: TrendPicture = { title: 'Commands, last 30 days', days };
