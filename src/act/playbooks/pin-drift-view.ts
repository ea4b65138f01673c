import { z } from 'zod';
import { textAt, valueAt } from '../../core/json-path.ts';
import { plural } from '../../core/plural.ts';
import { platform } from '../../services/platform/operations.ts';
import { defineAction, definePlaybook, drifted, type ReadResults, ready, satisfied, skip, unknown } from '../define.ts';
import type { SavedQuery } from './lib/platform.ts';
import { findOtherForm, isSameQuery, otherQueryParts, parseSavedQuery, readView } from './lib/platform.ts';
import { additionEvidence, readPages, responseBody, responseItems } from './lib/reads.ts';
import { evaluateUndo, findAdded, restoreFields } from './lib/undo.ts';

/** The playbook recognizes its view by this name. */
const NAME = 'Drifting workspaces (Tidemark)';

/** Filters are joined by AND (docs/services/platform.md#explorer-filters), so the view filters on drift instead of listing names. */
const QUERY: SavedQuery = {
  type: 'workspaces',
  filter: [{ field: 'drifted', operator: 'is', value: ['true'] }],
  fields: ['workspace_name', 'project_name', 'resources_drifted', 'resources_undrifted', 'current_run_status'],
  sort: ['-resources_drifted'],
};

const { type, ...parts } = QUERY;
const QUERY_BODY = { ...parts, type };

const toObserved = (view: unknown) => {
  const query = parseSavedQuery(view);
  return {
    view_id: textAt(view, 'id'),
    name: textAt(view, 'attributes', 'name'),
    query: query.type === null ? null : query,
    // Only where there are some: a ledger of an earlier version has none.
    ...otherQueryParts(view),
  };
};

/** What the actions on the view read. */
const observed = {
  params: { view_id: 'view_id' },
  reads: { view: readView },
  observe: ({ view }: ReadResults<'view'>) => {
    return view.found ? toObserved(valueAt(responseBody(view), 'data')) : null;
  },
};

const remove = defineAction(z.object({ view_id: z.string(), after: z.json() }), {
  ...observed,
  operation: 'platform.views.delete',
  change: ({ after }) => ({ before: after, after: null }),
  evaluate: (view, { after }) =>
    view === null ? satisfied('the view is gone') : evaluateUndo(view, { before: null, after }, 'the view'),
});

const LACKS_NAME = additionEvidence(['attributes', 'name'], 'name', 'saved_views.name');

const create = defineAction(z.object({ name: z.literal(NAME) }), {
  operation: 'platform.views.create',
  params: {},
  body: () => ({ data: { name: NAME, query_type: type, query: QUERY_BODY } }),
  change: () => ({ before: null, after: { name: NAME, query: QUERY } }),
  reads: { views: readPages('platform.views.list', {}, LACKS_NAME) },
  observe: ({ views }) =>
    views.found
      ? responseItems(views)
          .map(toObserved)
          .filter(({ name }) => name === NAME)
      : null,
  evaluate: (views) => {
    if (views === null) return unknown('the saved views are not reported');
    if (views.length === 0) return ready;
    return views.some(({ query }) => isSameQuery(query, QUERY))
      ? satisfied('the view exists')
      : views.some((view) => view.query === null)
        ? unknown('the query of a view of this name is not reported')
        : drifted('a view of this name exists, with another query');
  },
  // Someone else may create one of this name in the same moment.
  isConfirmed: (views, _, response) => {
    const id = textAt(response, 'data', 'id');
    return (views ?? []).some((view) => view.view_id === (id ?? view.view_id) && isSameQuery(view.query, QUERY));
  },
  undo: {
    action: remove,
    needs: ['before', 'after.0.view_id'],
    inputs: ({ before, after, isAnswered }) => {
      const created = findAdded(before, after, 'view_id');
      if (!created || !isAnswered) return 'the ledger does not show which view was created';
      return { view_id: created.view_id, after: created };
    },
    summary: () => `delete the saved view "${NAME}"`,
  },
});

const updateCall = { ...observed, operation: 'platform.views.update' };

/** `others`: the other parts of the query; null in a plan of an earlier version. */
const updateInputs = z.object({
  name: z.literal(NAME),
  view_id: z.string(),
  query: z.json(),
  others: z.json().default(null),
});

const update = defineAction(updateInputs, {
  ...updateCall,
  body: () => ({ data: { name: NAME, query: QUERY_BODY } }),
  change: ({ query }) => ({ before: { query }, after: { query: QUERY } }),
  evaluate: (view, { query, others }) => {
    if (view === null) return drifted('the view is gone');
    if (view.name === null) return unknown('its name is not reported');
    if (view.query === null) return unknown('its query is not reported');
    const isNamed = view.name === NAME;
    if (isNamed && isSameQuery(view.query, QUERY)) return satisfied('the view lists drifting workspaces');
    const isPlanned = isSameQuery(view.query, query) && (others === null || isSameQuery(view.others ?? {}, others));
    return isNamed && isPlanned ? ready : drifted('the view was changed');
  },
  undo: restoreFields(updateCall, {
    names: z.object({ view_id: z.string() }),
    subject: 'the view',
    fields: z.looseObject({ view_id: z.string(), name: z.string(), query: z.record(z.string(), z.json()) }),
    // What confirms it does not look at the other parts of the query, which the update removes, if the service does not keep them.
    isLeft: (after: ReturnType<typeof observed.observe>, { others }: z.infer<typeof updateInputs>) =>
      after?.others === undefined || isSameQuery(after.others, others),
    body: (view) => ({
      data: { name: view.name, query: { ...(valueAt(view, 'others') as object | undefined), ...view.query } },
    }),
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
    const existing = responseItems(views)
      .map(toObserved)
      .find(({ name }) => name === NAME);
    const summary = `list ${plural(findings.length, 'drifting workspace')} in the saved view "${NAME}"`;
    if (existing === undefined) return [{ action: create, inputs: { name: NAME }, summary, affectedRow: null }];
    const { view_id, query, others = {} } = existing;
    if (query === null) return skip(`the query of the saved view "${NAME}" is not reported`);
    if (isSameQuery(query, QUERY)) return skip(`the saved view "${NAME}" already lists it`);
    const form = findOtherForm(others);
    if (form !== undefined)
      return skip(`the saved view "${NAME}" has its ${form} in a form that an undo could not restore`);
    const inputs = { name: NAME, view_id, query, others };
    return [{ action: update, inputs, summary: `${summary}, whose query was changed`, affectedRow: view_id }];
  },
});
