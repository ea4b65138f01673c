import type { Ask } from '../types.ts';
import { type Json, Refusal } from './json-api.ts';

const DEFAULT_SIZE = 20;
/** HCP Terraform's bound (live-services.md A2); a greater wish is cut to it. */
const MAX_SIZE = 100;

export interface Page {
  readonly number: number;
  readonly size: number;
}

function positive(ask: Ask, parameter: string, fallback: number): number {
  const text = ask.query.get(parameter);
  if (text === null) return fallback;
  const value = Number(text);
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new Refusal(400, `${parameter} must be a positive whole number`, { parameter });
}

export const pageOf = (ask: Ask): Page => ({
  number: positive(ask, 'page[number]', 1),
  size: Math.min(MAX_SIZE, positive(ask, 'page[size]', DEFAULT_SIZE)),
});

export const itemsOn = <T>(list: readonly T[], { number, size }: Page): T[] =>
  list.slice((number - 1) * size, number * size);

/** `links` and `meta` of a list; `extra` goes into `meta.pagination`. */
export function envelope(ask: Ask, page: Page, total: number, extra: Json = {}): { links: Json; meta: Json } {
  const last = Math.max(1, Math.ceil(total / page.size));
  const prev = page.number > 1 ? page.number - 1 : null;
  const next = page.number < last ? page.number + 1 : null;
  const link = (number: number): string => {
    const query = new URLSearchParams(ask.query);
    query.set('page[number]', String(number));
    query.set('page[size]', String(page.size));
    return `${ask.origin}${ask.path}?${query}`;
  };
  return {
    links: {
      self: link(page.number),
      first: link(1),
      prev: prev === null ? null : link(prev),
      next: next === null ? null : link(next),
      last: link(last),
    },
    meta: {
      pagination: {
        'current-page': page.number,
        ...extra,
        'prev-page': prev,
        'next-page': next,
        'total-pages': last,
        'total-count': total,
      },
    },
  };
}
