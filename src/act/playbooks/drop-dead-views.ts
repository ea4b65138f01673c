import { z } from 'zod';
import { listAt, numberAt, textAt, valueAt } from '../../core/json-path.ts';
import { platform } from '../../services/platform/operations.ts';
import { defineAction, definePlaybook, drifted, type ReadResult, ready, satisfied, skip, unknown } from '../define.ts';
import {
  explainOtherName,
  isSameQuery,
  otherQueryParts,
  parseSavedQuery,
  plannedName,
  readView,
} from './lib/platform.ts';
import { responseBody } from './lib/reads.ts';

const detail = z.object({ view_id: z.string(), reason: z.enum(['failed', 'empty']) });
/** `query`: as read when the plan was made; null in a plan of an earlier version. */
const inputs = detail.extend({ query: z.json().default(null), name: plannedName });

const NO_QUERY = 'its query is not reported';

function readQuery(read: ReadResult) {
  const view = valueAt(responseBody(read), 'data');
  return { ...parseSavedQuery(view), ...otherQueryParts(view) };
}

/** Null where the answer has no list, or an empty one of a result with rows. */
function countRows(results: unknown): number | null {
  const rows = listAt(results, 'data')?.length ?? null;
  const figures = ['total-count', 'next-page'].map((name) => numberAt(results, 'meta', 'pagination', name));
  const hasMore = figures.some(Boolean) || textAt(results, 'links', 'next') !== null;
  return rows === 0 && hasMore ? null : rows;
}

const drop = defineAction(inputs, {
  operation: 'platform.views.delete',
  params: { view_id: 'view_id' },
  reads: {
    view: readView,
    results: { operation: 'platform.views.results', params: { view_id: 'view_id' }, allowFailure: true },
  },
  observe: ({ view, results }) =>
    view.found
      ? {
          rows_on_first_page: countRows(responseBody(results)),
          failure: results.found ? null : results.failure,
          query: readQuery(view),
          name: textAt(responseBody(view), 'data', 'attributes', 'name'),
        }
      : null,
  evaluate: (observed, { reason, query, name }) => {
    if (observed === null) return satisfied('the view is gone');
    const other = explainOtherName(name, observed.name);
    if (other) return other;
    if (observed.query.type === null) return unknown(NO_QUERY);
    if (query !== null && !isSameQuery(observed.query, query)) return drifted('its query was changed');
    // The finding rests on a rejected query. A time-out or an error within the service says nothing about the query.
    if (observed.failure !== null && observed.failure !== 'invalid') {
      return unknown(`its query could not be run: ${observed.failure}`);
    }
    if (reason === 'failed') return observed.failure === null ? drifted('its query works again') : ready;
    if (observed.rows_on_first_page === null) return unknown('its query returned no result');
    return observed.rows_on_first_page > 0 ? drifted('it returns rows again') : ready;
  },
});

export const dropDeadViews = definePlaybook({
  name: 'drop-dead-views',
  rule: 'dead-saved-view',
  description: 'delete saved views whose query fails or has returned no rows for `deadViewDays`',
  table: 'saved_views',
  actions: [drop],
  detail,
  plan: async ({ subject_name: name, detail: planned }, ctx) => {
    const query = readQuery(await ctx.read(platform.views.show, { view_id: planned.view_id }));
    if (query.type === null) return skip(NO_QUERY);
    const what = planned.reason === 'failed' ? 'whose query fails' : 'which returns no rows';
    const summary = `delete saved view ${name ?? planned.view_id}, ${what}`;
    return [{ action: drop, inputs: { ...planned, query, name }, summary }];
  },
});
