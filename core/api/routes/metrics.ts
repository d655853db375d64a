import { rawRoute, type Route } from '../route.ts';

/** What Prometheus scrapes (H5). Behind a token like everything else (H3). */
export const metricsRoute: Route = rawRoute({
  method: 'get',
  path: '/metrics',
  tag: 'system',
  summary: 'Figures for Prometheus',
  notes:
    'In the text format. What begins with `nomos_` is of the whole installation, however many processes it has, but for `nomos_http_…` and `nomos_event_streams`, which like all else are of the process that answers.',
  scopes: ['read'],
  media: 'text/plain',
  async serve(ctx, { deps }) {
    const { text, contentType } = await deps.metrics.read();
    ctx.set('Content-Type', contentType);
    ctx.body = text;
  },
});
