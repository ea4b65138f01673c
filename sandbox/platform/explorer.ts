import type { Flavor, Request, Response, RouteTable } from '../types.ts';
import type { PlatformContext } from './context.ts';
import { type ExplorerQuery, type ExplorerResult, parseQuery, runExplorerQuery } from './explorer-query.ts';
import { createExplorerViews, type ExplorerField, type FieldValue, type ViewRow } from './explorer-views.ts';
import { type JsonObject, listResponse, parsePage } from './json-api.ts';

/** Results kept for later pages: enough for several readers at once. */
const MAX_CACHED_RESULTS = 8;
const RESULTS = new WeakMap<PlatformContext, Map<string, ExplorerResult>>();

/** How a CSV shows null. */
export type CsvNull = '""' | 'null';

/**
 * Queries over the live state: docs/services/platform.md#explorer-queries. The first page of a query always computes
 * the result and later pages of the day read the same list, so that paging through 50,000 sorted rows does not sort
 * them 500 times. Only a query that filters, sorts or groups has its own list: plain pages of workspaces show every
 * change at once.
 */
export const explorerRoutes: RouteTable<PlatformContext> = {
  'GET /organizations/:organization/explorer': (request, context) =>
    explorerPage(context, request, parseQuery(request, context.flavor)),
  'GET /organizations/:organization/explorer/export/csv': (request, context) =>
    explorerCsv(context, parseQuery(request, context.flavor), '""'),
};

export function runQuery(context: PlatformContext, query: ExplorerQuery): ExplorerResult {
  return runExplorerQuery(createExplorerViews(context, context.flavor), query, context.flavor);
}

/** One page of a query's result. */
export function explorerPage(context: PlatformContext, request: Request, query: ExplorerQuery): Response {
  const page = parsePage(request);
  const result = cachedResult(context, request, page.number, query);
  const toDocument = (row: ViewRow) => rowDocument(result, row, context.flavor);
  return listResponse(request, result.rows, toDocument, { pagination: { 'page-size': page.size } });
}

/** The whole result as CSV, without the columns in `omitted`. */
export function explorerCsv(
  context: PlatformContext,
  query: ExplorerQuery,
  csvNull: CsvNull,
  omitted: readonly string[] = [],
): Response {
  const result = runQuery(context, query);
  const columns = result.columns.filter(({ name }) => !omitted.includes(name));
  return {
    status: 200,
    headers: { 'content-type': 'text/csv; charset=utf-8' },
    body: csvLines({ ...result, columns }, csvNull),
  };
}

function cachedResult(
  context: PlatformContext,
  { now }: Request,
  pageNumber: number,
  query: ExplorerQuery,
): ExplorerResult {
  const key = `${now.getTime()} ${JSON.stringify(query)}`;
  const results = RESULTS.get(context) ?? new Map<string, ExplorerResult>();
  RESULTS.set(context, results);
  const result = (pageNumber > 1 && results.get(key)) || runQuery(context, query);
  results.delete(key);
  results.set(key, result);
  const [oldest] = results.keys();
  if (results.size > MAX_CACHED_RESULTS && oldest !== undefined) results.delete(oldest);
  return result;
}

/** One explorer row as a JSON:API resource. */
function rowDocument({ view, columns }: ExplorerResult, row: ViewRow, flavor: Flavor): JsonObject {
  const attributes = columns.map((field) => {
    const value = field.value(row);
    const shown = field.type === 'datetime' && typeof value === 'number' ? formatJsonTime(value) : value;
    return [attributeName(field.name, flavor), shown] as const;
  });
  return { id: view.rowId(row), type: view.rowType, attributes: Object.fromEntries(attributes) };
}

/** `2023-10-16T22:55:50.123+00:00`. */
function formatJsonTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, -1)}+00:00`;
}

/** Hyphens for underscores, except for the specification's one exception, which HCP Terraform gave up in 2026. */
function attributeName(name: string, flavor: Flavor): string {
  return name === 'current_rum_count' && flavor === 'spec' ? name : name.replaceAll('_', '-');
}

/** Lines of CSV with their line ends. */
function* csvLines({ columns, rows }: ExplorerResult, csvNull: CsvNull): Generator<string> {
  yield `${columns.map(({ name }) => name).join(',')}\n`;
  for (const row of rows) {
    let line = '';
    for (const field of columns) line += `${line === '' ? '' : ','}${csvCell(field, field.value(row), csvNull)}`;
    yield `${line}\n`;
  }
}

function csvCell({ type }: ExplorerField<ViewRow>, value: FieldValue, csvNull: CsvNull): string {
  if (value === null) return csvNull;
  if (type === 'datetime') return `"${formatCsvTime(Number(value))}"`;
  return typeof value === 'string' ? quote(value) : `"${value}"`;
}

/** `2023-10-16T22:55:50Z`. */
function formatCsvTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, -5)}Z`;
}

function quote(text: string): string {
  return `"${text.includes('"') ? text.replaceAll('"', '""') : text}"`;
}
