import { z } from 'zod';
import type { Flavor, Request, Response, RouteTable } from '../types.ts';
import type { PlatformContext, SavedViewQuery, SavedViewRecord } from './context.ts';
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
  parseMember,
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
function parseBody(data: JsonObject, verb: 'create' | 'update', flavor: Flavor): Body {
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
  return { name: body.name as string, queryType: body[typeField] as string | undefined, query: { filter, ...parts } };
}
