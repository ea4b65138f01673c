import { existsSync } from 'node:fs';
import { lstat, mkdir, open, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { readLedger } from '../../src/act/ledger-table.ts';
import { writeBackup } from '../../src/run/backup/write.ts';

import { openDatabase } from '../../src/warehouse/database.ts';
import { readLatest } from '../../src/warehouse/latest.ts';
import { publishFile, warehouseFiles } from '../../src/warehouse/publish.ts';
import { type Warehouse, withPublished, withWarehouse } from '../../src/warehouse/session.ts';
import { mailConfig } from '../helpers/mail-warehouse.ts';
import { QUIET } from '../helpers/report-warehouse.ts';
import { tempFolder } from '../helpers/temp.ts';

const SESSION = { purpose: 'test', now: new Date(0), log: QUIET };

test('the views exist when the work starts, and a work that fails is published with them', async () => {
  const config = mailConfig(await tempFolder());
  const { published } = warehouseFiles(config.data);
  const failing = withWarehouse({ ...SESSION, config }, async ({ database }) => {
    expect(await database.rows('select count(*) as n from source_state')).toEqual([{ n: 0 }]);
    throw new Error('no');
  });
  await expect(failing).rejects.toThrow('no');
  expect(existsSync(published)).toBe(true);
});

test('a warehouse that is a link to what is not mounted is neither absent nor replaced', async () => {
  const config = mailConfig(await tempFolder());
  const { published } = warehouseFiles(config.data);
  await mkdir(config.data, { recursive: true });
  await symlink(join(config.directory, 'not-mounted/warehouse.duckdb'), published);
  const problem = `${published} is a link to what does not exist`;
  await expect(withWarehouse({ ...SESSION, config }, async () => {})).rejects.toThrow(problem);
  await expect(withPublished(config, async () => {})).rejects.toThrow(problem);
  await expect(readLedger(config), 'what it has seen of the ledger is unknown').rejects.toThrow(problem);
  expect((await lstat(published)).isSymbolicLink()).toBe(true);
});

test('what a run may need is judged by its last landings: the files of all would be measured before one row is written', async () => {
  const config = mailConfig(await tempFolder());
  const landing = (day: number) => join(config.data, 'landing', `202611${day}T021500Z`);
  for (let day = 10; day < 21; day++) await mkdir(landing(day), { recursive: true });
  await writeFile(join(landing(10), 'large'), '');
  await truncate(join(landing(10), 'large'), 2 ** 43); // more than is free, and on no disk
  await withWarehouse({ ...SESSION, config }, async () => {});
  await rename(join(landing(10), 'large'), join(landing(11), 'large'));
  await expect(withWarehouse({ ...SESSION, config }, async () => {})).rejects.toThrow('the disk is full');
});

test('a wrong query is no sign of a warehouse of an earlier version', async () => {
  const config = mailConfig(await tempFolder());
  await withWarehouse({ ...SESSION, config }, async () => {});
  const wrong = withPublished(config, ({ database }) => database.rows('select missing from keys'));
  await expect(wrong).rejects.toThrow(/^Binder Error/u);
});

test('a migration that fails changes nothing and is not published, and the next session makes it', async () => {
  const config = mailConfig(await tempFolder());
  const { published, work } = warehouseFiles(config.data);
  const table = join(config.directory, 'queries/tables/own.sql');
  await mkdir(dirname(table), { recursive: true });
  await writeFile(table, '-- grain: one row per a\ncreate table own (a bigint; -- no list of columns ends so\n');
  await expect(withWarehouse({ ...SESSION, config }, async () => {})).rejects.toThrow('syntax error');
  expect(existsSync(published)).toBe(false);
  const database = await openDatabase(work);
  expect(await database.rows("select table_name from duckdb_tables() where table_name <> 'schema_digest'")).toEqual([]);
  database.close();
  await writeFile(table, '-- grain: one row per a\ncreate table if not exists own (\n  a bigint -- its number\n);\n');
  await withWarehouse({ ...SESSION, config }, ({ database: next }) => next.run('insert into own values (1)'));
  expect(existsSync(published)).toBe(true);
});

/** Inverts bytes of a block that only a scan of its table reads. */
async function spoilTable(file: string): Promise<void> {
  const database = await openDatabase(file);
  await database.run("create table large as select repeat('x', 50) || hash(range) as text from range(50000)");
  await database.run('checkpoint');
  const [block] = await database.rows(
    "select min(block_id) as id from pragma_storage_info('large') where block_id >= 0",
  );
  const [size] = await database.rows('select block_size from pragma_database_size()');
  database.close();
  const handle = await open(file, 'r+');
  // Three headers of 4 KiB come first, then the blocks.
  const at = 3 * 4096 + Number(block?.id) * Number(size?.block_size) + 1000;
  const { buffer } = await handle.read(Buffer.alloc(100), 0, 100, at);
  await handle.write(
    buffer.map((byte) => byte ^ 0xff),
    0,
    100,
    at,
  );
  await handle.close();
}

test('after an unclean end every block is verified: a damaged file is restored from the published one', async () => {
  const config = mailConfig(await tempFolder());
  await withWarehouse({ ...SESSION, config }, async () => {});
  const { work } = warehouseFiles(config.data);
  await spoilTable(work);
  await rm(join(dirname(work), 'as-left.json'));
  const ask = ({ database }: Warehouse) =>
    database.rows("select count(*) as n from duckdb_tables() where table_name = 'large'");
  expect(await withWarehouse({ ...SESSION, config }, ask)).toEqual([{ n: 0 }]);
  expect(existsSync(`${work}.damaged`)).toBe(true);
});

test.each([
  [
    'warehouse/source_state',
    'create or replace view source_state as\nselec 1;',
    /^queries\/warehouse\/source_state\.sql:2: Parser/u,
  ],
  ['warehouse/latest_run', 'select 1,\n  no_such_column;', /^queries\/warehouse\/latest_run\.sql:2: Binder/u],
])("a user's %s that overrides the package's and fails is named with its line", async (name, sql, message) => {
  const config = mailConfig(await tempFolder());
  const file = join(config.directory, `queries/${name}.sql`);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, sql);
  const session = withWarehouse({ ...SESSION, config }, readLatest);
  await expect(session).rejects.toMatchObject({ code: 'DATA', message: expect.stringMatching(message) });
});

test('a published warehouse with a damaged block is one line with what to do, for readers and for a backup', async () => {
  const config = mailConfig(await tempFolder());
  await withWarehouse({ ...SESSION, config }, async () => {});
  const { work, published } = warehouseFiles(config.data);
  await spoilTable(work);
  await publishFile(work, published, 0o600);
  const expected = {
    code: 'DATA',
    message: expect.stringContaining(`${published} is corrupt: IO Error`),
    hint: expect.stringContaining('pull'),
  };
  await expect(withPublished(config, ({ database }) => database.rows('from large'))).rejects.toMatchObject(expected);
  const folder = join(config.directory, 'backup');
  await expect(writeBackup(config, folder, new Date(0))).rejects.toMatchObject(expected);
  expect(existsSync(folder)).toBe(false);
});

test('a warehouse that a later version of DuckDB has written stays as it is, and the error says what to run', async () => {
  const config = mailConfig(await tempFolder());
  await withWarehouse({ ...SESSION, config }, async () => {});
  const { work, published } = warehouseFiles(config.data);
  const handle = await open(work, 'r+');
  await handle.write(Buffer.of(99), 0, 1, 12);
  const sum = /computed checksum (\d+)/u.exec(await openDatabase(work).then(String, String))?.[1] ?? '';
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(sum));
  await handle.write(bytes, 0, 8, 0);
  await handle.close();
  await publishFile(work, published, 0o600);
  const expected = {
    code: 'DATA',
    message: expect.stringContaining('version number 99'),
    hint: expect.stringContaining('later version'),
  };
  await expect(withPublished(config, async () => {})).rejects.toMatchObject(expected);
  await expect(withWarehouse({ ...SESSION, config }, async () => {})).rejects.toMatchObject(expected);
  expect(existsSync(`${work}.damaged`)).toBe(false);
});
