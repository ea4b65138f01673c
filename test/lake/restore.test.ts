import { existsSync } from 'node:fs';
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { restoreFromLake } from '../../src/lake/restore.ts';
import type { LakeStore } from '../../src/lake/store.ts';
import { openDatabase } from '../../src/warehouse/database.ts';
import { migrate } from '../../src/warehouse/migrate.ts';
import { warehouseFiles } from '../../src/warehouse/publish.ts';
import { createSqlFiles } from '../../src/warehouse/sql-files.ts';
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
