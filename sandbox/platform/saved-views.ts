import { isObject } from '../router.ts';
import type { Flavor, Request, Response, RouteTable } from '../types.ts';
import type { PlatformContext, SavedViewQuery, SavedViewRecord, ViewFilter } from './context.ts';
import { explorerCsv, explorerPage, runQuery } from './explorer.ts';
import type { ExplorerQuery } from './explorer-query.ts';
import { createExplorerViews } from './explorer-views.ts';
import {
  documentResponse,
  findRecord,
  formatTime,
  invalid,
  type JsonObject,
  listResponse,
  parseData,
  refuseUnknown,
  refuseUnknownParameters,
} from './json-api.ts';

interface Body {
  readonly name: string;
  readonly queryType: string | undefined;
  readonly query: SavedViewQuery;
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
  return explorerCsv(context, toExplorerQuery(findRecord(context.views, request)), csvNull, ['current_rum_count']);
}

function viewResponse(context: PlatformContext, status: number, view: SavedViewRecord): Response {
  return documentResponse(status, { data: viewDocument(view, context.flavor) });
}

export function toExplorerQuery({ queryType, query }: SavedViewRecord): ExplorerQuery {
  return {
    type: queryType,
    filters: query.filter.map(({ field, operator, value }, index) => ({
      field,
      operator,
      values: value,
      parameter: `filter[${index}]`,
    })),
    sort: query.sort ?? [],
    fields: query.fields && query.fields.length > 0 ? query.fields : undefined,
  };
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
  const sort = query.sort ? { sort: query.sort } : {};
  if (flavor === 'spec') {
    return { type: queryType, filter: query.filter, ...(query.fields ? { fields: query.fields } : {}), ...sort };
  }
  const filter = query.filter.map(({ field, operator, value }) => ({
    [field.replaceAll('_', '-')]: { [operator]: value },
  }));
  return { type: queryType, filter, ...(query.fields ? { fields: { [queryType]: query.fields } } : {}), ...sort };
}

/** The body of create or update: flat with `spec`, JSON:API with `hashicorp`. @throws HttpError 422 */
function parseBody(data: JsonObject, verb: 'create' | 'update', flavor: Flavor): Body {
  const isHashicorp = flavor === 'hashicorp';
  if (isHashicorp && data.type !== 'explorer-saved-queries') {
    throw invalid('type must be explorer-saved-queries', '/data/type');
  }
  const attributes = isHashicorp ? data.attributes : data;
  const pointer = isHashicorp ? '/data/attributes' : '/data';
  if (!isObject(attributes)) throw invalid('must be an object', pointer);
  const { name, query } = attributes;
  refuseUnknown(attributes, ['name', 'query', isHashicorp ? 'query-type' : 'query_type'], pointer);
  if (typeof name !== 'string' || name === '') throw invalid("name can't be blank", `${pointer}/name`);
  const type = attributes[isHashicorp ? 'query-type' : 'query_type'];
  return {
    name,
    queryType: typeof type === 'string' ? type : undefined,
    query: parseSavedQuery(query, `${pointer}/query`, verb === 'update' && !isHashicorp, flavor),
  };
}

/** `isComplete` requires filter, fields and sort, as the specification does for an update. */
function parseSavedQuery(value: unknown, pointer: string, isComplete: boolean, flavor: Flavor): SavedViewQuery {
  if (!isObject(value)) throw invalid('must be an object', pointer);
  const { filter, fields, sort } = value;
  refuseUnknown(value, ['type', 'filter', 'fields', 'sort'], pointer);
  for (const [name, part] of Object.entries({ filter, fields, sort })) {
    if (isComplete && part === undefined) throw invalid('is required', `${pointer}/${name}`);
  }
  return {
    filter: filter === undefined ? [] : parseViewFilters(filter, `${pointer}/filter`, flavor),
    ...(fields === undefined ? {} : { fields: parseFieldNames(fields, `${pointer}/fields`) }),
    ...(sort === undefined ? {} : { sort: parseStrings(sort, `${pointer}/sort`) }),
  };
}

function parseViewFilters(value: unknown, pointer: string, flavor: Flavor): ViewFilter[] {
  if (!Array.isArray(value)) throw invalid('must be a list', pointer);
  return value.flatMap((item, index) => {
    const isFlat = flavor === 'spec' || (isObject(item) && typeof item.field === 'string');
    return isFlat ? [parseFlatFilter(item, `${pointer}/${index}`)] : parseFilterMap(item, `${pointer}/${index}`);
  });
}

function parseFlatFilter(item: unknown, pointer: string): ViewFilter {
  if (!isObject(item) || typeof item.field !== 'string' || typeof item.operator !== 'string') {
    throw invalid('a filter has field, operator and value', pointer);
  }
  return { field: item.field, operator: item.operator, value: parseStrings(item.value, `${pointer}/value`) };
}

/** `{"workspace_name": {"contains": ["child"]}}`. */
function parseFilterMap(item: unknown, pointer: string): ViewFilter[] {
  if (!isObject(item)) throw invalid('must be an object', pointer);
  return Object.entries(item).flatMap(([field, operators]) => {
    if (!isObject(operators)) throw invalid('must be an object', `${pointer}/${field}`);
    return Object.entries(operators).map(([operator, value]) => ({
      field: field.replaceAll('-', '_'),
      operator,
      value: parseStrings(value, `${pointer}/${field}/${operator}`),
    }));
  });
}

/** A list of names, or lists of names by view. */
function parseFieldNames(value: unknown, pointer: string): string[] {
  if (!isObject(value)) return parseStrings(value, pointer);
  return Object.values(value).flatMap((names) => parseStrings(names, pointer));
}

function parseStrings(value: unknown, pointer: string): string[] {
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value;
  throw invalid('must be a list of strings', pointer);
}
