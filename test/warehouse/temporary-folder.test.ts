import { mkdir, readdir, utimes } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openDatabase } from '../../src/warehouse/database.ts';
import { removeAbandonedFolders } from '../../src/warehouse/temporary-folder.ts';
import { tempFolder } from '../helpers/temp.ts';

const SPILLS = 'select count(*) from (select distinct i, i::varchar from range(800_000) as t(i))';

test('a database in memory spills to a folder of its own, which is removed when it is closed', async () => {
  const root = await tempFolder();
  const database = await openDatabase(':memory:', { memoryLimit: '24MB', threads: 1, ownFolderIn: root });
  await database.script(
    `create table spilled as select i, i::varchar as text from range(1_200_000) as t(i); ${SPILLS}`,
  );
  const [folder, ...others] = await readdir(root);
  expect(others).toEqual([]);
  expect(await readdir(join(root, String(folder)))).not.toEqual([]);
  database.close();
  expect(await readdir(root)).toEqual([]);
});

test('two of them spill to different folders', async () => {
  const root = await tempFolder();
  const open = () => openDatabase(':memory:', { ownFolderIn: root });
  const databases = [await open(), await open()];
  expect(await readdir(root)).toHaveLength(2);
  for (const database of databases) database.close();
});

test('the folder of a killed process goes, also where it had the number of this one, as in a container', async () => {
  const root = await tempFolder();
  const [killed, own] = ['killed', 'own'].map((name) => `tidemark-query-${hostname()}-${process.pid}-${name}`);
  for (const name of [killed, own]) await mkdir(join(root, String(name)));
  await utimes(join(root, String(killed)), 0, 0);
  await removeAbandonedFolders(root);
  expect(await readdir(root)).toEqual([own]);
});
