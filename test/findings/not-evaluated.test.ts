import { expect, test } from 'vitest';
import { HOUR_MS } from '../../src/core/clock.ts';
import { findTarget, testProject } from '../helpers/test-project.ts';
import { writeJob } from '../mail/mail-project.ts';

async function vaultProject() {
  const place = await testProject({ workspaces: 2 });
  await writeJob(place, { pull: 'all' });
  await place.configure((config) => {
    config.targets = ['vault', 'consul'].map((name) => findTarget(config, name));
    config.subjectPages = 0;
  });
  return place;
}

test('findings after a pull alone says that no rule was evaluated, instead of that there are none', async () => {
  const place = await vaultProject();
  await place.pull(['--target', 'vault']);
  const { exit, stdout, stderr } = await place.tidemark(['findings']);
  expect({ exit, stdout }).toEqual({ exit: 0, stdout: 'unknown: no rule was evaluated\n' });
  expect(stderr).toMatch(/^warning: vault: pulled at \S+, and no rule was ever evaluated: `tidemark run JOB`/mu);
  expect(stderr).not.toContain('consul');
  const json = await place.tidemark(['findings', '--json']);
  expect(json).toMatchObject({ stdout: '[]\n', stderr: expect.stringContaining('no rule was ever evaluated') });
});

test('findings after a pull that no evaluation followed says so', async () => {
  const place = await vaultProject();
  const later = new Date(place.sandbox.now.getTime() + HOUR_MS).toISOString();
  await place.tidemark(['run', 'nightly']);
  expect((await place.tidemark(['findings'])).stderr).not.toContain('no rule');
  await place.pull(['--target', 'vault', '--now', later]);
  const { stdout, stderr } = await place.tidemark(['findings', '--now', later]);
  expect(stdout).toContain('management-role');
  expect(stderr).toMatch(/^warning: vault: pulled at \S+, and no rule was evaluated since/mu);
  expect(stderr).not.toContain('consul');
});
