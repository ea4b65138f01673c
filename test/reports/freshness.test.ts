import { expect, test } from 'vitest';
import { createFindingsWarehouse } from '../helpers/findings-warehouse.ts';

const NOW = '2026-11-20T02:00:00Z';
const HOUR_AGO = '2026-11-20T01:00:00Z';
const WEEK_AGO = '2026-11-13T02:00:00Z';
const TOMORROW = '2026-11-21T02:00:00Z';

/** The pulls of a source in their order, and what pages say of it. */
const SOURCES: Readonly<Record<string, { pulls: readonly (readonly [string, string])[]; state: string }>> = {
  fresh: { pulls: [[HOUR_AGO, 'complete']], state: 'fresh' },
  old: { pulls: [[WEEK_AGO, 'complete']], state: 'stale' },
  failed: {
    pulls: [
      [WEEK_AGO, 'complete'],
      [HOUR_AGO, 'failed'],
    ],
    state: 'stale',
  },
  withdrawn: {
    pulls: [
      [HOUR_AGO, 'complete'],
      [NOW, 'unsupported'],
    ],
    state: 'stale',
  },
  ahead: { pulls: [[TOMORROW, 'complete']], state: 'stale' },
  never: { pulls: [[HOUR_AGO, 'unsupported']], state: 'unknown' },
};

test('pages of reports and of serve call the same sources stale', async () => {
  const { database, files } = await createFindingsWarehouse();
  for (const [source, { pulls }] of Object.entries(SOURCES))
    for (const [at, status] of pulls)
      await database.run(
        `insert into pulls (run_id, target, source, status, started_at, as_of)
         values ($at, 'acme', $source, $status, $at::timestamptz, $at::timestamptz)`,
        { at, source, status },
      );
  const params = { as_of: TOMORROW, staleness_at: NOW, stale_hours: 36 };
  const served = await database.rows(files.read('serve/sources'), params);
  const reported = await database.rows(files.read('reports/freshness'), {
    ...params,
    sources: JSON.stringify(Object.keys(SOURCES)),
    lifecycle_days: 90,
  });
  const states = Object.entries(SOURCES).map(([source, { state }]) => ({ source, state }));
  expect(served.map(({ source, state }) => ({ source, state }))).toEqual(expect.arrayContaining(states));
  const stale = states.filter(({ state }) => state === 'stale').map(({ source }) => source);
  expect(reported.filter((row) => row.stale).map(({ source }) => source)).toEqual(stale.sort());
});
