import { z } from 'zod';
import { formatWholeSeconds } from '../random.ts';
import type { Flavor, Request, Response, RouteTable } from '../types.ts';
import type { PlatformContext, SavedViewQuery, SavedViewRecord } from './context.ts';
import { type ExplorerQuery, type ExplorerResult, parseQuery, runExplorerQuery } from './explorer-query.ts';
import { createExplorerViews, type ExplorerField, type FieldValue, type ViewRow } from './explorer-views.ts';
import {
  documentResponse,
  findRecord,
  formatTime,
  invalid,
  type JsonObject,
  listResponse,
  parseData,
  parseMember,
  parsePage,
  refuseUnknownParameters,
} from './json-api.ts';

/** Results kept for later pages: enough for several readers at once. */
const MAX_CACHED_RESULTS = 8;
const RESULTS = new WeakMap<PlatformContext, Map<string, ExplorerResult>>();

type CsvNull = '""' | 'null';

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

function runQuery(context: PlatformContext, query: ExplorerQuery): ExplorerResult {
  return runExplorerQuery(createExplorerViews(context, context.flavor), query, context.flavor);
}

function explorerPage(context: PlatformContext, request: Request, query: ExplorerQuery): Response {
  const page = parsePage(request);
  const result = cachedResult(context, request, page.number, query);
  const toDocument = (row: ViewRow) => rowDocument(result, row, context.flavor);
  return listResponse(request, result.rows, toDocument, { pagination: { 'page-size': page.size } });
}

/** The whole result as CSV, without one column. */
function explorerCsv(context: PlatformContext, query: ExplorerQuery, csvNull: CsvNull, omitted?: string): Response {
  const result = runQuery(context, query);
  const columns = result.columns.filter(({ name }) => name !== omitted);
  return {
    status: 200,
    headers: { 'content-type': 'text/csv; charset=utf-8' },
    body: csvLines({ ...result, columns }, csvNull),
  };
}

function cachedResult(context: PlatformContext, { now }: Request, pageNumber: number, query: ExplorerQuery) {
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
  if (type === 'datetime') return `"${formatWholeSeconds(new Date(Number(value)))}"`;
  return `"${String(value).replaceAll('"', '""')}"`;
}

/** docs/services/platform.md#saved-views. */
export const viewRoutes = (flavor: Flavor): RouteTable<PlatformContext> => {
  const all = '/organizations/:organization/explorer/views';
  const one = `${all}/:id`;
  // Clients of the real product use another path for the CSV than the specification's.
  const csv = flavor === 'hashicorp' ? `${one}/export/csv` : `${one}/csv`;
  return {
    [`GET ${all}`]: listViews,
    [`POST ${all}`]: createView,
    [`GET ${one}`]: (request, context) => viewResponse(context, 200, findRecord(context.views, request)),
    [`PATCH ${one}`]: updateView,
    [`DELETE ${one}`]: deleteView,
    [`GET ${one}/results`]: viewResults,
    [`GET ${csv}`]: viewCsv,
  };
};

/** HCP Terraform's sample list has only `data`; the specification shows the whole envelope. */
function listViews(request: Request, context: PlatformContext): Response {
  refuseUnknownParameters(request, []);
  const toDocument = (view: SavedViewRecord) => viewDocument(view, context.flavor);
  return context.flavor === 'hashicorp'
    ? documentResponse(200, { data: context.views.map(toDocument) })
    : listResponse(request, context.views, toDocument);
}

function createView(request: Request, context: PlatformContext): Response {
  const { name, queryType, query } = parseBody(parseData(request), 'create', context.flavor);
  const views = createExplorerViews(context, context.flavor);
  if (queryType === undefined || !views.has(queryType)) {
    throw invalid(`query_type must be one of ${[...views.keys()].join(', ')}`, '/data/query_type');
  }
  const view = { id: context.viewRandom.id('sq-', 16), name, createdAt: request.now.getTime(), queryType, query };
  runQuery(context, toExplorerQuery(view));
  context.views.push(view);
  return viewResponse(context, 201, view);
}

/** Replaces the whole query: what the body omits is lost. */
function updateView(request: Request, context: PlatformContext): Response {
  const view = findRecord(context.views, request);
  const { name, query } = parseBody(parseData(request), 'update', context.flavor);
  runQuery(context, toExplorerQuery({ ...view, query }));
  Object.assign(view, { name, query });
  return viewResponse(context, 200, view);
}

function deleteView(request: Request, context: PlatformContext): Response {
  const view = findRecord(context.views, request);
  context.views.splice(context.views.indexOf(view), 1);
  return context.flavor === 'hashicorp' ? { status: 204 } : viewResponse(context, 200, view);
}

function viewResults(request: Request, context: PlatformContext): Response {
  return explorerPage(context, request, toExplorerQuery(findRecord(context.views, request)));
}

function viewCsv(request: Request, context: PlatformContext): Response {
  const csvNull = context.flavor === 'hashicorp' ? 'null' : '""';
  return explorerCsv(context, toExplorerQuery(findRecord(context.views, request)), csvNull, 'current_rum_count');
}

function viewResponse(context: PlatformContext, status: number, view: SavedViewRecord): Response {
  return documentResponse(status, { data: viewDocument(view, context.flavor) });
}

export function toExplorerQuery({ queryType, query }: SavedViewRecord): ExplorerQuery {
  return { ...query, type: queryType };
}

function viewDocument(view: SavedViewRecord, flavor: Flavor): JsonObject {
  return {
    id: view.id,
    type: 'explorer-saved-queries',
    attributes: {
      name: view.name,
      'created-at': formatTime(view.createdAt),
      query: queryDocument(view, flavor),
      'query-type': view.queryType,
    },
  };
}

/** The query in the specification's flat form, or in the maps that clients of the real product send. */
function queryDocument({ queryType, query }: SavedViewRecord, flavor: Flavor): JsonObject {
  if (flavor === 'spec') return { type: queryType, ...query };
  const filter = query.filter.map(({ field, operator, value }) => ({
    [field.replaceAll('_', '-')]: { [operator]: value },
  }));
  return { type: queryType, ...query, filter, ...(query.fields && { fields: { [queryType]: query.fields } }) };
}

const strings = z.array(z.string(), 'must be a list of strings');
const flatFilter = z.object({ field: z.string(), operator: z.string(), value: strings });
/** `{"workspace_name": {"contains": ["child"]}}`. */
const filterMap = z
  .record(z.string(), z.record(z.string(), strings))
  .transform((fields) =>
    Object.entries(fields).flatMap(([field, operators]) =>
      Object.entries(operators).map(([operator, value]) => ({ field: field.replaceAll('-', '_'), operator, value })),
    ),
  );
const savedQuery = (flavor: Flavor) =>
  z.strictObject({
    type: z.unknown().optional(),
    filter: z.array(flavor === 'spec' ? flatFilter : z.union([flatFilter, filterMap])).transform((all) => all.flat()),
    /** A list of names, or lists of names by view. */
    fields: z.union([strings, z.record(z.string(), strings).transform((views) => Object.values(views).flat())]),
    sort: strings,
  });

/**
 * The body of create or update: flat with `spec`, whose update needs filter, fields and sort; JSON:API with `hashicorp`.
 * @throws HttpError 422
 */
function parseBody(data: JsonObject, verb: 'create' | 'update', flavor: Flavor) {
  const isHashicorp = flavor === 'hashicorp';
  if (isHashicorp && data.type !== 'explorer-saved-queries') {
    throw invalid('type must be explorer-saved-queries', '/data/type');
  }
  const [typeField, pointer] = isHashicorp ? ['query-type', '/data/attributes'] : ['query_type', '/data'];
  const all = savedQuery(flavor);
  const schema = z.strictObject({
    name: z.string().min(1, "name can't be blank"),
    query: verb === 'update' && !isHashicorp ? all : all.partial(),
    [typeField]: z.string().optional(),
  });
  const body = parseMember<JsonObject>(schema, isHashicorp ? data.attributes : data, pointer);
  const { type: _, filter = [], ...parts } = body.query as Partial<z.output<typeof all>>;
  const query: SavedViewQuery = { filter, ...parts };
  return { name: body.name as string, queryType: body[typeField] as string | undefined, query };
}
