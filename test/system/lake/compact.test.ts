import { execFileSync } from 'node:child_process';
import { cp, mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { PACKAGE_ROOT } from '../../../src/core/paths.ts';
import { chooseFiles } from '../../../src/lake/data-files.ts';
import type { AddAction } from '../../../src/lake/delta-log.ts';
import { verifyLake } from '../../../src/lake/maintain.ts';
import { createLakeReader } from '../../../src/lake/reader.ts';
import { isPast } from '../../../src/lake/table.ts';
import { type Database, openDatabase } from '../../../src/warehouse/database.ts';
import { createSqlFiles } from '../../../src/warehouse/sql-files.ts';
import { cli } from '../../helpers/cli.ts';
import { type LakeProject, lakeProject } from '../../helpers/lake-project.ts';
import { oldNights } from '../../helpers/old-lake.ts';
import { tempFolder } from '../../helpers/temp.ts';

const HEALTH = 'insert into autoscaler_health_history (target, alive, valid_from, valid_to) values';
const METRICS = 'insert into autoscaler_metrics_history by name';
const files = createSqlFiles([PACKAGE_ROOT]);

async function withDatabase<T>(work: (database: Database) => Promise<T>): Promise<T> {
  const database = await openDatabase(':memory:');
  return work(database).finally(() => database.close());
}

/** The files of each table that a reader opens. */
const listFiles = ({ store }: LakeProject): Promise<ReadonlyMap<string, readonly AddAction[]>> =>
  withDatabase(async (database) => {
    const snapshots = await createLakeReader({ store, database, files, nowMs: 0 }).snapshots();
    return new Map([...snapshots].map(([table, snapshot]) => [table, [...snapshot.files.values()]]));
  });

const verify = ({ store }: LakeProject) => withDatabase((database) => verifyLake({ store, database, files, nowMs: 0 }));

async function expectSameHistory(project: LakeProject, ...tables: readonly string[]): Promise<void> {
  for (const table of tables) {
    const sql = `select columns(*)::varchar from ${table}_history order by all`;
    expect(await project.inLake(sql), table).toEqual(await project.inWarehouse(sql));
  }
}

describe('the files of a lake', () => {
  test('are at most ten for each small table after many nights, and a publish opens none of those with the past', async () => {
    const project = await lakeProject({ tables: 'few' });
    const time = (night: number) => new Date(Date.UTC(2026, 8, 1 + night, 2, 15)).toISOString();
    const publishNight = async (night: number) => {
      const asOf = time(night);
      await project.night(
        asOf,
        `update autoscaler_health_history set valid_to = '${asOf}' where target = 'a' and valid_to is null`,
        `${HEALTH} ('a', ${night % 2 === 0}, '${asOf}', null), ('n${night}', true, '${asOf}', null)`,
        `update autoscaler_metrics_history set measured_at = timestamptz '${asOf}'`,
        `${METRICS} select 'a' as target, 'gauge' as kind, 'm${night}' as name, '{}'::json as labels, ${night} as value,
          timestamptz '${asOf}' as measured_at, timestamptz '${asOf}' as valid_from`,
        `insert into finding_events values ('f', 'a', 'r', '${asOf}', 'new', 'warning', 'found', 'night ${night}')`,
      );
      await project.publish();
    };
    for (let night = 0; night < 14; night++) {
      await publishNight(night);
      const opened = await listFiles(project);
      expect(Math.max(...[...opened.values()].map((adds) => adds.length)), `night ${night}`).toBeLessThanOrEqual(10);
    }
    const past = [...(await listFiles(project))].flatMap(([table, adds]) =>
      adds.filter(isPast).map(({ path }) => join(table, path)),
    );
    expect(past.map((path) => dirname(path))).toContain('autoscaler_health_changes');
    const aside = await tempFolder();
    for (const path of past) {
      await mkdir(dirname(join(aside, path)), { recursive: true });
      await cp(join(project.store.name, path), join(aside, path));
      await rm(join(project.store.name, path));
    }
    await publishNight(14);
    for (const path of past) await cp(join(aside, path), join(project.store.name, path));
    expect(await verify(project)).toMatchObject({ problems: [], unnamed: 0 });
    await expectSameHistory(project, 'autoscaler_health', 'autoscaler_metrics');
    const events = 'select note from finding_events order by changed_at';
    expect(await project.inLake(events)).toEqual(await project.inWarehouse(events));
    await project.expectRestored();
  });

  test('are put together from the smallest on, without one that is much larger', () => {
    const add = (size: number) => ({ path: String(size), size }) as AddAction;
    const choose = (...sizes: readonly number[]) => chooseFiles(sizes.map(add)).map(({ size }) => size);
    expect(choose(1, 2, 3, 4)).toEqual([]);
    expect(choose(4, 3, 2, 1, 5)).toEqual([1, 2, 3, 4, 5]);
    expect(choose(1, 1, 1, 1, 16)).toEqual([1, 1, 1, 1, 16]);
    expect(choose(1, 1, 1, 1, 17)).toEqual([1, 1, 1, 1]);
    expect(choose(1, 1, 100, 1_000, 10_000, 100_000)).toEqual([1, 1]);
    expect(choose(1, 1, 1, 1, 64 * 1024 ** 2)).toEqual([]);
  });

  test('with rows that no publish has made visible yet keep them', async () => {
    const project = await lakeProject({ tables: 'few' });
    const failing = {
      ...project.store,
      createIfAbsent: (path: string, content: string) => {
        if (path.startsWith('runs_changes/')) throw new Error('killed');
        return project.store.createIfAbsent(path, content);
      },
    };
    for (let day = 1; day <= 9; day++) {
      const asOf = `2026-10-0${day}T02:15:00Z`;
      await project.night(
        asOf,
        `update autoscaler_health_history set valid_to = '${asOf}' where valid_to is null`,
        `${HEALTH} ('a', true, '${asOf}', null)`,
      );
      if (day % 2 === 0) await expect(project.publish(failing)).rejects.toThrow('killed');
      await project.publish();
      await expectSameHistory(project, 'autoscaler_health');
    }
    await project.expectRestored();
  });
});

describe('a lake of an earlier version', () => {
  const openOld = async (): Promise<LakeProject> => {
    const project = await lakeProject({ tables: 'few' });
    for (const changes of oldNights) await project.night(...changes);
    await mkdir(project.store.name);
    execFileSync('tar', ['xzf', join(import.meta.dirname, 'lake-0.1.0.tar.gz'), '-C', project.store.name]);
    return project;
  };

  test('is read, verified and restored as it is, and verify says that no publish states what its logs have', async () => {
    const project = await openOld();
    await expectSameHistory(project, 'autoscaler_health', 'autoscaler_metrics');
    await project.expectRestored();
    const verified = await cli(['lake', 'verify'], { cwd: project.folder });
    expect(verified).toMatchObject({ exit: 0, stderr: expect.stringContaining('no publish states') });
  });

  test('gets the present layout with the next publish, and its states are no longer read', async () => {
    const project = await openOld();
    const before = await listFiles(project);
    await project.night('2026-10-03T02:15:00Z', `${HEALTH} ('c', true, '2026-10-03T02:15:00Z', null)`);
    const { tables } = await project.publish();
    // Other tables may have got columns since.
    expect(tables.filter(({ rows }) => rows > 0)).toMatchObject([
      { table: 'autoscaler_health_changes', rows: 1 },
      { table: 'runs_changes', rows: 1 },
    ]);
    const after = await listFiles(project);
    for (const [table, adds] of after) {
      if (table.endsWith('_state')) expect(adds).toEqual(before.get(table));
      else expect(adds.map(({ partitionValues }) => partitionValues)).toEqual(adds.map(() => ({})));
    }
    for (const table of after.keys()) {
      if (table.endsWith('_state')) await rm(join(project.store.name, table), { recursive: true });
    }
    expect(await project.publish()).toMatchObject({ publish: null });
    expect(await verify(project)).toMatchObject({ problems: [], isStated: true });
    await expectSameHistory(project, 'autoscaler_health', 'autoscaler_metrics');
    await project.expectRestored();
  });
});
