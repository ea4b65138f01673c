import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createDirectoryStore } from '../../src/lake/store.ts';
import { tempFolder } from '../helpers/temp.ts';

test('of many writers of one new file, one creates it with all of its content', async () => {
  const store = createDirectoryStore(await tempFolder());
  const texts = Array.from({ length: 20 }, (_, index) => `${index}\n`.repeat(5_000));
  const created = await Promise.all(texts.map((text) => store.createIfAbsent('t/_delta_log/0.json', text)));
  expect(created.filter(Boolean)).toHaveLength(1);
  expect(await store.read('t/_delta_log/0.json')).toBe(texts[created.indexOf(true)]);
  expect(await store.list('_staging')).toEqual([]);
});

test('a file is replaced as a whole, moved in, listed and removed', async () => {
  const root = await tempFolder();
  const store = createDirectoryStore(join(root, 'lake'));
  expect(await store.list('t')).toEqual([]);
  expect(await store.folders()).toEqual([]);
  await store.put('t/a', 'one');
  await store.put('t/a', 'two');
  const scratch = await store.scratch();
  await writeFile(scratch, 'moved');
  await store.putFile('t/month=2026-10/b', scratch);
  expect((await store.list('t')).map(({ path, bytes }) => ({ path, bytes }))).toEqual([
    { path: 't/a', bytes: 3 },
    { path: 't/month=2026-10/b', bytes: 5 },
  ]);
  expect(await store.folders()).toEqual(['t']);
  await store.remove('t/a');
  await expect(store.read('t/a')).rejects.toMatchObject({ code: 'ENOENT' });
  expect(await readdir(join(root, 'lake', '_staging'))).toEqual([]);
});

test('a file is created from a local one, which stays, unless it exists', async () => {
  const root = await tempFolder();
  const store = createDirectoryStore(join(root, 'lake'));
  await mkdir(join(root, 'local'));
  const local = join(root, 'local', 'checkpoint');
  await writeFile(local, 'x');
  expect(await store.createFileIfAbsent('t/checkpoint', local)).toBe(true);
  expect(await store.createFileIfAbsent('t/checkpoint', local)).toBe(false);
  expect(await store.read('t/checkpoint')).toBe('x');
});
