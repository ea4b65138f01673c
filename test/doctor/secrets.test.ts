import { expect, test } from 'vitest';
import type { Check } from '../../src/run/doctor/checks.ts';
import { findTarget, testProject } from '../helpers/test-project.ts';

test('doctor refuses secrets that are short or a word of its own, without showing them', async () => {
  const place = await testProject({ workspaces: 5 });
  await place.configure((config) => {
    findTarget(config, 'vault').token = 'rootpwd';
    findTarget(config, 'nomad').writeToken = 'external_volumes';
    config.mail = { smtp: 'smtp://a:hunter2@127.0.0.1:9', from: 'a@acme.example' };
  });
  const { exit, stdout } = await place.tidemark(['doctor', '--json']);
  expect(exit).toBe(1);
  const checks = (JSON.parse(stdout) as Check[]).filter(({ ok, about }) => !ok && about === 'configuration');
  expect(checks.map(({ ok, check, detail }) => [ok, check, detail.replace(/,.*/u, '')])).toEqual([
    [false, 'token of vault', 'weak: it is shorter than 8 characters'],
    [false, 'writeToken of nomad', "weak: it is a word of Tidemark's own"],
    [false, 'password of mail', 'weak: it is shorter than 8 characters'],
  ]);
  expect(stdout).not.toMatch(/rootpwd|hunter2/u);
});

test('the token `root` does not change messages and tables', async () => {
  const place = await testProject({ workspaces: 5 });
  await place.configure((config) => {
    findTarget(config, 'consul').token = 'root'; // unknown, so that the pull fails with a message
  });
  const { stderr } = await place.tidemark(['pull', '--source', 'ca_roots', '--source', 'mesh_roles']);
  expect(stderr).toContain('consul: ca_roots: failed');
  expect(stderr).not.toContain('***');
  expect(await place.rows("select distinct source from pulls where source = 'ca_roots'")).toHaveLength(1);
});
