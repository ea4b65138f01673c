import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { readPublishedUntil } from '../../src/lake/publish.ts';
import { removeOldHistory } from '../../src/run/retention.ts';
import { openDatabase } from '../../src/warehouse/database.ts';
import { warehouseFiles } from '../../src/warehouse/publish.ts';
import { createSqlFiles } from '../../src/warehouse/sql-files.ts';
import { bareTable, rowsAsOf } from '../helpers/bare-delta.ts';
import { type LakeProject, lakeProject } from '../helpers/lake-project.ts';
import { MetricNights, nightTime } from '../helpers/metric-nights.ts';
import { createRandom } from '../helpers/rate-simulation.ts';

const NIGHTS = 200;
const files = createSqlFiles([PACKAGE_ROOT]);

const sorted = (rows: readonly unknown[]) => rows.map((row) => JSON.stringify(row)).sort();

/** What lies before the last three pulls of each source that the horizon and the lake leave goes from the warehouse. */
async function prune({ config, store }: LakeProject, now: Date, horizon: Date): Promise<void> {
  const until = await readPublishedUntil({ config, store, now });
  const database = await openDatabase(warehouseFiles(config.data).published, { threads: 1 });
  const earlier = until && until < horizon ? until : horizon;
  if (until) await removeOldHistory({ database, files }, earlier, now);
  database.close();
}

/** Writes the warehouse again, as a compaction does: its rows are in other places then. */
async function rewrite({ config }: LakeProject): Promise<void> {
  const { published } = warehouseFiles(config.data);
  const database = await openDatabase(':memory:', { threads: 1 });
  await database.run(`attach '${published}' as old (read_only)`);
  await database.run(`attach '${published}.next' as copied`);
  await database.run('copy from database old to copied');
  database.close();
  await rename(`${published}.next`, published);
}

async function expectLake(
  { folder, inLake, inWarehouse }: LakeProject,
  model: MetricNights,
  nights: readonly number[],
) {
  const table = (name: string) => bareTable(join(folder, 'lake', `${name}_changes`));
  const [runs, metrics, findings, events] = (await Promise.all(
    ['runs', 'autoscaler_metrics', 'findings', 'finding_events'].map(table),
  )) as [string, string, string, string];
  const database = await openDatabase(':memory:', { threads: 1 });
  const last = nightTime(model.night);
  for (const night of nights) {
    const rows = rowsAsOf(metrics, runs, 'target, kind, name', nightTime(night));
    const read = await database.rows(`select target, name, value from ${rows}`);
    expect(sorted(read), `night ${night} at ${model.night}`).toEqual(sorted(model.rowsAt(night)));
  }
  const states = await database.rows(`select finding_id, state from ${rowsAsOf(findings, runs, 'finding_id', last)}`);
  expect(sorted(states)).toEqual(sorted(model.states()));
  const identity = 'finding_id, changed_at, state, occurrence';
  expect(await database.rows(`from ${rowsAsOf(events, runs, identity, last)}`)).toHaveLength(model.events);
  database.close();
  const history = 'from autoscaler_metrics_history';
  const held = new Set(sorted(await inLake(history)));
  expect(held.size).toBe(model.versions);
  expect(sorted(await inWarehouse(history)).filter((row) => !held.has(row))).toEqual([]);
}

test.each([1, 2])('a lake has every night, whatever the warehouse has removed since, seed %d', async (seed) => {
  const random = createRandom(seed);
  const project = await lakeProject();
  const model = new MetricNights(random);
  for (let night = 1; night <= NIGHTS; night++) {
    const changes = model.pass();
    await project.night(nightTime(model.night), ...changes);
    if (random() < 0.4 || night === NIGHTS) {
      await project.publish();
      const earlier = Array.from({ length: 6 }, () => Math.floor(random() * (model.night + 1)));
      if (random() < 0.12 || night === NIGHTS) await expectLake(project, model, [model.night, ...earlier]);
    }
    const now = new Date(nightTime(model.night));
    if (random() < 0.05) await prune(project, now, new Date(nightTime(model.night - 20 - 60 * random())));
    if (random() < 0.05) await rewrite(project);
  }
});
