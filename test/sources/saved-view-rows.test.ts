import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { formatRows } from '../../src/extract/sources/saved-views.ts';
import type { RunResult } from '../../src/run/run.ts';
import { unpackLandings } from '../helpers/landings.ts';
import { testProject } from '../helpers/test-project.ts';

const ITEMS = [
  '{"id":"ws-1","type":"visibility-workspace","attributes":{"a-b":1.50,"large":12345678901234567890,"quo\\"te-d":{"in-ner":[null]}}}',
  '{"id":"ws-2","type":"visibility-workspace","attributes":{"a-b":1,"a_b":2,"c-d":null}}',
  '{"id":"ws-3","type":"visibility-workspace","attributes":{}}',
];
const PAGE = `{"data": [${ITEMS.join(' ,\n')}], "meta": {"pagination": {"next-page": null, "total-count": 3}}}`;
const ROWS = [
  {
    position: '1',
    row_id: 'ws-1',
    row_type: 'visibility-workspace',
    attributes: '{"a_b":1.50,"large":12345678901234567890,"quo\\"te_d":{"in-ner":[null]}}',
  },
  { position: '2', row_id: 'ws-2', row_type: 'visibility-workspace', attributes: '{"a_b":2,"c_d":null}' },
  { position: '3', row_id: 'ws-3', row_type: 'visibility-workspace', attributes: '{}' },
];

/** One of two pages of a view. */
const page = (ids: readonly string[], next: number | null, total: number) => ({
  status: 200,
  body: JSON.stringify({
    data: ids.map((id) => ({ id, type: 'visibility-workspace', attributes: {} })),
    meta: { pagination: { 'next-page': next, 'total-pages': 2, 'total-count': total } },
  }),
});

test('each row of a saved view is landed and loaded as it was sent, row by row, so that no load needs memory for a whole page', async () => {
  const place = await testProject({
    workspaces: 2,
    faultHook: ({ path }) => (path.includes('/results') ? { status: 200, body: PAGE } : undefined),
  });
  const { run_id, pulls } = (await place.pull(['--source', 'saved_view_rows'])).json<RunResult>();
  await unpackLandings(place.folder);
  const folder = join(place.folder, 'data', 'landing', run_id);
  const [target = ''] = readdirSync(folder);
  const csv = readFileSync(join(folder, target, 'saved_view_rows.csv'), 'utf8');
  const views = readFileSync(join(folder, target, 'saved_view_rows.ndjson'), 'utf8')
    .trimEnd()
    .split('\n').length;
  expect(pulls).toMatchObject([{ status: 'complete', rows: views * ITEMS.length }]);
  expect(csv.trimEnd().split('\n')).toHaveLength(1 + views * ITEMS.length);
  expect(csv).toContain(',"{""a_b"":1.50,""large"":12345678901234567890,');
  expect(await place.rows('select distinct status, result_rows from saved_view_results')).toEqual([
    { status: 'ok', result_rows: 3 },
  ]);
  const rows = await place.rows(
    'select distinct position::varchar as position, row_id, row_type, attributes::varchar as attributes from saved_view_rows order by all',
  );
  expect(rows).toEqual(ROWS.map((row) => (row.attributes === '{}' ? { ...row, attributes: null } : row)));
});

test('saved views without any row, or whose query fails, have no rows, and their outcome', async () => {
  let answers = 0;
  const place = await testProject({
    workspaces: 2,
    faultHook: ({ path }) => {
      if (!path.includes('/results')) return undefined;
      return answers++ === 0
        ? { status: 422, body: '{"errors":[{"title":"no such field"}]}' }
        : { status: 200, body: '{"data": []}' };
    },
  });
  const { pulls } = (await place.pull(['--source', 'saved_view_rows'])).json<RunResult>();
  expect(pulls).toMatchObject([{ status: 'complete', rows: 0 }]);
  expect(await place.rows('select distinct status, result_rows, error from saved_view_results order by all')).toEqual([
    { status: 'failed', result_rows: null, error: 'no such field' },
    { status: 'ok', result_rows: 0, error: null },
  ]);
});

test('a saved view that changes while it is read, or is refused at a later page, has the rows of its last reading alone', async () => {
  const views: string[] = [];
  let hasChanged = false;
  const place = await testProject({
    workspaces: 2,
    faultHook: ({ path, query }) => {
      const view = /views\/([^/]+)\/results/u.exec(path)?.[1];
      if (view === undefined) return undefined;
      if (!views.includes(view)) views.push(view);
      const isSecond = query.get('page[number]') === '2';
      if (view !== views[0])
        return isSecond ? { status: 422, body: '{"errors":[{"title":"no such field"}]}' } : page(['ws-9'], 2, 2);
      if (!isSecond) return page(hasChanged ? ['ws-2'] : ['ws-1'], 2, 2);
      const last = page(['ws-3'], null, hasChanged ? 2 : 3);
      hasChanged = true;
      return last;
    },
  });
  const { pulls } = (await place.pull(['--source', 'saved_view_rows'])).json<RunResult>();
  expect(pulls).toMatchObject([{ status: 'complete', rows: 2 }]);
  expect(await place.rows('select position::int as position, row_id from saved_view_rows order by all')).toEqual([
    { position: 1, row_id: 'ws-2' },
    { position: 2, row_id: 'ws-3' },
  ]);
  const results = await place.rows('select distinct status, result_rows from saved_view_results order by all');
  expect(results).toEqual([
    { status: 'failed', result_rows: null },
    { status: 'ok', result_rows: 2 },
  ]);
});

test('a saved view that changes at every reading is unknown, and keeps its rows; where all of them do, the source fails', async () => {
  const views: string[] = [];
  let readings = 0;
  let isChanging = (_view: string) => false;
  const place = await testProject({
    workspaces: 2,
    faultHook: ({ path, query }) => {
      const view = /views\/([^/]+)\/results/u.exec(path)?.[1];
      if (view === undefined) return undefined;
      if (!views.includes(view)) views.push(view);
      const number = query.get('page[number]') ?? '1';
      const id = isChanging(view) && number === '2' ? `ws-later-${readings++}` : `ws-${number}`;
      return page([id], number === '1' ? 2 : null, 2);
    },
  });
  const pull = async (exit: number) => {
    const { pulls } = (await place.pull(['--source', 'saved_view_rows'], exit)).json<RunResult>();
    return pulls[0];
  };
  expect(await pull(0)).toMatchObject({ status: 'complete', rows: 2 * views.length });
  const all = () => place.rows('select view_id, row_id from saved_view_rows order by all');
  const before = await all();

  const [first = ''] = views;
  isChanging = (view) => view === first;
  expect(await pull(1)).toMatchObject({ status: 'partial', deleted: 0 });
  expect(await all()).toEqual(before);
  expect(await place.rows("select part, value, reason from unknown_parts where source = 'saved_view_rows'")).toEqual([
    { part: 'view_id', value: first, reason: 'other rows than before, 3 times in a row' },
  ]);

  isChanging = () => true;
  expect(await pull(3)).toMatchObject({ status: 'failed', error: expect.stringContaining('3 times in a row') });
  expect(await all()).toEqual(before);
});

/** A platform whose saved views have a page of results each, but where `answer` says otherwise. @returns also the views that were asked for */
async function withViews(answer: (view: string) => { status: number; body: string } | undefined) {
  const views: string[] = [];
  const place = await testProject({
    workspaces: 2,
    faultHook: ({ path }) => {
      const view = /views\/([^/]+)\/results/u.exec(path)?.[1];
      if (view === undefined) return undefined;
      if (!views.includes(view)) views.push(view);
      return answer(view) ?? { status: 200, body: PAGE };
    },
  });
  return { place, views };
}

test('up to three saved views that overload the service are unknown, and keep their rows; where more do, the source fails', async () => {
  let slow: readonly string[] = [];
  const { place, views } = await withViews((view) => (slow.includes(view) ? { status: 504, body: '' } : undefined));
  const pull = async (exit: number) => {
    const timeouts = { backoffMs: 1, maxBackoffMs: 2, attempts: 2 };
    const run = await place.tidemark(['pull', '--source', 'saved_view_rows', '--json'], { timeouts });
    expect(run.exit).toBe(exit);
    return run.json<RunResult>().pulls[0];
  };
  const all = () => place.rows('select view_id, row_id from saved_view_rows order by all');
  await pull(0);
  const before = await all();

  slow = views.slice(0, 3);
  expect(await pull(1)).toMatchObject({ status: 'partial', deleted: 0 });
  expect(await all()).toEqual(before);
  const unknown = await place.rows("select value, reason from unknown_parts where source = 'saved_view_rows'");
  expect(new Set(unknown.map(({ value }) => value))).toEqual(new Set(slow));
  expect(unknown.map(({ reason }) => reason)).toEqual(slow.map(() => '504 server'));

  slow = views.slice(0, 4);
  expect(views.length).toBeGreaterThan(4);
  expect(await pull(3)).toMatchObject({ status: 'failed', error: expect.stringContaining('504 server') });
  expect(await all()).toEqual(before);
});

test('where one of two saved views is rejected and the other one refused, nothing is known of either: the rows of both stay', async () => {
  let isRefused = false;
  const { place, views } = await withViews((view) => {
    return isRefused ? { status: view === views[0] ? 422 : 403, body: '{"errors":[{"title":"no"}]}' } : undefined;
  });
  await place.pull(['--source', 'saved_view_rows']);
  const all = () => place.rows('select view_id, row_id from saved_view_rows order by all');
  const before = await all();
  isRefused = true;
  await place.pull(['--source', 'saved_view_rows'], 3);
  expect(await all()).toEqual(before);
});

test('a list that changes at three readings is extracted once more', async () => {
  let readings = 0;
  const place = await testProject({
    workspaces: 2,
    faultHook: ({ path }) => {
      if (!path.endsWith('/views')) return undefined;
      const view = { id: 'sq-1', type: 'explorer-saved-queries', attributes: { name: 'one' } };
      const meta = { pagination: { 'next-page': null, 'total-pages': 1, 'total-count': readings++ < 3 ? 2 : 1 } };
      return { status: 200, body: JSON.stringify({ data: [view], meta }) };
    },
  });
  const { pulls } = (await place.pull(['--source', 'saved_views'])).json<RunResult>();
  expect(pulls).toMatchObject([{ status: 'complete', rows: 1 }]);
  expect(readings).toBe(4);
});

test('of a field in both spellings, the one with underscores is kept, and the order in which they come does not matter', () => {
  const rows = ['{"a-b":1,"a_b":2,"c-d":3}', '{"a_b":2,"a-b":1,"c-d":3}'].map(
    (attributes) => `{"attributes":${attributes}}`,
  );
  const cells = [...formatRows('v', 0, rows)].map((row) => JSON.parse(row.at(-1)!));
  expect(cells).toEqual(Array(2).fill({ a_b: 2, c_d: 3 }));
});
