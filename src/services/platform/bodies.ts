import { z } from 'zod';
import type { Target } from '../../config/config.ts';
import { explainIssue } from '../../config/explain-issue.ts';
import { type ArgIssue, type Args, filledText, type RequestDraft, requiredBody } from '../operation.ts';
import * as explorer from './explorer.ts';

/** Request bodies. Unknown fields are accepted, since services add fields. */

const poolName = z
  .string('is required: the pool is named by it')
  .regex(/^[A-Za-z0-9_-]+$/u, 'may contain letters, numbers, `-` and `_` only');
const poolType = z.literal('agent-pools', 'must be `agent-pools`');
const workspace = z.looseObject({
  id: z.string('must be a workspace id').min(1, 'must be a workspace id'),
  type: z.literal('workspaces', 'must be `workspaces`'),
});
const workspaces = z.looseObject({ data: z.array(workspace, 'must be a list of {id, type}') });
const allowedWorkspaces = z.looseObject({ 'allowed-workspaces': workspaces.optional() });
const organizationScoped = z.boolean('must be true or false').optional();

const POOL =
  '{"data": {"type": "agent-pools", "attributes": {"name": "edge", "organization-scoped": false}, "relationships": {"allowed-workspaces": {"data": [{"id": "ws-…", "type": "workspaces"}]}}}}';
const poolBody = <T extends z.ZodType>(attributes: T) => {
  const data = z.looseObject(
    { type: poolType, attributes, relationships: allowedWorkspaces.optional() },
    'is required',
  );
  return requiredBody(z.looseObject({ data }), POOL);
};

export const createPool = poolBody(
  z.looseObject({ name: poolName, 'organization-scoped': organizationScoped }, 'is required'),
);
export const updatePool = poolBody(
  z.looseObject({ name: poolName.optional(), 'organization-scoped': organizationScoped }).optional(),
);

const strings = z.array(z.string('must be text'), 'must be a list of text');
const filters = z.array(
  z.looseObject({ field: z.string('is required'), operator: z.string('is required'), value: strings }),
  'is required',
);

const queryParts = { filter: filters, fields: strings, sort: strings };
const savedQuery = z.looseObject(queryParts, 'is required').partial();
type FlatQuery = z.infer<typeof savedQuery>;

const flatCreate = z.looseObject({
  name: filledText,
  query_type: z.enum(explorer.HASHICORP_VIEWS, `must be one of ${explorer.HASHICORP_VIEWS.join(', ')}`),
  query: savedQuery,
});

/** All parts are required, since an update replaces the whole query: docs/services/platform.md#saved-views. */
const flatUpdate = z.looseObject({
  name: filledText,
  query: z.looseObject(queryParts, 'is required: an update replaces the whole query'),
});

/** A body in the JSON:API form of the real product is not checked. */
const isJsonApi = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'attributes' in value && !('query' in value);

const flatOrJsonApi = (flat: z.ZodType) =>
  z.looseObject({
    data: z.unknown().superRefine((value, context) => {
      if (isJsonApi(value)) return;
      const result = flat.safeParse(value, { error: explainIssue });
      for (const { path, message } of result.error?.issues ?? []) context.addIssue({ code: 'custom', path, message });
    }),
  });

const VIEW =
  '{"data": {"name": "drifted", "query_type": "workspaces", "query": {"type": "workspaces", "filter": [{"field": "drifted", "operator": "is", "value": ["true"]}], "fields": ["workspace_name"], "sort": ["workspace_name"]}}}';
export const createView = requiredBody(flatOrJsonApi(flatCreate), VIEW);
export const updateView = requiredBody(flatOrJsonApi(flatUpdate), VIEW);

/** A saved view as the API documents write it. */
interface FlatView {
  readonly name?: string;
  readonly query_type?: string;
  readonly query?: FlatQuery & { readonly type?: string };
}

/** Validates type, filters, fields and sort of a saved view. A JSON:API body has none in this place. */
export function validateView(_args: Args, body: unknown, target: Target): ArgIssue[] {
  const { query_type, query } = (body as { readonly data?: FlatView } | undefined)?.data ?? {};
  if (query === undefined) return [];
  const view = query_type ?? query.type ?? '';
  // The real product replaces the whole query, whose fields are those of a type.
  const isUntyped = view === '' && target.flavor === 'hashicorp';
  const isOther = query_type !== undefined && query.type !== undefined && query.type !== query_type;
  return [
    ...(query_type === undefined ? [] : explorer.validateView(query_type, target, 'body.data.query_type')),
    ...(query.type === undefined && !isUntyped
      ? []
      : explorer.validateView(query.type ?? view, target, 'body.data.query.type')),
    ...(isOther ? [{ path: 'body.data.query.type', message: `must equal query_type, ${query_type}` }] : []),
    ...validateSavedQuery(query, view, target),
  ];
}

function validateSavedQuery({ filter = [], fields = [], sort = [] }: FlatQuery, view: string, target: Target) {
  const filters = filter.flatMap(({ field, operator, value }) =>
    (value.length === 0 ? [''] : value).map((text) => explorer.toFilter(field, operator, text)),
  );
  return [
    ...filters.flatMap((one) => explorer.validateFilter(one, view, target, 'body.data.query.filter')),
    ...explorer.validateFields(fields, view, target, 'body.data.query.fields'),
    ...explorer.validateFields(sort, view, target, 'body.data.query.sort'),
  ];
}

/** Translates the flat body of the API documents to JSON:API. A body that already is JSON:API stays as it is. */
export function toHashicorpView(draft: RequestDraft, args: Args): RequestDraft {
  const data = (draft.body as { data: FlatView & { attributes?: unknown } }).data;
  if (data.attributes !== undefined) return draft;
  const type = data.query_type ?? data.query?.type ?? '';
  const id = args.view_id;
  return {
    ...draft,
    body: {
      data: {
        ...(id !== undefined && { id }),
        type: 'explorer-saved-queries',
        attributes: {
          name: data.name,
          ...(data.query_type !== undefined && { 'query-type': data.query_type }),
          query: toHashicorpSavedQuery(data.query ?? {}, type),
        },
      },
    },
  };
}

function toHashicorpSavedQuery(query: FlatQuery, type: string): unknown {
  const { filter = [], fields = [], sort, ...others } = query;
  return {
    ...others,
    type,
    filter: filter.map(({ field, operator, value }) => ({
      [explorer.toHashicorpField(field)]: { [explorer.toHashicorpOperator(operator)]: value },
    })),
    ...(fields.length > 0 && { fields: { [type]: fields.map(explorer.toHashicorpField) } }), // without them, a view has all
    ...(sort && { sort: sort.map((name) => explorer.mapSorted(name, explorer.toHashicorpField)) }),
  };
}
