import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openDatabase } from '../../src/warehouse/database.ts';
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
