import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { execPath } from 'node:process';
import { expect, test } from 'vitest';
import { parts } from '../../bench/parts.ts';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';

// A rule about pulls can break the estates that a part prepares, and nothing else runs the parts.
test.each(parts.map(({ name }) => name))('the part %s of the benchmarks works at its small size', (name) => {
  const { stderr } = spawnSync(execPath, [join('bench', 'load.js'), 'main', '--quick', name], {
    cwd: PACKAGE_ROOT,
    encoding: 'utf8',
  });
  expect(stderr).toContain(`${name}:`);
  expect(stderr).not.toContain('failed:');
});
