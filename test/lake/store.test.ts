import { execFileSync } from 'node:child_process';
import { mkdir, readdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createOrRead, type LakeStore } from '../../src/lake/store.ts';
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

test('a file that goes between the attempt to create it and its reading is created', async () => {
  const folder = await tempFolder();
  await withStore(folder, {}, async (store) => {
    await store.put('_publishes/1', 'of another publish');
    const passing: LakeStore = {
      ...store,
      async read(path) {
        await store.remove(path);
        return store.read(path);
      },
    };
    expect(await createOrRead(passing, '_publishes/1', 'own')).toBeUndefined();
    expect(await store.read('_publishes/1')).toBe('own');
  });
});

test('a link is not followed, and a pipe not waited for, whatever name it has', async () => {
  const folder = await tempFolder();
  await mkdir(join(folder, 't'));
  execFileSync('mkfifo', [join(folder, 't', 'pipe')]);
  await symlink('/dev/zero', join(folder, 't', 'link'));
  await withStore(folder, {}, async (store) => {
    await expect(store.read('t/pipe')).rejects.toThrow(/pipe is a pipe or a device, and a lake has none/u);
    await expect(store.locate('t/pipe')).rejects.toThrow(/pipe is a pipe or a device/u);
    await expect(store.read('t/link')).rejects.toThrow(/link is a link, and a lake has none/u);
  });
});
