import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { replaceByCompact, writeCompactCopy } from '../../src/warehouse/compact.ts';
import { type Database, openDatabase, openInstance } from '../../src/warehouse/database.ts';
import { warehouseFiles } from '../../src/warehouse/publish.ts';
import { type Warehouse, withWarehouseLock } from '../../src/warehouse/session.ts';
import { createSqlFiles, type SqlFiles } from '../../src/warehouse/sql-files.ts';
import { mailConfig } from '../helpers/mail-warehouse.ts';
import { copyEmptyWarehouse } from '../helpers/prepared.ts';
import { tempFolder } from '../helpers/temp.ts';

const FILES = createSqlFiles([PACKAGE_ROOT]);
function collectLog() {
  const lines: string[] = [];
  const add = (text: string) => void lines.push(text);
  return { lines, log: { info: add, warn: add, error: add } };
}

const RUNNING = new AbortController().signal;

/** Of random text, which does not shrink. */
const ROWS = 200_000;

/** A file of which most is the content of a table that was dropped. */
async function createFragmented(): Promise<{ database: Database; file: string }> {
  const file = join(await tempFolder(), 'warehouse.duckdb');
  const database = await openDatabase(file, { threads: 1 });
  onTestFinished(() => database.close());
  await database.script(`
    create table dropped as select hash(range) as a, md5(range::varchar) as b from range(${ROWS});
    create table kept (id integer not null default 7, name varchar);
    comment on table kept is 'it''s "kept"';
    comment on column kept.name is 'a name';
    insert into kept select range, 'n' || range from range(1000);
    create view named as from kept where name is not null;
    create macro twice(x) as x * 2;
    checkpoint;
    drop table dropped;
    checkpoint;
  `);
  return { database, file };
}

const describe = (database: Database) =>
  database.rows(`
    select
      (select sum(hash(kept)::hugeint)::varchar from kept) as rows,
      (select count(*) from named) as viewed,
      twice(21) as answer,
      (select comment from duckdb_tables() where table_name = 'kept') as comment,
      (select list(row(column_name, column_default, is_nullable, comment) order by column_index)::varchar
        from duckdb_columns() where table_name = 'kept') as columns
  `);

test('a file of which a third is free is replaced by a copy with the same content', async () => {
  const { database, file } = await createFragmented();
  const { log, lines } = collectLog();
  const before = await describe(database);
  const { size } = statSync(file);
  const write = (minBytes = 0) => writeCompactCopy(database, FILES, file, { log, minBytes, signal: RUNNING });
  expect(await write(size + 1), 'smaller than is worth it').toBe(false);
  await database.script(
    `create table filled as select hash(range) as a, md5(range::varchar) as b from range(${ROWS}); checkpoint;`,
  );
  expect(await write(), 'full').toBe(false);
  await database.script('drop table filled; checkpoint;');
  expect(await write(), 'free').toBe(true);

  database.close();
  expect(lines, 'not said before it is so').toEqual([]);
  await replaceByCompact(file, log);
  expect(statSync(file).size).toBeLessThan(size / 2);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readdirSync(dirname(file)).sort()).toEqual(['warehouse.duckdb']);
  expect(lines).toEqual([expect.stringMatching(/^compacted the warehouse from \d+\.\d MB to \d+\.\d MB$/u)]);
  const reopened = await openDatabase(file);
  onTestFinished(() => reopened.close());
  expect(await describe(reopened)).toEqual(before);
});

const readLayout = async (database: Database) => ({
  blocks: (await database.rows('select block_size from pragma_database_size()'))[0]?.block_size,
  version: (
    await database.rows(`select tags['storage_version'] as version from duckdb_databases() where not internal`)
  )[0]?.version,
});

test('a file with the default layout of DuckDB is written, keeps it, and loses it when it is compacted', async () => {
  const file = join(await tempFolder(), 'warehouse.duckdb');
  (await openInstance(file, {})).closeSync();
  const database = await openDatabase(file, { threads: 1 });
  onTestFinished(() => database.close());
  await database.script(`
    create table kept as from range(1000) as r(id);
    create table dropped as select md5(range::varchar) as a from range(${ROWS}); checkpoint;
    drop table dropped; checkpoint;`);
  expect(await readLayout(database)).toEqual({ blocks: 262144, version: 'v1.0.0+' });
  const { log } = collectLog();
  expect(await writeCompactCopy(database, FILES, file, { log, minBytes: 0, signal: RUNNING })).toBe(true);
  database.close();
  await replaceByCompact(file, log);
  const compacted = await openDatabase(file, { readOnly: true });
  onTestFinished(() => compacted.close());
  expect(await readLayout(compacted)).toEqual({ blocks: 65536, version: 'v1.2.0+' });
  expect(await compacted.rows('select count(*) as rows from kept')).toEqual([{ rows: 1000 }]);
});

test('a new warehouse has small blocks, and few bytes where it has few rows', async () => {
  const file = join(await tempFolder(), 'warehouse.duckdb');
  await copyEmptyWarehouse(file);
  const database = await openDatabase(file, { readOnly: true });
  onTestFinished(() => database.close());
  expect(await readLayout(database)).toEqual({ blocks: 65536, version: 'v1.2.0+' });
  expect(statSync(file).size).toBeLessThan(4_000_000);
});

test('a copy that fails or differs is removed, and the file stays as it is', async () => {
  const { database, file } = await createFragmented();
  const { log, lines } = collectLog();
  const before = await describe(database);
  const copyWith = (statement: string) => {
    const render: SqlFiles['render'] = (name, parts) =>
      name === 'warehouse/copy_compact' ? statement : FILES.render(name, parts);
    return writeCompactCopy(database, { ...FILES, render }, file, { log, minBytes: 0, signal: RUNNING });
  };
  expect(await copyWith('copy from database nothing to compact')).toBe(false);
  expect(await copyWith('create table compact.kept as from kept limit 999')).toBe(false);
  const why = 'the warehouse is not compacted, and stays as it is:';
  expect(lines).toEqual([expect.stringMatching(`${why} .*nothing`), `${why} the copy of kept has other rows`]);
  expect(readdirSync(dirname(file)).sort()).toEqual(['warehouse.duckdb']);
  expect(await describe(database)).toEqual(before);
  expect(await writeCompactCopy(database, FILES, file, { log, minBytes: 0, signal: RUNNING }), 'the next time').toBe(
    true,
  );
});

test('a copy ends when the command is stopped, and is not begun after that', async () => {
  const { database, file } = await createFragmented();
  const { log, lines } = collectLog();
  await database.script(`
    create table other as select md5(range::varchar) as a from range(${6 * ROWS}); checkpoint;
    create table large as from other; checkpoint; drop table other; checkpoint;`);
  const stop = new AbortController();
  const stopping: typeof FILES = {
    ...FILES,
    render(name, parts) {
      if (name === 'warehouse/copy_compact') setImmediate(() => stop.abort()); // the copy has begun
      return FILES.render(name, parts);
    },
  };
  const write = () => writeCompactCopy(database, stopping, file, { log, minBytes: 0, signal: stop.signal });
  expect(await write()).toBe(false);
  expect(stop.signal.aborted).toBe(true);
  expect(await write()).toBe(false);
  expect(lines).toEqual([]);
  expect(readdirSync(dirname(file)).sort()).toEqual(['warehouse.duckdb']);
  expect(await database.rows('select count(*) as n from large')).toEqual([{ n: 6 * ROWS }]);
});

test('a session publishes the compact file, and removes what a killed one left', async () => {
  const config = mailConfig(await tempFolder());
  const { log, lines } = collectLog();
  const session = { purpose: 'test', now: new Date(), log, config };
  const write = <T>(change: (warehouse: Warehouse) => Promise<T>) =>
    withWarehouseLock(session, (write) => write(change, RUNNING));
  const { work, published } = warehouseFiles(config.data);
  await write(async ({ database }) => {
    await database.script(
      `create table filler as select md5(range::varchar) as a from range(${5 * ROWS}); checkpoint;`,
    );
  });
  const { size } = statSync(work);
  expect(size).toBeGreaterThan(16 * 1024 * 1024);
  for (const path of [`${work}.next`, `${work}.next.wal`]) writeFileSync(path, 'left by a kill');

  await write(async ({ database }) => {
    expect(existsSync(`${work}.next`)).toBe(false);
    await database.script('drop table filler; checkpoint;');
    await database.script('create table later as select 42 as answer;');
    await database.script(
      `create table other as select md5((range + 1)::varchar) as a from range(${5 * ROWS}); checkpoint; drop table other;`,
    );
  });
  expect(lines.at(-1)).toMatch(/^compacted the warehouse from /u);
  expect(statSync(work).size).toBeLessThan(size / 2);
  expect(statSync(published).size).toBe(statSync(work).size);
  await write(async ({ database }) => {
    expect(await database.rows('from later')).toEqual([{ answer: 42 }]);
  });
});
