import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import type { HttpTimeouts } from '../../src/core/context.ts';
import { Redactor } from '../../src/core/redact/redactor.ts';
import { withLakeStore } from '../../src/lake/open-store.ts';
import type { LakeStore } from '../../src/lake/store.ts';
import { tempFolder } from './temp.ts';

const TIMEOUTS = { backoffMs: 4, maxBackoffMs: 20 };

/** A configuration with this lake, in an empty folder. */
async function writeConfig(location: string) {
  const folder = await tempFolder(onTestFinished);
  const file = join(folder, 'tidemark.yaml');
  await writeFile(
    file,
    `lake: ${location}\ntargets:\n  - { name: scaler, kind: autoscaler, url: 'http://127.0.0.1:1' }\n`,
  );
  return loadConfig(file, {}, new Redactor(), { needsSecrets: false });
}

/** Opens the lake at a location as the commands do, for `work`. */
export async function withStore<T>(
  location: string,
  env: Readonly<Record<string, string>>,
  work: (store: LakeStore) => Promise<T>,
  timeouts: Partial<HttpTimeouts> = {},
): Promise<T> {
  const config = await writeConfig(location);
  const { signal } = new AbortController();
  const context = {
    cwd: config.directory,
    env,
    redactor: new Redactor(),
    signal,
    timeouts: { ...TIMEOUTS, ...timeouts },
  };
  return withLakeStore(context, config, work);
}

type WithStore = <T>(work: (store: LakeStore) => Promise<T>) => Promise<T>;

/** What every store must do. @param open gives a store that nothing else uses */
export function testStore(name: string, open: () => Promise<WithStore>): void {
  test(`${name}: of many writers of one new file, one creates it with all of its content`, async () => {
    const use = await open();
    await use(async (store) => {
      const texts = Array.from({ length: 20 }, (_, index) => `${index}\n`.repeat(5_000));
      const created = await Promise.all(texts.map((text) => store.createIfAbsent('t/_delta_log/0.json', text)));
      expect(created.filter(Boolean)).toHaveLength(1);
      expect(await store.read('t/_delta_log/0.json')).toBe(texts[created.indexOf(true)]);
      expect(await store.list('_staging')).toEqual([]);
    });
  });

  test(`${name}: a file is replaced as a whole, moved in, located, listed and removed`, async () => {
    const use = await open();
    await use(async (store) => {
      expect(await store.list('t')).toEqual([]);
      expect(await store.folders()).toEqual([]);
      const beganMs = Date.now();
      await store.put('t/a', 'one');
      await store.put('t/a', 'two');
      await store.put('table/a', 'another folder whose name begins the same');
      const putB = (content: string) => store.putFile('t/month=2026-10/b', (file) => writeFile(file, content));
      await putB('moved');
      await putB('other');
      expect(await store.read('t/month=2026-10/b')).toBe('other');
      const listed = await store.list('t');
      expect(listed.map(({ path, bytes }) => ({ path, bytes }))).toEqual([
        { path: 't/a', bytes: 3 },
        { path: 't/month=2026-10/b', bytes: 5 },
      ]);
      expect(Math.abs((listed[0]?.modifiedMs ?? 0) - beganMs)).toBeLessThan(60_000);
      expect(await store.folders()).toEqual(['t', 'table']);
      await store.remove('t/a');
      await store.remove('t/a');
      await expect(store.read('t/a')).rejects.toMatchObject({ code: 'ENOENT' });
      expect(await store.list('_staging')).toEqual([]);
    });
  });
}
