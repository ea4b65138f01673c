import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { verifyLake } from '../../src/lake/maintain.ts';
import { createLakeReader } from '../../src/lake/reader.ts';
import type { LakeStore } from '../../src/lake/store.ts';
import { createLakeViews } from '../../src/lake/views.ts';
import { openDatabase } from '../../src/warehouse/database.ts';
import { createSqlFiles } from '../../src/warehouse/sql-files.ts';
import { lakeProject } from '../helpers/lake-project.ts';

const files = createSqlFiles([PACKAGE_ROOT]);

test('a publish that has nothing to add and ends meanwhile is none', async () => {
  const project = await lakeProject({ tables: 'few' });
  await project.night('2026-10-01T02:15:00Z');
  await project.publish();
  const taken = { path: '_publishes/0000002048.json', bytes: 2, modifiedMs: 0 };
  const store: LakeStore = {
    ...project.store,
    list: async (path) => [...(await project.store.list(path)), ...(path === '_publishes' ? [taken] : [])],
  };
  const database = await openDatabase(':memory:', { threads: 1 });
  try {
    expect(await verifyLake({ store, database, files, nowMs: 0 })).toMatchObject({ problems: [], isStated: true });
  } finally {
    database.close();
  }
});

test('a folder beside the tables that has no name of one is not looked into', async () => {
  const project = await lakeProject({ tables: 'few' });
  await project.night('2026-10-01T02:15:00Z');
  await project.publish();
  const store: LakeStore = {
    ...project.store,
    folders: async () => ['lost+found', ...(await project.store.folders())],
    read: async (path) =>
      path.startsWith('lost+found') ? Promise.reject(new Error('EACCES')) : project.store.read(path),
  };
  const database = await openDatabase(':memory:', { threads: 1 });
  try {
    expect(await verifyLake({ store, database, files, nowMs: 0 })).toMatchObject({ problems: [] });
  } finally {
    database.close();
  }
});

test('a run that is published while the logs are read is seen as a whole, or not at all', async () => {
  const project = await lakeProject({ tables: 'few' });
  const publishNight = async (day: number) => {
    const asOf = `2026-10-0${day}T02:15:00Z`;
    const health = `insert into autoscaler_health_history (target, alive, valid_from) values ('a${day}', true, '${asOf}')`;
    await project.night(asOf, health);
    await project.publish();
  };
  await publishNight(1);
  let meanwhile = async () => {
    meanwhile = async () => {};
    await sleep(100);
    await publishNight(2);
  };
  const store: LakeStore = {
    ...project.store,
    async list(path, after) {
      if (path === 'runs_changes/_delta_log') await meanwhile();
      return project.store.list(path, after);
    },
  };
  const database = await openDatabase(':memory:', { threads: 1 });
  try {
    await createLakeViews(createLakeReader({ store, database, files, nowMs: 0 }));
    const sql =
      'select (select count(*)::int from runs) as runs, (select count(*)::int from autoscaler_health) as rows';
    expect(await database.rows(sql)).toEqual([{ runs: 2, rows: 2 }]);
  } finally {
    database.close();
  }
});

test('a number that was taken back, and that the bucket does not create again, is passed over', async () => {
  const project = await lakeProject({ tables: 'few' });
  const removed = new Set<string>();
  // As versitygw does in a bucket with versions.
  const store: LakeStore = {
    ...project.store,
    createIfAbsent: async (path, content) => !removed.has(path) && project.store.createIfAbsent(path, content),
    remove: (path) => project.store.remove(path).then(() => void removed.add(path)),
  };
  await project.night('2026-10-01T02:15:00Z');
  expect(await project.publish(store)).toMatchObject({ publish: 1024 });
  for (let time = 1; time <= 3; time++) expect(await project.publish(store)).toMatchObject({ publish: null });
  await project.night('2026-10-02T02:15:00Z');
  expect(await project.publish(store)).toMatchObject({ publish: 5 * 1024 });
  await project.expectRestored();
});
