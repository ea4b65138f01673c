import { readdir, readFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PACKAGE_ROOT } from '../../../src/core/paths.ts';
import { buildCommand } from '../../helpers/built-command.ts';

/** With native code. */
const EXTERNAL = ['fs-native-extensions'];
/** What the editor of SQL consists of: one file, which needs no package at run time. */
const EDITOR = ['@codemirror/view', '@lezer/lr', '@marijn/find-cluster-break', 'style-mod', 'w3c-keyname'];

/** What a bundled module loads, which the bundler writes in double quotes, or the beginning of a path in a package. */
const LOADED =
  /(?:^import (?:[^"]* from )?|\bimport\(|\brequire\$?\d*\(|\(import\.meta\.url\)\()(?:"([^"]+)"|`([\w-]+)\/)/gmu;

const dist = join(await buildCommand(), '..', '..', 'dist');

test('the program loads its own files, modules of Node, and packages with native code', async () => {
  const files = (await readdir(dist, { recursive: true })).filter((name) => /\.c?js$/u.test(name));
  expect(files).toEqual(
    expect.arrayContaining([
      'cli.js',
      'index.js',
      'plugin-worker.js',
      'query-child.js',
      'browser/editor.js',
      'dependencies/undici.js',
      'dependencies/zod.js',
    ]),
  );
  const loaded = new Set<string>();
  for (const file of files) {
    for (const [, name, packageName = ''] of (await readFile(join(dist, file), 'utf8')).matchAll(LOADED)) {
      loaded.add(name ?? packageName);
    }
  }
  expect([...loaded].filter((name) => !name.startsWith('.') && !isBuiltin(name)).sort()).toEqual(EXTERNAL);
});

test('the license of each dependency is beside it', async () => {
  const { dependencies } = JSON.parse(await readFile(join(PACKAGE_ROOT, 'package.json'), 'utf8'));
  expect(Object.keys(dependencies).filter((name) => EDITOR.includes(name))).toEqual([]);
  const bundled = [...Object.keys(dependencies).filter((name) => !EXTERNAL.includes(name)), ...EDITOR];
  const licenses = await readFile(join(dist, 'dependencies', 'LICENSES.txt'), 'utf8');
  for (const name of bundled) {
    expect(licenses).toMatch(new RegExp(`^${name} \\d+\\.\\d+\\.\\d+.* \\((?:MIT|MIT-0|ISC|BSD-3-Clause)\\)$`, 'mu'));
  }
});
