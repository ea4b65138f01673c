import { z } from 'zod';
import {
  defineAction,
  definePlaybook,
  drifted,
  type JsonValue,
  ready,
  satisfied,
  skip,
} from '../remediation/define.ts';
import { platform } from '../services/platform/operations.ts';
import { responseBody, responseItems, textAt, valueAt } from './lib/json-path.ts';
import { isSameQuery, type NormalizedQuery, parseSavedQuery } from './lib/saved-query.ts';

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

const create = defineAction(createInputs, {
  operation: 'platform.views.create',
  params: {},
  body: () => ({ data: { name: NAME, query_type: type, query: QUERY_BODY } }),
  reads: { views: { operation: 'platform.views.list', params: {}, allPages: true } },
  observe: ({ views }) =>
    views.found
      ? responseItems(views)
          .map(toObserved)
          .filter(({ name }) => name === NAME)
      : null,
  evaluate: (observed) => {
    if (observed === null) return drifted('the saved views are not reported');
    if (observed.length === 0) return ready;
    return observed.some(({ query }) => isSameQuery(query as unknown as NormalizedQuery, QUERY))
      ? satisfied('the view exists')
      : drifted('a view of this name exists, with another query');
  },
});

const update = defineAction(updateInputs, {
  operation: 'platform.views.update',
  params: { view_id: 'view_id' },
  body: () => ({ data: { name: NAME, query: QUERY_BODY } }),
  reads: { view: { operation: 'platform.views.show', params: { view_id: 'view_id' } } },
  observe: ({ view }) => {
    const found = valueAt(responseBody(view), 'data');
    return found === undefined ? null : toObserved(found);
  },
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
    const summary = `list ${findings.length} drifting workspace(s) in the saved view "${NAME}"`;
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
