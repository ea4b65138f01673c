import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';

/** Where nothing is installed, `npx NAME` runs whatever has this name in a registry. */
test('nothing advises an `npx` that could ask a registry for tidemark', () => {
  const folders = [
    'README.md',
    'CONTRIBUTING.md',
    'docs',
    'deploy',
    'templates',
    'jobs',
    'reports',
    'src',
    'bin',
    'scripts',
  ];
  const files = execFileSync('grep', ['-rlI', 'npx', ...folders], { cwd: PACKAGE_ROOT, encoding: 'utf8' })
    .trim()
    .split('\n');
  const lines = files.flatMap((file) => readFileSync(join(PACKAGE_ROOT, file), 'utf8').split('\n'));
  expect(lines.filter((line) => /\b(?:npx|npm exec)(?! --no\b)(?: -\S+)* tidemark\b/u.test(line))).toEqual([]);
});
