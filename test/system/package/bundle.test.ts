import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { buildCommand } from '../../helpers/built-command.ts';

const BUNDLED = ['@duckdb/node-api', 'commander', 'csv-parse', 'ky', 'lossless-json', 'undici', 'yaml', 'zod'];

test('each large dependency is one file with its license, which the command, the library and the worker share', async () => {
  const dist = join(await buildCommand(), '..', '..', 'dist');
  const folder = join(dist, 'dependencies');
  const names = BUNDLED.map((name) => name.replace('@', '').replace('/', '-'));
  const files = (await readdir(folder)).map((file) => file.replace(/\.c?js$/u, ''));
  expect(files.sort()).toEqual([...names, 'LICENSES.txt', 'rolldown-runtime'].sort());
  const licenses = await readFile(join(folder, 'LICENSES.txt'), 'utf8');
  for (const name of BUNDLED)
    expect(licenses).toMatch(new RegExp(`^${name} \\d+\\.\\d+\\.\\d+.* \\(MIT|ISC\\)$`, 'mu'));
  const entries = await readdir(dist, { recursive: true });
  for (const file of entries.filter((name) => name.endsWith('.js') && !name.startsWith('dependencies'))) {
    const text = await readFile(join(dist, file), 'utf8');
    const direct = BUNDLED.filter((name) => new RegExp(`(?:from |\\()'${name}'\\)?;`, 'u').test(text));
    expect(direct, file).toEqual([]);
  }
});
