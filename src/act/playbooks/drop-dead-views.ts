import { z } from 'zod';
import { listAt } from '../../core/json-path.ts';
import { defineAction, definePlaybook, drifted, ready, satisfied, unknown } from '../define.ts';
import { readView } from './lib/platform.ts';
import { read, responseBody } from './lib/reads.ts';

const inputs = z.object({ view_id: z.string(), reason: z.enum(['failed', 'empty']) });

const drop = defineAction(inputs, {
  operation: 'platform.views.delete',
  params: { view_id: 'view_id' },
  change: ({ view_id }) => ({ before: { view_id }, after: null }),
  reads: {
    view: readView,
    results: { ...read('platform.views.results', { view_id: 'view_id' }), allowFailure: true },
  },
  observe: ({ view, results }) =>
    view.found
      ? {
          rows_on_first_page: listAt(responseBody(results), 'data')?.length ?? null,
          failure: results.found ? null : results.failure,
        }
      : null,
  evaluate: (observed, { reason }) => {
    if (observed === null) return satisfied('the view is gone');
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
  detail: inputs,
  action: drop,
  summary: ({ subject_name, detail }) =>
    `delete saved view ${subject_name ?? detail.view_id}, ${detail.reason === 'failed' ? 'whose query fails' : 'which returns no rows'}`,
});
