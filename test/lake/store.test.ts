import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { testStore, withStore } from '../helpers/lake-store.ts';
import { tempFolder } from '../helpers/temp.ts';

testStore('a directory', async () => {
  const folder = join(await tempFolder(onTestFinished), 'lake');
  return (work) => withStore(folder, {}, work);
});

test('a directory has no files of writers that have ended', async () => {
  const folder = await tempFolder();
  await withStore(folder, {}, async (store) => {
    await store.put('t/a', 'one');
    await store.createIfAbsent('t/a', 'two');
  });
  expect(await readdir(join(folder, '_staging'))).toEqual([]);
});
