import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createRandom } from '../../sandbox/random.ts';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import type { Database } from '../../src/warehouse/database.ts';
import { createSqlFiles } from '../../src/warehouse/sql-files.ts';
import { loadTables, type Table } from '../../src/warehouse/tables.ts';
import { openCopy } from '../helpers/prepared.ts';
import { createStage, mergeFilledStage } from '../helpers/stage.ts';

const files = createSqlFiles([PACKAGE_ROOT]);
let folder: string;
let database: Database;
let table: Table;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-members-'));
  database = await openCopy(join(folder, 'w.duckdb'));
  const tables = await loadTables(files);
  table = tables.get('tf_versions') as Table;
});

afterEach(async () => {
  database.close();
  await rm(folder, { recursive: true });
});

type Lists = Readonly<Record<string, string | null>>;

const dayTime = (run: number) => new Date(Date.UTC(2026, 0, 1 + run)).toISOString();

/** Loads lists by version, as one pull does. */
async function load(lists: Lists, run: number, target = 'acme', listBytes?: number): Promise<void> {
  await createStage(database, table);
  for (const [version, workspaces] of Object.entries(lists)) {
    const sql =
      'insert into stage_tf_versions by name select $target as target, $version as version, $workspaces as workspaces';
    await database.run(sql, { target, version, workspaces });
  }
  const part = listBytes === undefined ? {} : { listBytes };
  await mergeFilledStage(database, files, table, { target, asOf: dayTime(run), ...part });
}

async function listsAt(run: number, target = 'acme'): Promise<Lists> {
  const sql = 'select version, workspaces from tf_versions_at($at) where target = $target order by version';
  const rows = await database.rows(sql, { at: dayTime(run), target });
  return Object.fromEntries(rows.map(({ version, workspaces }) => [version, workspaces])) as Lists;
}

async function count(sql: string): Promise<number> {
  const [row] = await database.rows(sql);
  return Number(row?.n);
}

test('a list is read back unchanged, whatever its order, repeats and separators', async () => {
  const lists = {
    '1.0.0': 'b, a, c',
    '1.1.0': 'a, a, b, a',
    '1.2.0': 'x,y,z',
    '1.3.0': null,
    '1.4.0': 'end, , comma, ',
  };
  await load(lists, 0);
  expect(await listsAt(0)).toEqual(lists);
});

test('one added name costs one member, and one version of the row', async () => {
  const names = Array.from({ length: 500 }, (_, index) => `ws-${index}`);
  await load({ '1.0.0': names.join(', ') }, 0);
  await load({ '1.0.0': ['new-first', ...names.slice(0, 250), 'new-middle', ...names.slice(250)].join(', ') }, 1);
  expect(await count('select count(*) as n from tf_versions_members')).toBe(502);
  expect(await count('select count(*) as n from tf_versions_history')).toBe(2);
  expect(await listsAt(0)).toEqual({ '1.0.0': names.join(', ') });
});

test('one added name costs one member in a list that repeats names as well', async () => {
  await load({ '1.0.0': 'a, b', '1.1.0': 'a, a, b, a' }, 0);
  await load({ '1.0.0': 'a, b', '1.1.0': 'a, a, b, a, c' }, 1);
  expect(await count('select count(*) as n from tf_versions_members')).toBe(7);
  expect(await listsAt(1)).toEqual({ '1.0.0': 'a, b', '1.1.0': 'a, a, b, a, c' });
});

test('unchanged lists write nothing', async () => {
  await load({ '1.0.0': 'a, b', '1.1.0': 'c' }, 0);
  await load({ '1.0.0': 'a, b', '1.1.0': 'c' }, 1);
  expect(await count('select count(*) as n from tf_versions_members')).toBe(3);
  expect(await count('select count(*) as n from tf_versions_history')).toBe(2);
});

test('a deleted row ends its members, and those of no other target', async () => {
  await load({ '1.0.0': 'a, b', '1.1.0': 'c' }, 0);
  await load({ '1.0.0': 'z' }, 0, 'other');
  await load({ '1.1.0': 'c' }, 1);
  expect(await listsAt(1)).toEqual({ '1.1.0': 'c' });
  expect(await listsAt(1, 'other')).toEqual({ '1.0.0': 'z' });
  expect(await count("select count(*) as n from tf_versions_members where target = 'acme' and valid_to is null")).toBe(
    1,
  );
});

test('insertions at one place use up the fractions, and the list is still correct', async () => {
  const names = ['first', 'last'];
  await load({ '1.0.0': names.join(', ') }, 0);
  // as 46 insertions leave it, each of which halves the gap
  await database.run("update tf_versions_members set rank = 1 + pow(2, -46) where member = 'last'");
  for (let run = 1; run <= 12; run++) {
    names.splice(1, 0, `n${run}`);
    await load({ '1.0.0': names.join(', ') }, run);
    expect(await listsAt(run)).toEqual({ '1.0.0': names.join(', ') });
  }
  expect(await count('select max(rank)::int as n from tf_versions_members')).toBeGreaterThan(2); // ranked again
});

test.each([
  { count: 20, how: 'at once', listBytes: undefined },
  { count: 8, how: 'in parts of a few lists', listBytes: 8 },
])('$count runs of random changes, merged $how: each is read back as it was loaded', async ({ count, listBytes }) => {
  const random = createRandom('members');
  const runs: Lists[] = [];
  let lists: Record<string, string[]> = {
    '1.0.0': ['a', 'b'],
    '1.1.0': [],
    '1.2.0': ['a', 'b', 'c', 'd'],
  };
  for (let run = 0; run < count; run++) {
    lists = Object.fromEntries(Object.entries(lists).map(([version, names]) => [version, changed(names)]));
    if (random.chance(0.2)) lists[`2.${run}.0`] = ['fresh'];
    if (random.chance(0.1)) delete lists[random.pick(Object.keys(lists))];
    const loaded = Object.fromEntries(
      Object.entries(lists).map(([version, names]) => [version, names.join(', ') || null]),
    );
    runs.push(loaded);
    await load(loaded, run, 'acme', listBytes);
  }
  for (const [run, loaded] of runs.entries()) expect(await listsAt(run), `run ${run}`).toEqual(loaded);

  function changed(names: readonly string[]): string[] {
    const next = names.filter(() => !random.chance(0.1));
    for (let times = random.int(0, 3); times > 0; times--) {
      next.splice(random.int(0, next.length), 0, `w${random.int(0, 30)}`);
    }
    if (random.chance(0.2)) next.reverse();
    return next;
  }
});

test('lists that a query does not need are in no memory after it', async () => {
  const row = "'acme' as target, '1.' || n as version, timestamptz '2026-01-01T00:00:00Z' as valid_from";
  await database.run(`insert into tf_versions_rows by name select ${row} from range(5000) as r(n)`);
  await database.run(`insert into tf_versions_members by name
    select ${row}, 'workspace-' || m as member, 1 as nth, m as rank from range(5000) as r(n), range(20) as s(m)`);
  const usedMegabytes = async () => {
    const [memory] = await database.rows('select sum(memory_usage_bytes) / 1e6 as used from duckdb_memory()');
    return Number(memory?.used);
  };
  const before = await usedMegabytes();
  const unread = `select list.* from tf_versions as list
    semi join (select 'none' as version where random() > 2) as none on none.version = list.version`;
  for (let time = 0; time < 5; time++) await database.run(`create or replace temp table unread as ${unread}`);
  expect((await usedMegabytes()) - before).toBeLessThan(1);
});
