import { existsSync } from 'node:fs';
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import type { Config } from '../../src/config/config.ts';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { closeRun } from '../../src/lake/close.ts';
import { publishToLake } from '../../src/lake/publish.ts';
import { restoreFromLake } from '../../src/lake/restore.ts';
import type { LakeStore } from '../../src/lake/store.ts';
import { openDatabase } from '../../src/warehouse/database.ts';
import { migrate } from '../../src/warehouse/migrate.ts';
import { warehouseFiles } from '../../src/warehouse/publish.ts';
import { createSqlFiles } from '../../src/warehouse/sql-files.ts';
import type { Row } from '../../src/warehouse/values.ts';
import { lakeProject } from '../helpers/lake-project.ts';
import { createReportWarehouse, QUIET, workspace } from '../helpers/report-warehouse.ts';

const night = (day: number) => `2026-11-0${day}T02:15:00Z`;
const root = { root_id: 'root-1', name: 'root' };
const certificate = (id: string) => ({ fingerprint: id, root_id: 'root-1', subject: id });
const CHANGES = `select changes.at, "table", key, change, "column" from changes order by all`;

/** Takes a column and a table away from a file, as the program of an earlier version has published it. */
async function makeEarlier(file: string): Promise<void> {
  const database = await openDatabase(file);
  await database.run('alter table workspaces_history drop column tags');
  await database.run('drop table authority_certificates_history');
  await database.run('drop table if exists additions');
  await database.run('checkpoint');
  database.close();
}

/** A lake with one night. @param change the warehouse before it is published */
async function publishNight(change: (file: string) => Promise<void>) {
  const warehouse = await createReportWarehouse();
  await warehouse.pull(night(1), { workspaces: [workspace('blue')], ca_roots: [root] });
  await warehouse.database.run('checkpoint');
  const project = await lakeProject();
  const { published } = warehouseFiles(project.config.data);
  await copyFile(warehouse.file, published);
  await change(published);
  await project.publish();
  return project;
}

/** Two nights more, the first with what the lake did not have. */
async function pullNights(file: string) {
  const warehouse = await createReportWarehouse([PACKAGE_ROOT], file);
  const blue = (tags: readonly string[]) => ({ ...workspace('blue'), tags });
  const certificates = (...ids: readonly string[]) => ({
    ca_roots: [root],
    authority_certificates: ids.map(certificate),
  });
  await warehouse.pull(night(2), { workspaces: [blue(['a'])], ...certificates('one') });
  await warehouse.pull(night(3), { workspaces: [blue(['b'])], ...certificates('one', 'two') });
  await warehouse.database.run('checkpoint');
  return warehouse;
}

const OF_THE_LAST_NIGHT = [
  { at: night(3), table: 'authority_certificates', key: 'two', change: 'new', column: null },
  { at: night(3), table: 'workspaces', key: 'ws-blue', change: 'changed', column: 'tags' },
];

test('a table or column that the lake does not have begins with its first night', async () => {
  const project = await publishNight(makeEarlier);
  const warehouse = await pullNights(await project.restored());
  expect(await warehouse.database.rows(CHANGES)).toMatchObject(OF_THE_LAST_NIGHT);
});

test('what an update added is told of a restored warehouse as of the one that was published', async () => {
  const project = await publishNight(async (file) => {
    await makeEarlier(file);
    const database = await openDatabase(file);
    const files = createSqlFiles([PACKAGE_ROOT]);
    await database.run('delete from schema_digest');
    await migrate(database, files);
    database.close();
  });
  const { published } = warehouseFiles(project.config.data);
  await copyFile((await pullNights(published)).file, published);
  expect(await project.inWarehouse(CHANGES)).toMatchObject(OF_THE_LAST_NIGHT);
  await project.publish();
  const database = await openDatabase(await project.restored(), { readOnly: true });
  expect(await database.rows(CHANGES)).toMatchObject(OF_THE_LAST_NIGHT);
  database.close();
});

test('a restore that is killed leaves nothing that a run goes on with, and the next one begins again', async () => {
  const project = await lakeProject({ tables: 'few' });
  await project.night('2026-10-01T02:15:00Z');
  await project.publish();
  const config = { ...project.config, data: join(project.folder, 'restored') };
  const { work, published } = warehouseFiles(config.data);
  const left = join(dirname(work), 'restoring', 'warehouse.duckdb');
  await mkdir(dirname(left), { recursive: true });
  for (const file of [left, `${left}.wal`]) await writeFile(file, 'left by a kill');
  const seen: boolean[] = [];
  const store: LakeStore = {
    ...project.store,
    locate(path) {
      seen.push(existsSync(left), existsSync(work) || existsSync(published));
      return project.store.locate(path);
    },
  };
  const restored = await restoreFromLake({ config, store, now: new Date(), log: QUIET });
  expect(restored.losses).toEqual([]);
  expect(seen.slice(0, 2)).toEqual([true, false]);
  expect(seen.filter((_, index) => index % 2 === 1)).not.toContain(true);
  expect([existsSync(published), existsSync(dirname(left))]).toEqual([true, false]);
});

test('a shard gets its targets as they are in the lake, whoever has published them, and takes no others from it', async () => {
  const project = await lakeProject({ tables: ['partial_periods'] });
  const { store, folder, inLake } = project;
  const about = (target: string) => [
    `insert into findings by name select 'f-${target}' as finding_id, '${target}' as target, 'r' as rule, 'warning' as severity, 's' as subject_type,
      's' as subject_id, 't' as title, 'accepted' as state, timestamptz '${night(1)}' as first_seen, timestamptz '${night(1)}' as last_seen, 0 as times_reopened`,
    `insert into finding_events values ('f-${target}', '${target}', 'r', timestamptz '${night(1)}', 'accepted', 'warning', 'accepted', null)`,
    `insert into autoscaler_health_history (target, alive, valid_from) values ('${target}', true, '${night(1)}')`,
    `insert into partial_periods values ('${target}', 'r', timestamptz '${night(1)}')`,
    `insert into pulls by name select '20261101T021500Z' as run_id, '${target}' as target, 'agents' as source, 'complete' as status, timestamptz '${night(1)}' as started_at,
      timestamptz '${night(1)}' as finished_at, timestamptz '${night(1)}' as as_of`,
  ];
  const told = ['autoscaler_health_history', 'findings', 'finding_events', 'partial_periods', 'pulls'].map(
    (table) => `select '${table}' as told, target from ${table}`,
  );
  const query = `select told || ' of ' || target as told from (${told.join(' union all ')}) order by all`;
  const list = (rows: readonly Row[]) => rows.map((row) => row.told);
  const shard = (index: number, ...names: readonly string[]) => ({
    ...project.config,
    data: join(folder, 'data', String(index)),
    targets: names.flatMap((name) => project.config.targets.map((target) => ({ ...target, name }))),
    shard: { index, count: 2 },
  });
  const publish = async (config: Config, day: number) => {
    await publishToLake({ config, store, now: new Date(night(day)) });
    const database = await openDatabase(':memory:');
    const files = createSqlFiles([PACKAGE_ROOT]);
    const { signal } = new AbortController();
    const run = night(day).slice(0, 10);
    await closeRun({ store, database, files, run, shards: 2, shrinkPercent: 50, nowMs: 0, signal });
    database.close();
  };
  await project.night(night(1), ...about('a'), ...about('b'));
  await publish({ ...shard(1, 'a', 'b'), data: project.config.data }, 1);
  const before = list(await inLake(query));
  for (const [index, name] of ['a', 'b'].entries()) {
    const config = shard(index + 1, name);
    await restoreFromLake({ config, store, now: new Date(), log: QUIET });
    const database = await openDatabase(warehouseFiles(config.data).published);
    expect(list(await database.rows(query))).toEqual(before.filter((text) => String(text).endsWith(name)));
    await database.run(
      `insert into runs by name select 'r' as run_id, 'nightly' as job, 'complete' as status, timestamptz '${night(2)}' as started_at`,
    );
    database.close();
    await publish(config, 2);
    expect(list(await inLake(query))).toEqual(before);
  }
});
