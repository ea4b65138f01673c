import { readPublishedAt } from './page.ts';
import type { PageRoute } from './route.ts';

/** `/state.json`, which open pages ask for: when the data was published, and how many queries run and wait. */
export const stateRoute: PageRoute = {
  pattern: /^\/state\.json$/u,
  async answer(exchange) {
    const { running, waiting } = exchange.pool.load;
    exchange.response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' });
    exchange.response.end(`${JSON.stringify({ publishedAt: await readPublishedAt(exchange), running, waiting })}\n`);
  },
};
