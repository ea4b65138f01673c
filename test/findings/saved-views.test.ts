import { expect, test } from 'vitest';
import { createFindingsWarehouse, type Rows } from '../helpers/findings-warehouse.ts';

const NOW = '2026-11-20T02:15:00Z';
const DAYS_30 = '2026-10-21T02:15:00Z';
const JUST_LESS = '2026-10-21T02:15:01Z';

const view = (id: string): Rows[number] => ({ view_id: id, name: `view ${id}`, query_type: 'workspaces' });
const result = (id: string, rows: number | null, status: string | null = 'ok'): Rows[number] => ({
  view_id: id,
  status,
  result_rows: rows,
  ...(status === 'failed' && { error: 'unknown field' }),
});

test('dead-saved-view: its query fails, or has returned no rows for deadViewDays by history', async () => {
  const warehouse = await createFindingsWarehouse();
  const answers = (at: string, results: Rows) =>
    warehouse.pull(at, 'acme', 'saved_view_rows', { saved_view_results: results });
  await answers('2026-10-01T02:15:00Z', [
    result('long-empty', 0),
    result('emptied', 4),
    result('emptied-late', 4),
    result('back', 4),
  ]);
  await answers(DAYS_30, [
    result('long-empty', 0),
    result('emptied', 0),
    result('emptied-late', 4),
    result('back', 0),
    result('first-seen-empty', 0),
  ]);
  await answers(JUST_LESS, [
    result('long-empty', 0),
    result('emptied', 0),
    result('emptied-late', 0),
    result('back', 1),
    result('first-seen-empty', 0),
  ]);
  await answers('2026-11-01T02:15:00Z', [
    result('long-empty', 0),
    result('emptied', null, 'failed'),
    result('emptied-late', 0),
    result('back', 0),
    result('first-seen-empty', 0),
  ]);
  await warehouse.pull(NOW, 'acme', 'saved_views', {
    saved_views: [
      ...['long-empty', 'emptied', 'emptied-late', 'back', 'first-seen-empty'],
      ...['fails', 'full', 'no-answer', 'no-count', 'young'],
    ].map(view),
  });
  await answers(NOW, [
    result('long-empty', 0),
    result('emptied', 0),
    result('emptied-late', 0),
    result('back', 0),
    result('first-seen-empty', 0),
    result('fails', null, 'failed'),
    result('full', 1),
    result('no-count', null),
    result('young', 0),
  ]);
  await warehouse.pull(NOW, 'other', 'saved_views', { saved_views: [view('fails')] });
  await warehouse.pull(NOW, 'other', 'saved_view_rows', { saved_view_results: [result('fails', 3)] });
  await warehouse.evaluate(NOW);

  expect(await warehouse.seen('dead-saved-view')).toEqual({
    found: ['emptied', 'fails', 'first-seen-empty', 'long-empty'],
    unknown: ['no-answer', 'no-count'],
  });
  const rows = Object.fromEntries((await warehouse.findings('dead-saved-view')).map((row) => [row.subject_id, row]));
  expect(rows.fails).toMatchObject({
    target: 'acme',
    title: 'The query of saved view view fails fails',
    detail: { view_id: 'fails', reason: 'failed', error: 'unknown field', empty_since: null },
  });
  expect(rows.emptied).toMatchObject({
    title: 'Saved view view emptied has returned no rows since 2026-10-21',
    detail: { reason: 'empty', empty_since: '2026-10-21T02:15:00.000Z' },
  });
});
