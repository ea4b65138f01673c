import { renderPage } from './page.ts';
import type { Route } from './route.ts';

export const homeRoute: Route = {
  pattern: /^\/$/u,
  answer: (exchange) => renderPage(exchange, 'home', { title: 'Tidemark' }),
};
