import { openApi } from '../openapi.ts';
import { rawRoute, type Route } from '../route.ts';

/** The API's own description (H4), of the routes that `all` gives. */
export function openApiRoute(all: () => readonly Route[]): Route {
  let text: string | undefined;
  return rawRoute({
    method: 'get',
    path: '/api/v1/openapi.json',
    tag: 'system',
    summary: 'This API as an OpenAPI 3.1 document',
    scopes: ['read'],
    media: 'application/json',
    async serve(ctx, { deps }) {
      text ??= JSON.stringify(openApi(all(), deps.version));
      ctx.type = 'application/json; charset=utf-8';
      ctx.body = text;
    },
  });
}
