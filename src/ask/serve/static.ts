import type { Assets } from './assets.ts';
import { type Exchange, NotFoundError, type PageRoute } from './route.ts';

/** `/assets/NAME`. */
export const assetRoute: PageRoute = {
  pattern: /^\/assets\/([\w.-]+)$/u,
  async answer(exchange) {
    const asset = exchange.assets.get(exchange.name);
    if (!asset) throw new NotFoundError(exchange.url.pathname);
    sendAsset(exchange, asset);
  },
};

type Asset = Assets extends ReadonlyMap<string, infer T> ? T : never;

function sendAsset({ request, response }: Exchange, { type, content, etag }: Asset): void {
  response.setHeader('etag', etag);
  response.setHeader('cache-control', 'no-cache'); // asked for each time, and answered with 304
  if (request.headers['if-none-match'] === etag) {
    response.writeHead(304).end();
    return;
  }
  response.writeHead(200, { 'content-type': type, 'content-length': content.length });
  response.end(content);
}
