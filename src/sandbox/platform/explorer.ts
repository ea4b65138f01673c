import type { Ask, Flavor, Reply, Route } from '../types.ts';
import type { Views } from './fields.ts';
import { csvLines, jsonRow } from './forms.ts';
import { answering, documentReply, notFound } from './json-api.ts';
import { envelope, itemsOn, pageOf } from './paging.ts';
import { type Query, queryOf, type Result, runQuery } from './query.ts';
import type { PlatformState } from './state.ts';

export interface Explorer {
  readonly routes: readonly Route[];
  /** One page of a query's result. */
  page(ask: Ask, query: Query): Reply;
  /** The whole result as CSV; `missing` stands for null, columns in `without` are left out. */
  csv(query: Query, missing: '""' | 'null', without?: readonly string[]): Reply;
}

/** Orders kept for the later pages of a query: enough for several readers at once. */
const KEPT_RESULTS = 8;

export function requireOrganization({ params }: Ask, { organization }: PlatformState): void {
  if (params.organization !== organization) throw notFound();
}

/**
 * Queries over the live state. The first page of a query always computes it anew and later pages of the night read the
 * same list, so that paging through 50,000 sorted rows does not sort them 500 times. Only a query that filters, sorts or
 * groups has a list of its own: plain pages of workspaces see every change at once.
 */
export function createExplorer(state: PlatformState, views: Views, flavor: Flavor): Explorer {
  const kept = new Map<string, Result>();
  const resultFor = (key: string, pageNumber: number, query: Query): Result => {
    const known = pageNumber > 1 ? kept.get(key) : undefined;
    const result = known ?? runQuery(views, query, flavor);
    kept.delete(key);
    kept.set(key, result);
    const [oldest] = kept.keys();
    if (kept.size > KEPT_RESULTS && oldest !== undefined) kept.delete(oldest);
    return result;
  };

  const page = (ask: Ask, query: Query): Reply => {
    const wanted = pageOf(ask);
    const result = resultFor(`${ask.now.getTime()} ${JSON.stringify(query)}`, wanted.number, query);
    const extent = envelope(ask, wanted, result.rows.length, { 'page-size': wanted.size });
    const data = itemsOn(result.rows, wanted).map((row) => jsonRow(result, row, flavor));
    return documentReply(200, { data, ...extent });
  };

  const csv = (query: Query, missing: '""' | 'null', without: readonly string[] = []): Reply => {
    const result = runQuery(views, query, flavor);
    const columns = result.columns.filter(({ name }) => !without.includes(name));
    return {
      status: 200,
      headers: { 'content-type': 'text/csv; charset=utf-8' },
      body: csvLines({ ...result, columns }, missing),
    };
  };

  const answerFor = (reply: (ask: Ask) => Reply) =>
    answering((ask) => {
      requireOrganization(ask, state);
      return reply(ask);
    });
  return {
    page,
    csv,
    routes: [
      {
        method: 'GET',
        path: '/organizations/:organization/explorer',
        answer: answerFor((ask) => page(ask, queryOf(ask, flavor))),
      },
      {
        method: 'GET',
        path: '/organizations/:organization/explorer/export/csv',
        answer: answerFor((ask) => csv(queryOf(ask, flavor), '""')),
      },
    ],
  };
}
