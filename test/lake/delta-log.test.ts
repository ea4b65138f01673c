import { afterAll, describe, expect, test } from 'vitest';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { writeRows } from '../../src/lake/data-files.ts';
import {
  type Action,
  APP_ID,
  checkpointPath,
  commitPath,
  NO_TABLE,
  PROTOCOL,
  replay,
  type Snapshot,
  toSchemaString,
} from '../../src/lake/delta-log.ts';
import { appendCommit, checkpointIfDue } from '../../src/lake/log.ts';
import { vacuumLake } from '../../src/lake/maintain.ts';
import { createLakeReader } from '../../src/lake/reader.ts';
import { createDirectoryStore, type LakeStore } from '../../src/lake/store.ts';
import { evolveFields, type LakeRelation, newMetaData } from '../../src/lake/table.ts';
import { openDatabase } from '../../src/warehouse/database.ts';
import { createSqlFiles } from '../../src/warehouse/sql-files.ts';
import { tempFolder } from '../helpers/temp.ts';

const files = createSqlFiles([PACKAGE_ROOT]);
const database = await openDatabase(':memory:');
afterAll(() => database.close());
const described = newMetaData('t', '', 0);
const metaData = {
  ...described,
  schemaString: toSchemaString([{ name: 'op', type: 'string', nullable: true, metadata: {} }]),
  configuration: { ...described.configuration, note: `it's "here"` },
};
const created: readonly Action[] = [{ protocol: PROTOCOL }, { metaData }];
const add = (path: string): Action => ({
  add: {
    path,
    partitionValues: { month: '2026-10' },
    size: 1,
    modificationTime: 0,
    dataChange: true,
    stats: JSON.stringify({ numRecords: 1, maxValues: { target: 'it\'s "quoted" \u0001 ü' } }),
    tags: { sha256: 'x' },
  },
});
const publishOf = (version: number): Action => ({ txn: { appId: APP_ID, version } });
const open = async (): Promise<LakeStore> => createDirectoryStore(await tempFolder());
const read = (store: LakeStore): Promise<Snapshot> =>
  createLakeReader({ store, database, files, nowMs: 0 }).snapshot('t');

describe('a commit', () => {
  test('takes the next version if another program has committed in between', async () => {
    const store = await open();
    await appendCommit(store, 't', -1, created);
    await appendCommit(store, 't', 0, [{ commitInfo: { operation: 'OPTIMIZE' } }]);
    expect(await appendCommit(store, 't', 0, [publishOf(1), add('a')])).toBe(2);
    const { version, files: named, transactions } = await read(store);
    expect({ version, named: [...named.keys()], transactions: [...transactions] }).toEqual({
      version: 2,
      named: ['a'],
      transactions: [[APP_ID, 1]],
    });
  });

  test('that is repeated is there once', async () => {
    const store = await open();
    await appendCommit(store, 't', -1, [...created, publishOf(1)]);
    const actions = [publishOf(2), add('a')];
    expect(await appendCommit(store, 't', 0, actions)).toBe(1);
    expect(await appendCommit(store, 't', 0, actions)).toBe(1);
    expect(await read(store)).toMatchObject({ version: 1 });
  });

  const remove = (path: string): Action => ({ remove: { path, dataChange: false, deletionTimestamp: 1 } });

  test.each<readonly [string, readonly Action[], string, readonly Action[]]>([
    ['runs_changes', [publishOf(2), add('b')], 'another publish of runs', [publishOf(1), add('a')]],
    ['t', [{ metaData }, publishOf(2)], 'one that describes the table too', [{ metaData }]],
    ['t', [remove('a'), add('b')], 'one that replaces files too', [remove('a'), add('c')]],
    ['t', [remove('a'), add('b')], 'one that describes the table', [{ metaData }]],
    ['t', [{ metaData }, remove('a'), add('b')], 'any one, if it has a new layout', [add('c')]],
  ])('of %s with %j is refused after %s', async (table, own, _, other) => {
    const store = await open();
    await appendCommit(store, table, -1, [...created, add('a')]);
    await appendCommit(store, table, 0, other);
    await expect(appendCommit(store, table, 0, own)).rejects.toThrow('another publish');
  });

  test.each<readonly [string, readonly Action[], string, readonly Action[]]>([
    ['t', [publishOf(2), add('b')], 'another publish', [publishOf(1), add('a')]],
    ['t', [publishOf(2), add('b')], 'one that describes the table', [{ metaData }]],
    ['runs_changes', [publishOf(2), add('b')], 'one that replaces files', [remove('a'), add('c')]],
    ['runs_changes', [remove('a'), add('b')], 'a publish', [publishOf(1), add('c')]],
  ])('of %s with %j follows %s', async (table, own, _, other) => {
    const store = await open();
    await appendCommit(store, table, -1, [...created, add('a')]);
    await appendCommit(store, table, 0, other);
    expect(await appendCommit(store, table, 0, own)).toBe(2);
  });

  test('of which half is written, or nothing, is one clear error', async () => {
    for (const text of ['', '{"add":{"path":', '\n']) {
      const store = await open();
      await store.put(commitPath('t', 0), text);
      await expect(read(store)).rejects.toMatchObject({
        code: 'DATA',
        message: expect.stringContaining('00.json is not a commit'),
      });
    }
  });

  test('of a program that raises the protocol is one clear error', async () => {
    const store = await open();
    await appendCommit(store, 't', -1, [{ protocol: { minReaderVersion: 3, minWriterVersion: 7 } }, { metaData }]);
    await expect(read(store)).rejects.toThrow('has raised the protocol');
  });

  test('replaces files by OPTIMIZE, which readers of earlier versions still find after a vacuum', async () => {
    const store = await open();
    await appendCommit(store, 't_changes', -1, [...created, add('a'), add('b')]);
    await appendCommit(store, 't_changes', 0, [remove('a'), remove('b'), add('c')]);
    const lake = { store, database, files, nowMs: Number.MAX_SAFE_INTEGER };
    const { files: named, removed } = await createLakeReader(lake).snapshot('t_changes');
    expect([[...named.keys()], [...removed.keys()]]).toEqual([['c'], ['a', 'b']]);
    for (const name of ['a', 'b', 'c', 'unnamed']) await store.put(`t_changes/${name}`, name);
    const vacuumed = await vacuumLake(lake, 0, false);
    expect(vacuumed.map(({ path }) => path)).toEqual(['t_changes/unnamed']);
  });
});

test('after 100 commits a checkpoint has the state, and every commit stays', async () => {
  const store = await open();
  let snapshot = NO_TABLE;
  for (let version = 0; version <= 100; version++) {
    const actions = version === 0 ? created : [publishOf(version), add(`file-${version}`)];
    await appendCommit(store, 't', version - 1, actions);
    snapshot = replay(snapshot, version, actions);
    if (version < 100) await checkpointIfDue({ store, database, files, nowMs: 0 }, 't', snapshot);
  }
  const checkpoints = (await store.list('t/_delta_log')).filter(({ path }) => path.endsWith('.parquet'));
  expect(checkpoints.map(({ path }) => path)).toEqual([checkpointPath('t', 99)]);
  expect((await store.list('t/_delta_log')).filter(({ path }) => path.endsWith('.json'))).toHaveLength(101);
  const fromCheckpoint = await read(store);
  expect(fromCheckpoint).toMatchObject({
    version: 100,
    checkpoint: 99,
    metaData: { configuration: metaData.configuration },
  });
  expect([...fromCheckpoint.files.keys()].sort()).toEqual([...snapshot.files.keys()].sort());
  expect(fromCheckpoint.files.get('file-5')).toEqual({ ...add('file-5').add, dataChange: false });
  // A checkpoint in a form that is not ours is not used: the commits are there.
  await store.put('t/_delta_log/_last_checkpoint', '{"version": 99, "size": 1, "parts": 2}');
  const fromCommits = await read(store);
  expect([fromCommits.checkpoint, fromCommits.files.size]).toEqual([-1, 100]);
});

test('columns are added, never changed, and their names differ in more than case', () => {
  const text = (name: string) => ({ name, type: 'VARCHAR', comment: '' });
  const first = evolveFields([], [text('name'), text('as_of'), text('Name_2'), text('lake_place')]);
  expect(first.columns.map(({ field }) => field)).toEqual(['name', 'row_as_of', 'Name_2', 'row_lake_place']);
  const second = evolveFields(first.fields, [{ ...text('name'), type: 'UBIGINT' }, text('extra')]);
  expect(second.columns.map(({ field }) => field)).toEqual(['name_3', 'extra']);
  expect(second.fields.slice(0, first.fields.length)).toEqual(first.fields);
  expect(second.fields.at(-2)).toMatchObject({ name: 'name_3', type: 'decimal(20,0)' });
  const third = evolveFields(second.fields, [text('name')]);
  expect(third).toMatchObject({ fields: { length: second.fields.length }, columns: [{ field: 'name' }] });
});

test('a file says how many rows it has, and between which changes they are', async () => {
  await database.run(`create temp table counted as
    select 'insert' as op, timestamptz '2026-10-01 02:15:00Z' as as_of, 'a' as name
    union all by name select 'void' as op, timestamptz '2026-10-02 00:00:00Z' as as_of, 'b' as name`);
  const reader = createLakeReader({ store: await open(), database, files, nowMs: 0 });
  const columns = [{ name: 'name', type: 'VARCHAR', field: 'name' }];
  const relation: LakeRelation = { name: 'counted', kind: 'history', identity: ['name'], columns };
  const [added] = await writeRows(reader, relation, 'counted', '7');
  expect(JSON.parse(added?.stats ?? '')).toEqual({
    numRecords: 2,
    minValues: { op: 'insert' },
    maxValues: { op: 'void' },
    nullCount: { op: 0 },
  });
});
