import { expect, onTestFinished, test, vi } from 'vitest';
import { DAY_MS } from '../../src/core/clock.ts';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { type CloseOptions, closeRun } from '../../src/lake/close.ts';
import { vacuumLake, verifyLake } from '../../src/lake/maintain.ts';
import { publishToLake } from '../../src/lake/publish.ts';
import { createDirectoryStore, type LakeStore } from '../../src/lake/store.ts';
import { type Database, openDatabase } from '../../src/warehouse/database.ts';
import { createSqlFiles } from '../../src/warehouse/sql-files.ts';
import { lakeProject } from '../helpers/lake-project.ts';
import { tempFolder } from '../helpers/temp.ts';

const RUN = '2026-11-01';
const LOSS = { target: 'acme', relation: 'workspaces', volatile: false, deleted: 3, held: 5 };

const files = createSqlFiles([PACKAGE_ROOT]);

async function withDatabase<T>(work: (database: Database) => Promise<T>): Promise<T> {
  const database = await openDatabase(':memory:', { threads: 1 });
  return work(database).finally(() => database.close());
}

const closeIn = (store: LakeStore, shards: number, options: Partial<CloseOptions> = {}) =>
  withDatabase((database) => {
    const { signal } = new AbortController();
    return closeRun({ store, database, files, run: RUN, shards, shrinkPercent: 50, nowMs: 0, signal, ...options });
  });

/** Closes a run of one shard, which would take these rows away. */
async function close(losses: readonly object[] | undefined, options: { acceptShrink?: boolean } = {}) {
  const store = createDirectoryStore(await tempFolder());
  const staged = { shard: 1, shards: 1, publish: 1024, as_of: '2026-11-01T02:15:00Z', losses, tables: [] };
  await store.put(`_shards/${RUN}/1-of-1.json`, JSON.stringify(staged));
  await store.put('_publishes/0000001024.json', '{}');
  return closeIn(store, 1, options);
}

test.each([
  ['three of five rows', LOSS],
  ['every row', { ...LOSS, deleted: 5 }],
])('a shard that takes %s away stays invisible, with the reason', async (_, loss) => {
  const { closed, refused } = await close([{ ...LOSS, deleted: 0 }, loss]);
  expect({ closed, refused }).toEqual({
    closed: [],
    refused: [
      {
        shard: 1,
        why: `acme has come from another shard, and ${loss.deleted} of its 5 rows of workspaces would go`,
      },
    ],
  });
});

test.each([
  ['half of the rows', [{ ...LOSS, held: 6 }]],
  ['two rows', [{ ...LOSS, deleted: 2, held: 2 }]],
  ['rows that come and go by nature', [{ ...LOSS, volatile: true }]],
  ['no row', []],
  ['what an earlier version does not say', undefined],
])('a shard that takes %s away is closed', async (_, losses) => {
  expect(await close(losses)).toMatchObject({ closed: [1], refused: [] });
});

test('a loss that a person accepts is closed', async () => {
  expect(await close([LOSS], { acceptShrink: true })).toMatchObject({ closed: [1], refused: [] });
});

test.each(['', 'x', 'null', '{}', '{"shard": 1}'])('what is staged as %j is one clear error', async (text) => {
  const store = createDirectoryStore(await tempFolder());
  await store.put(`_shards/${RUN}/1-of-1.json`, text);
  const message = `${store.name}/_shards/${RUN}/1-of-1.json is not what a shard has published`;
  await expect(closeIn(store, 1)).rejects.toMatchObject({ code: 'DATA', message });
});

test('what goes between the list of shards and its reading is one clear error', async () => {
  const store = createDirectoryStore(await tempFolder());
  await store.put(`_shards/${RUN}/1-of-1.json`, '{}');
  const passing: LakeStore = {
    ...store,
    async read(path) {
      await store.remove(path);
      return store.read(path);
    },
  };
  await expect(closeIn(passing, 1)).rejects.toMatchObject({ code: 'DATA', hint: 'run the shard again' });
});

test('a clock that does not go on makes the wait for a shard no longer', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const store = createDirectoryStore(await tempFolder());
  expect(await closeIn(store, 1, { waitMs: 20 })).toMatchObject({ closed: [], missing: [1] });
});

test('the name of a run that is none is one line, before a shard writes anything', async () => {
  const project = await lakeProject({ tables: 'few' });
  await project.night('2026-11-01T02:15:00Z');
  const { config, store } = project;
  const publish = publishToLake({
    config: { ...config, shard: { index: 1, count: 1 } },
    store,
    now: new Date(),
    run: '2026\n11',
  });
  await expect(publish).rejects.toMatchObject({ code: 'USAGE', message: '"2026\\n11" is not the name of a run' });
  expect(await store.list('')).toEqual([]);
});

test('a close that others overtake without an end is one line', async () => {
  const project = await lakeProject({ tables: 'few' });
  await project.night('2026-11-01T02:15:00Z');
  const { config, store } = project;
  await publishToLake({ config: { ...config, shard: { index: 1, count: 1 } }, store, now: new Date(), run: RUN });
  const isOfRuns = (path: string) => path.startsWith('runs_changes/_delta_log/');
  const overtaken: LakeStore = {
    ...store,
    createIfAbsent: async (path, content) => !isOfRuns(path) && store.createIfAbsent(path, content),
    read: async (path) => (isOfRuns(path) ? '{"txn":{"appId":"tidemark","version":2048}}' : store.read(path)),
  };
  const message = `other publishes to ${store.name} do not end`;
  await expect(closeIn(overtaken, 1)).rejects.toMatchObject({ code: 'LOCKED', message });
});

test('two closes at the same time, of which one knows a shard more, close each shard once and say so', async () => {
  const project = await lakeProject({ tables: 'few' });
  await project.night('2026-11-01T02:15:00Z');
  const { config, store } = project;
  for (const index of [1, 2, 3])
    await publishToLake({ config: { ...config, shard: { index, count: 3 } }, store, now: new Date(), run: RUN });
  const earlier: LakeStore = {
    ...store,
    list: async (path) => (await store.list(path)).filter((file) => !file.path.endsWith('/2-of-3.json')),
  };
  let overtake = async () => {
    overtake = async () => {};
    expect(await closeIn(earlier, 3, { nowMs: 1 })).toMatchObject({ closed: [1, 3], missing: [2] });
  };
  const overtaken: LakeStore = {
    ...store,
    async createIfAbsent(path, content) {
      if (path.startsWith('runs_changes/_delta_log/')) await overtake();
      return store.createIfAbsent(path, content);
    },
  };
  expect(await closeIn(overtaken, 3)).toMatchObject({ closed: [2], known: [1, 3], missing: [] });
  expect(await project.inLake('select count(*)::int as runs from runs_changes')).toEqual([{ runs: 3 }]);
  expect(await withDatabase((database) => verifyLake({ store, database, files, nowMs: 0 }))).toMatchObject({
    problems: [],
  });
});

test('vacuum keeps what a shard has published until its run is closed, and the record of that for a month more', async () => {
  const project = await lakeProject({ tables: 'few' });
  const { store } = project;
  const config = { ...project.config, shard: { index: 1, count: 1 } };
  const vacuum = (days = 10) => {
    const nowMs = Date.now() + days * DAY_MS;
    return withDatabase((database) => vacuumLake({ store, database, files, nowMs }, DAY_MS, false));
  };
  for (const day of ['2026-11-01', '2026-11-02', '2026-11-03']) {
    const asOf = `${day}T02:15:00Z`;
    await project.night(asOf);
    await publishToLake({ config, store, now: new Date(asOf), run: day });
    if (day === '2026-11-01') expect(await closeIn(store, 1, { run: day })).toMatchObject({ closed: [1] });
  }
  await store.put('runs_changes/killed.parquet', 'of a killed publish');
  await store.put('_shards/2026-10-01/1-of-1.json', 'damaged');
  expect(await vacuum()).toMatchObject([{ path: 'runs_changes/killed.parquet' }]);
  expect(await closeIn(store, 1, { run: '2026-11-03' })).toMatchObject({ closed: [1], refused: [] });
  expect(await vacuum()).toMatchObject([{ path: expect.stringMatching(/^runs_changes\//u) }]);
  expect(await closeIn(store, 1, { run: '2026-11-02' })).toMatchObject({ closed: [], known: [1], refused: [] });
  await project.night('2026-11-04T02:15:00Z');
  await publishToLake({ config, store, now: new Date(), run: '2026-11-04' });
  const closed = ['2026-11-01', '2026-11-02', '2026-11-03'].map((day) => ({ path: `_shards/${day}/1-of-1.json` }));
  expect(await vacuum(40)).toMatchObject(closed);
  expect(await closeIn(store, 1, { run: '2026-11-04' })).toMatchObject({ closed: [1], refused: [] });
  await project.expectRestored();
});

test('a shard whose file is gone stays invisible, with the reason: its commit would name what nobody can read', async () => {
  const project = await lakeProject({ tables: 'few' });
  const { store } = project;
  const config = { ...project.config, shard: { index: 1, count: 1 } };
  await project.night('2026-11-01T02:15:00Z');
  await publishToLake({ config, store, now: new Date(), run: RUN });
  const staged = (await store.list('runs_changes')).find(({ path }) => path.endsWith('.parquet'))!;
  await store.remove(staged.path);
  const why = `its file ${staged.path} is gone: run the shard again`;
  expect(await closeIn(store, 1)).toMatchObject({ closed: [], refused: [{ shard: 1, why }] });
});

test('an earlier run that is closed late brings back nothing that has ended since', async () => {
  const project = await lakeProject({ tables: 'few' });
  const { store } = project;
  const config = { ...project.config, shard: { index: 1, count: 1 } };
  const night = async (day: string, change: string) => {
    const asOf = `${day}T02:15:00Z`;
    await project.night(asOf, change);
    await publishToLake({ config, store, now: new Date(asOf), run: day });
  };
  await night(
    '2026-11-01',
    `insert into findings by name select 'f' as finding_id, 'scaler' as target, 'r' as rule, 'warning' as severity, 's' as subject_type, 's' as subject_id,
      't' as title, 'new' as state, timestamptz '2026-11-01' as first_seen, timestamptz '2026-11-01' as last_seen, 0 as times_reopened`,
  );
  await night('2026-11-02', 'delete from findings');
  expect(await closeIn(store, 1, { run: '2026-11-02' })).toMatchObject({ closed: [1] });
  expect(await closeIn(store, 1, { run: '2026-11-01' })).toMatchObject({ closed: [], known: [1], missing: [] });
  expect(await project.inLake('select * from findings')).toEqual([]);
  await project.expectRestored();
});

test('a log that is published as a whole, after an update, names targets that have moved since, and is no pull of them', async () => {
  const [one, two] = [await lakeProject({ tables: 'few' }), await lakeProject({ tables: 'few' })];
  const { store } = one;
  const night = async (project: typeof one, index: number, run: string, change = '') => {
    await project.night(`${run}T02:15:00Z`, ...(change === '' ? [] : [change]));
    await publishToLake({
      config: { ...project.config, shard: { index, count: 2 } },
      store,
      now: new Date(),
      run: `${run}-of-${index}`,
    });
  };
  const pulled = (day: string) =>
    `insert into pulls by name select '${day.replaceAll('-', '')}T021500Z' as run_id, 'moved' as target, 'autoscaler_health' as source, 'complete' as status,
      timestamptz '${day}' as as_of, timestamptz '${day}' as started_at`;
  await night(one, 1, '2026-11-01', pulled('2026-11-01'));
  await closeIn(store, 2, { run: '2026-11-01-of-1' });
  await night(one, 1, '2026-11-02', 'alter table pulls add column added varchar');
  await night(two, 2, '2026-11-02', pulled('2026-11-02'));
  expect(await closeIn(store, 2, { run: '2026-11-02-of-2' })).toMatchObject({ closed: [2] });
  expect(await closeIn(store, 2, { run: '2026-11-02-of-1' })).toMatchObject({ closed: [1], refused: [] });
});
