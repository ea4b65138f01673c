import { z } from 'zod';
import { at, bodyOf, listAt } from './answers.ts';
import { simplePlaybook } from './playbook.ts';
import { step } from './step.ts';
import { changed, done, due } from './verdict.ts';

const facts = z.object({ view_id: z.string(), reason: z.enum(['failed', 'empty']) });

const drop = step(facts, {
  operation: 'platform.views.delete',
  params: { view_id: 'view_id' },
  reads: {
    view: { operation: 'platform.views.show', params: { view_id: 'view_id' } },
    results: { operation: 'platform.views.results', params: { view_id: 'view_id' }, mayFail: true },
  },
  see: ({ view, results }) =>
    at(bodyOf(view), 'data') === undefined
      ? null
      : {
          rows_on_first_page: listAt(bodyOf(results), 'data')?.length ?? null,
          failure: results.found ? null : results.failure,
        },
  judge: (seen, { reason }) => {
    if (seen === null) return done('the view is gone');
    if (reason === 'failed') return seen.failure === null ? changed('its query works again') : due;
    if (seen.rows_on_first_page === null) return changed('re-running it gave no answer');
    return seen.rows_on_first_page > 0 ? changed('it returns rows again') : due;
  },
});

export const dropDeadViews = simplePlaybook({
  name: 'drop-dead-views',
  rule: 'dead-saved-view',
  about: 'delete saved views whose query fails, or has returned nothing for long',
  table: 'saved_views',
  detail: facts,
  step: drop,
  summary: ({ subject_name, detail }) =>
    `delete saved view ${subject_name ?? detail.view_id}, ${detail.reason === 'failed' ? 'whose query fails' : 'which returns nothing'}`,
});
