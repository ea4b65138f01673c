import { z } from 'zod';
import { platform } from '../services/platform.ts';
import { at, bodyOf, itemsOf, textAt } from './answers.ts';
import { type Deed, groupPlaybook, skip } from './playbook.ts';
import { type SavedQuery, sameQuery, savedQueryOf } from './saved-query.ts';
import { type Json, step } from './step.ts';
import { changed, done, due } from './verdict.ts';

/** The playbook knows its view by this name. */
const NAME = 'Drifting workspaces (Tidemark)';

/** Filters are joined by AND (platform.md, "Filter syntax"): names cannot be listed, but drifting itself can be asked for. */
const QUERY = {
  type: 'workspaces',
  filter: [{ field: 'drifted', operator: 'is', value: ['true'] }],
  fields: ['workspace_name', 'project_name', 'resources_drifted', 'resources_undrifted', 'current_run_status'],
  sort: ['-resources_drifted'],
} satisfies SavedQuery;

const { type, ...parts } = QUERY;
const LISTED = { ...parts, type };
const WANTED: SavedQuery = { type, filter: QUERY.filter, fields: QUERY.fields, sort: QUERY.sort };

const createFacts = z.object({ name: z.literal(NAME) });
const updateFacts = z.object({ name: z.literal(NAME), view_id: z.string(), query: z.unknown() });

const sight = (view: unknown) => ({
  view_id: textAt(view, 'id'),
  name: textAt(view, 'attributes', 'name'),
  query: savedQueryOf(view) as unknown as Json,
});

const create = step(createFacts, {
  operation: 'platform.views.create',
  params: {},
  body: () => ({ data: { name: NAME, query_type: type, query: LISTED } }),
  reads: { views: { operation: 'platform.views.list', params: {}, whole: true } },
  see: ({ views }) =>
    views.found
      ? itemsOf(views)
          .map(sight)
          .filter(({ name }) => name === NAME)
      : null,
  judge: (seen) => {
    if (seen === null) return changed('the saved views are not told');
    if (seen.length === 0) return due;
    const wanted = seen.some(({ query }) => sameQuery(query as unknown as SavedQuery, WANTED));
    return wanted ? done('the view is there') : changed('a view of this name is there, with another query');
  },
});

const update = step(updateFacts, {
  operation: 'platform.views.update',
  params: { view_id: 'view_id' },
  body: () => ({ data: { name: NAME, query: LISTED } }),
  reads: { view: { operation: 'platform.views.show', params: { view_id: 'view_id' } } },
  see: ({ view }) => {
    const found = at(bodyOf(view), 'data');
    return found === undefined ? null : sight(found);
  },
  judge: (seen, { query }) => {
    if (seen === null) return changed('the view is gone');
    const now = seen.query as unknown as SavedQuery;
    if (seen.name === NAME && sameQuery(now, WANTED)) return done('the view asks for drifting workspaces');
    return seen.name === NAME && sameQuery(now, query as SavedQuery) ? due : changed('somebody changed the view');
  },
});

export const pinDriftView = groupPlaybook({
  name: 'pin-drift-view',
  rule: 'drifted-workspace',
  about: 'keep one saved view that lists the drifting workspaces',
  table: 'saved_views',
  steps: [create, update],
  detail: z.object({ workspace_name: z.string().nullable() }),
  plan: async (findings, desk) => {
    const views = await desk.ask(platform.views.list, {}, { whole: true });
    if (!views.found) return skip('the saved views are not told');
    const pinned = itemsOf(views).find((view) => textAt(view, 'attributes', 'name') === NAME);
    const what = `list ${findings.length} drifting workspace(s) in the saved view "${NAME}"`;
    if (pinned === undefined) return [{ step: create, facts: { name: NAME }, summary: what, touches: null }];
    const query = savedQueryOf(pinned);
    if (sameQuery(query, WANTED)) return skip(`the saved view "${NAME}" lists it already`);
    const viewId = textAt(pinned, 'id');
    const facts = { name: NAME, view_id: viewId, query };
    return [{ step: update, facts, summary: `${what}, whose query was changed`, touches: viewId }] satisfies Deed[];
  },
});
