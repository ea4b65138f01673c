import { chmod, copyFile, open, readdir, readFile, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { openDatabase } from '../../../src/warehouse/database.ts';
import { startCommand } from '../../helpers/built-command.ts';
import { prepareProject, type TestProject, testProject } from '../../helpers/test-project.ts';
import { findInconsistencies, TIDY_DATA } from '../../helpers/warehouse-checks.ts';

let place: TestProject;
let work: string;
let published: string;

const SIZE = { workspaces: 20 };

beforeEach(async () => {
  const from = await prepareProject('pulled-vault', SIZE, async (first) => {
    await first.pull(['--target', 'vault']);
  });
  place = await testProject({ ...SIZE, from });
  work = join(place.folder, 'data', 'work', 'warehouse.duckdb');
  published = join(place.folder, 'data', 'warehouse.duckdb');
  place.sandbox.tick();
});

/** Inverts every byte of a part of a file. */
async function spoil(file: string, from: number, bytes: number): Promise<void> {
  const handle = await open(file, 'r+');
  const part = Buffer.alloc(bytes);
  await handle.read(part, 0, bytes, from);
  await handle.write(Buffer.from(part.map((byte) => byte ^ 0xff)), 0, bytes, from);
  await handle.close();
}

/** Leaves a write-ahead log beside a file, as a killed writer does. */
async function leaveLog(file: string, sql: string): Promise<void> {
  const copy = `${file}.other`;
  await copyFile(file, copy);
  const database = await openDatabase(copy);
  await database.run("set wal_autocheckpoint = '1GB'");
  await database.run(sql);
  await copyFile(`${copy}.wal`, `${file}.wal`);
  database.close();
  await rm(copy, { force: true });
}

async function expectRenewed(): Promise<void> {
  const run = await place.tidemark(['pull', '--target', 'vault']);
  expect(run.exit, run.stderr).toBe(0);
  expect(run.stderr).toContain('the working file is corrupt and kept as');
  expect(await findInconsistencies(published)).toEqual([]);
  expect(await place.rows('select count(*) as n from runs')).toEqual([{ n: 2 }]);
  expect(await place.rows('select count(distinct as_of) as n from pulls')).toEqual([{ n: 2 }]);
  expect(await readdir(join(work, '..'))).toContain('warehouse.duckdb.damaged');
}

describe('a corrupt working file is moved aside and restored from the published one', () => {
  test('if it is not a database', async () => {
    await writeFile(work, 'not a database');
    await expectRenewed();
  });

  test('if it is another database', async () => {
    await rm(work);
    const database = await openDatabase(work);
    await database.run('create table other (a integer)');
    database.close();
    await expectRenewed();
  });

  test('if it is empty', async () => {
    await truncate(work, 0);
    await writeFile(work, Buffer.alloc(100));
    await expectRenewed();
  });

  test('if it is truncated', async () => {
    await truncate(work, Math.floor((await readFile(work)).length / 2));
    await expectRenewed();
  });

  test('if a block is corrupt that only a scan of its table finds', async () => {
    const database = await openDatabase(work);
    await database.run("create table large as select repeat('x', 50) || hash(range) as text from range(50000)");
    await database.run('checkpoint');
    const blocks = await database.rows(
      "select distinct block_id as id from pragma_storage_info('large') where block_id >= 0",
    );
    const [size] = await database.rows('select block_size from pragma_database_size()');
    database.close();
    // Three headers of 4 KiB come first, then the blocks.
    await spoil(work, 3 * 4096 + Number(blocks[0]?.id) * Number(size?.block_size) + 1000, 100);
    await expectRenewed();
  });

  test('if both files are corrupt, the error has a hint', async () => {
    await chmod(published, 0o644);
    for (const file of [work, published]) await spoil(file, 4096, (await readFile(file)).length - 4096);
    const run = await place.tidemark(['pull', '--target', 'vault']);
    expect(run.exit).toBe(4);
    expect(run.stderr).toMatch(/warehouse\.duckdb is corrupt as well\n.*tidemark pull --from RUN/u);
  });

  test('if its log cannot be replayed', async () => {
    await leaveLog(work, 'create table other as select * from range(100000)');
    const { length } = await readFile(`${work}.wal`);
    await spoil(`${work}.wal`, Math.floor(length / 3), Math.floor(length / 3));
    await expectRenewed();
  });
});

test('readers of a corrupt published file exit with 4, and the next run publishes it again', async () => {
  await chmod(published, 0o644);
  await truncate(published, 9000);
  for (const reads of [['sql', 'select 1'], ['status'], ['report', 'drift'], ['findings']]) {
    const { exit, stderr } = await place.tidemark(reads);
    expect([reads, exit, stderr]).toEqual([reads, 4, expect.stringContaining('cannot be opened')]);
  }
  expect((await place.tidemark(['pull', '--target', 'vault'])).exit).toBe(0);
  expect(await findInconsistencies(published)).toEqual([]);
});

/** The system answers a read of it as a disk does that cannot read a sector. */
const UNREADABLE = '/proc/self/mem';

test.skipIf(process.platform !== 'linux')(
  'a file that the disk cannot read is not called corrupt: it stays where it is, and nobody is sent to a backup',
  async () => {
    const says = (file: string) => `error: ${file} cannot be opened: the disk cannot be read or written\n`;
    for (const [file, words] of [
      [published, ['status']],
      [published, ['sql', 'select 1']],
      [work, ['pull', '--target', 'vault']],
    ] as const) {
      await rm(file);
      await symlink(UNREADABLE, file);
      expect(await place.tidemark(words)).toMatchObject({ exit: 1, stderr: says(file) });
    }
    expect(await readdir(join(work, '..'))).toEqual(['warehouse.duckdb']);
  },
);

test('a stale log beside the published file is removed without being replayed', async () => {
  await leaveLog(published, 'create table other as select 1');
  await place.pull(['--target', 'vault']);
  expect(await readdir(join(place.folder, 'data'))).toEqual(TIDY_DATA);
  expect(await place.rows("select count(*) as n from duckdb_tables() where table_name = 'other'")).toEqual([{ n: 0 }]);
});

test('the log of a missing working file is not replayed into the restored one', async () => {
  await leaveLog(work, 'create table other as select 1');
  await rm(work);
  await place.pull(['--target', 'vault']);
  expect(await place.rows("select count(*) as n from duckdb_tables() where table_name = 'other'")).toEqual([{ n: 0 }]);
});

test('the log of the working file is replayed: the commits of a killed run stay', async () => {
  await leaveLog(
    work,
    "insert into runs (run_id, job, status, started_at) values ('killed', 'pull', 'running', now())",
  );
  await place.pull(['--target', 'vault']);
  expect(await place.rows("select status from runs where run_id = 'killed'")).toEqual([{ status: 'interrupted' }]);
});

test('the partial copy of a killed publish is removed', async () => {
  await writeFile(`${published}.next`, 'half');
  await place.pull(['--target', 'vault']);
  expect(await readdir(join(place.folder, 'data'))).toEqual(TIDY_DATA);
});

test('a working file that another program has open stays, and the run exits with 6', async () => {
  const holder = startCommand(
    '-e',
    [
      `const { DuckDBInstance } = require('@duckdb/node-api');
     DuckDBInstance.create(${JSON.stringify(work)}).then(() => { console.log('open'); setInterval(() => {}, 1000); });`,
    ],
    process.cwd(),
  );
  await new Promise((resolve) => holder.process.stdout?.once('data', resolve));
  const run = await place.tidemark(['pull', '--target', 'vault']);
  holder.process.kill('SIGKILL');
  await holder.ended;
  expect(run.exit).toBe(6);
  expect(run.stderr).toContain('another program has');
  expect(await readdir(join(work, '..'))).not.toContain('warehouse.duckdb.damaged');
});
