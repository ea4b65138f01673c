import { z } from 'zod';
import { plural } from '../../core/plural.ts';
import { platform } from '../../services/platform/operations.ts';
import {
  defineAction,
  definePlaybook,
  drifted,
  type JsonValue,
  type ReadResult,
  type ReadResults,
  ready,
  satisfied,
  skip,
  unknown,
} from '../define.ts';
import { listAt, responseBody, responseItems, textAt, valueAt } from './lib/json-path.ts';
import { readView, viewNameAbsence } from './lib/reads.ts';
import { evaluateUndo, restoreFields } from './lib/undo.ts';

/** The playbook recognizes its view by this name. */
const NAME = 'Drifting workspaces (Tidemark)';

/** Filters are joined by AND (docs/services/platform.md#explorer-filters), so the view filters on drift instead of listing names. */
const QUERY: NormalizedQuery = {
  type: 'workspaces',
  filter: [{ field: 'drifted', operator: 'is', value: ['true'] }],
  fields: ['workspace_name', 'project_name', 'resources_drifted', 'resources_undrifted', 'current_run_status'],
  sort: ['-resources_drifted'],
};

const { type, ...parts } = QUERY;
const QUERY_BODY = { ...parts, type };

const createInputs = z.object({ name: z.literal(NAME) });
const updateInputs = z.object({ name: z.literal(NAME), view_id: z.string(), query: z.unknown() });

const toObserved = (view: unknown) => ({
  view_id: textAt(view, 'id'),
  name: textAt(view, 'attributes', 'name'),
  query: parseSavedQuery(view) as unknown as JsonValue,
});

function observeView(view: ReadResult) {
  const found = valueAt(responseBody(view), 'data');
  return found === undefined ? null : toObserved(found);
}

const removeInputs = z.object({ view_id: z.string(), after: z.json() });

const remove = defineAction(removeInputs, {
  operation: 'platform.views.delete',
  params: { view_id: 'view_id' },
  change: ({ after }) => ({ before: after, after: null }),
  reads: { view: readView },
  observe: ({ view }) => observeView(view),
  evaluate: (observed, { after }) =>
    observed === null ? satisfied('the view is gone') : evaluateUndo(observed, { before: null, after }, 'the view'),
});

const updateView = {
  operation: 'platform.views.update',
  params: { view_id: 'view_id' },
  reads: { view: readView },
  observe: ({ view }: ReadResults<'view'>) => observeView(view),
};

const create = defineAction(createInputs, {
  operation: 'platform.views.create',
  params: {},
  body: () => ({ data: { name: NAME, query_type: type, query: QUERY_BODY } }),
  change: () => ({ before: null, after: { name: NAME, query: QUERY } }),
  reads: { views: { operation: 'platform.views.list', params: {}, allPages: true, absence: viewNameAbsence } },
  observe: ({ views }) =>
    views.found
      ? responseItems(views)
          .map(toObserved)
          .filter(({ name }) => name === NAME)
      : null,
  evaluate: (observed) => {
    if (observed === null) return unknown('the saved views are not reported');
    if (observed.length === 0) return ready;
    return observed.some(({ query }) => isSameQuery(query as unknown as NormalizedQuery, QUERY))
      ? satisfied('the view exists')
      : drifted('a view of this name exists, with another query');
  },
  undo: {
    action: remove,
    needs: ['before', 'after.0.view_id'],
    inputs: ({ before, after }) => {
      const known = new Set(before?.map(({ view_id }) => view_id));
      const [created, ...others] = (after ?? []).filter(({ view_id }) => !known.has(view_id));
      if (!created || others.length > 0) return 'the ledger does not show which view was created';
      return { view_id: created.view_id, after: created };
    },
    summary: () => `delete the saved view "${NAME}"`,
  },
});

const update = defineAction(updateInputs, {
  ...updateView,
  body: () => ({ data: { name: NAME, query: QUERY_BODY } }),
  change: ({ query }) => ({ before: { query }, after: { query: QUERY } }),
  evaluate: (observed, { query }) => {
    if (observed === null) return drifted('the view is gone');
    const current = observed.query as unknown as NormalizedQuery;
    if (observed.name === NAME && isSameQuery(current, QUERY)) {
      return satisfied('the view lists drifting workspaces');
    }
    return observed.name === NAME && isSameQuery(current, query as NormalizedQuery)
      ? ready
      : drifted('the view was changed');
  },
  undo: restoreFields(updateView, {
    input: 'view_id',
    subject: 'the view',
    fields: z.object({ view_id: z.string(), name: z.string(), query: z.record(z.string(), z.json()) }),
    body: ({ name, query }) => ({ data: { name, query } }),
    summary: () => `restore the query of the saved view "${NAME}"`,
  }),
});

export const pinDriftView = definePlaybook({
  name: 'pin-drift-view',
  rule: 'drifted-workspace',
  description: 'maintain one saved view that lists the drifting workspaces',
  table: 'saved_views',
  actions: [create, update],
  perTarget: true,
  detail: z.object({ workspace_name: z.string().nullable() }),
  plan: async (findings, ctx) => {
    const views = await ctx.read(platform.views.list, {}, { allPages: true });
    if (!views.found) return skip('the saved views are not reported');
    const existing = responseItems(views).find((view) => textAt(view, 'attributes', 'name') === NAME);
    const summary = `list ${plural(findings.length, 'drifting workspace')} in the saved view "${NAME}"`;
    if (existing === undefined) return [{ action: create, inputs: { name: NAME }, summary, affectedRow: null }];
    const query = parseSavedQuery(existing);
    if (isSameQuery(query, QUERY)) return skip(`the saved view "${NAME}" already lists it`);
    const viewId = textAt(existing, 'id');
    return [
      {
        action: update,
        inputs: { name: NAME, view_id: viewId, query },
        summary: `${summary}, whose query was changed`,
        affectedRow: viewId,
      },
    ];
  },
});

/** The query of a saved view in one normal form, so that two can be compared: docs/services/platform.md#saved-views lists the forms. */
interface NormalizedQuery {
  readonly type: string | null;
  readonly filter: readonly { readonly field: string; readonly operator: string; readonly value: JsonValue }[];
  readonly fields: readonly string[];
  readonly sort: readonly string[];
}

/** Parses the query of a saved view's JSON:API resource. */
export function parseSavedQuery(view: unknown): NormalizedQuery {
  const query = valueAt(view, 'attributes', 'query');
  const type = textAt(view, 'attributes', 'query-type') ?? textAt(query, 'type');
  return {
    type,
    filter: (listAt(query, 'filter') ?? []).flatMap(parseFilters),
    fields: toFieldNames(listAt(query, 'fields') ?? listAt(query, 'fields', type ?? '')),
    sort: toFieldNames(listAt(query, 'sort')),
  };
}

export function isSameQuery(a: NormalizedQuery, b: NormalizedQuery): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** Accepts `{field, operator, value}` and the real product's `{"field-name": {"operator": value}}`. */
function parseFilters(item: unknown): NormalizedQuery['filter'] {
  const field = textAt(item, 'field');
  if (field !== null) {
    const operator = textAt(item, 'operator') ?? '';
    return [{ field: toSnakeCase(field), operator, value: toStrings(valueAt(item, 'value')) }];
  }
  return Object.entries((item ?? {}) as Record<string, unknown>).flatMap(([name, operators]) =>
    Object.entries((operators ?? {}) as Record<string, unknown>).map(([operator, value]) => ({
      field: toSnakeCase(name),
      operator: operator.replaceAll('_', ' '),
      value: toStrings(value),
    })),
  );
}

function toStrings(value: unknown): JsonValue {
  return (Array.isArray(value) ? value : [value]).map(String);
}

function toFieldNames(list: readonly unknown[] | undefined): readonly string[] {
  return (list ?? []).map((item) => toSnakeCase(String(item)));
}

/** Keeps the leading `-` of a descending sort. */
function toSnakeCase(name: string): string {
  return name.slice(0, 1) + name.slice(1).replaceAll('-', '_');
}
