import { readdirSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { dropColumns, readCsv } from '../../src/landing/csv.ts';
import { tempFolder } from '../helpers/temp.ts';
import { testProject } from '../helpers/test-project.ts';

/** Linux only; elsewhere the count is always the same. */
const countOpenFiles = () => (process.platform === 'linux' ? readdirSync('/proc/self/fd').length : 0);

test('a file of which only the header is read is closed', async () => {
  const path = join(await tempFolder(), 'rows.csv');
  await writeFile(path, `a,b\n${'1,2\n'.repeat(200_000)}`);
  const before = countOpenFiles();
  for (let time = 0; time < 20; time++) {
    for await (const record of readCsv(path, { to: 1 })) {
      expect(record).toEqual(['a', 'b']);
      break;
    }
  }
  await expect.poll(() => countOpenFiles() - before).toBeLessThanOrEqual(1);
});

test('a column is dropped from CSV with quotes in its cells, and an error quotes no cell', async () => {
  const path = join(await tempFolder(), 'rows.csv');
  const columns = ['id', 'db_password', 'name'];
  const drop = () => dropColumns(path, columns, (name) => name === 'db_password');
  await writeFile(path, `${columns}\n1,hunter2"x,a "b" c\n2,"hunter2",""\n`);
  await drop();
  expect(await readFile(path, 'utf8')).toBe('"id","name"\n"1","a ""b"" c"\n"2",""\n');
  await writeFile(path, `${columns}\n1,"hunter2`);
  await expect(drop()).rejects.toMatchObject({
    code: 'DATA',
    message: 'line 2 of rows.csv is not CSV: CSV_QUOTE_NOT_CLOSED',
  });
});

test('a missing file is an error, not the end of the process', async () => {
  const read = async () => {
    for await (const _ of readCsv('/nonexistent/rows.csv', {}));
  };
  await expect(read()).rejects.toThrow('ENOENT');
});

test('file descriptors do not grow over several runs in one process', async () => {
  const project = await testProject({ workspaces: 5 });
  const pull = () => project.pull(['--source', 'tf_versions']);
  await pull();
  const before = countOpenFiles();
  for (let run = 0; run < 3; run++) {
    project.sandbox.tick();
    await pull();
  }
  await expect.poll(() => countOpenFiles() - before).toBeLessThanOrEqual(2);
});
