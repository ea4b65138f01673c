import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findTarget, testProject } from '../helpers/test-project.ts';

test.each([['pull'], ['run', 'nightly']])(
  'a token that is refused is one message for its target: %s',
  async (...words) => {
    const place = await testProject({ workspaces: 5 });
    await mkdir(join(place.folder, 'jobs'));
    await writeFile(join(place.folder, 'jobs', 'nightly.yaml'), 'pull: all\nreports: []\n');
    await place.configure((config) => {
      config.targets = ['acme', 'nomad', 'scaler'].map((name) => findTarget(config, name));
      for (const name of ['acme', 'nomad']) findTarget(config, name).token = `a-wrong-token-of-${name}`;
    });
    const { exit, stderr } = await place.tidemark(words);
    expect(exit).toBe(1);
    const failures = (name: string) => stderr.split('\n').filter((line) => line.startsWith(`warning: ${name}: `));
    expect(failures('acme')).toEqual([
      expect.stringMatching(
        /: 8 sources failed: 401 unauthorized: .*check the token of this target.* \(agent_pools, agents, .*workspaces; \d+ requests\)$/u,
      ),
    ]);
    expect(failures('nomad')).toEqual([
      expect.stringMatching(
        /: 4 sources failed: 403 forbidden: Permission denied: the token lacks the permissions .*csi-list-volume.*, or is not valid \(acl_policies, .*volumes; \d+ requests?\)$/u,
      ),
    ]);
    expect(stderr).not.toContain('a-wrong-token');
  },
);

test('failures for different reasons, and of different targets, are lines of their own', async () => {
  const place = await testProject({
    workspaces: 5,
    faultHook: ({ path }, service) => {
      if (path.includes('/agent-pools')) return service.error(403, 'no pools for you');
      return path.includes('/views') ? service.error(401, 'unauthorized') : undefined;
    },
  });
  const { stderr } = await place.tidemark(['pull', '--target', 'acme']);
  expect(stderr.match(/^warning: acme: 2 sources failed: /gmu)).toHaveLength(2);
  expect(stderr).toMatch(/403 forbidden: error: no pools for you.*\(agent_pools, agents; /u);
  expect(stderr).toMatch(/401 unauthorized.*\(saved_view_rows, saved_views; /u);
});

test('a single row is not plural', async () => {
  const place = await testProject({ workspaces: 5 });
  expect((await place.tidemark(['pull', '--target', 'scaler'])).stderr).toMatch(/autoscaler_health: 1 row \(\+1 /u);
});

test('a source that was pulled after now is of the future, not of negative minutes', async () => {
  const place = await testProject({ workspaces: 5 });
  await place.pull(['--target', 'scaler']);
  const before = new Date(place.sandbox.now.getTime() - 86_400_000).toISOString();
  const { stdout } = await place.tidemark(['status', '--now', before]);
  expect(stdout).toMatch(/autoscaler_health +complete .*in the future/u);
  expect(stdout).not.toMatch(/-\d+ (?:min|h|d)/u);
});

test('a wrong organization is one line for its target', async () => {
  const place = await testProject({ workspaces: 5 });
  await place.configure((config) => {
    config.targets = [{ ...findTarget(config, 'acme'), organization: 'acm' }];
  });
  const { stderr } = await place.tidemark(['pull', '--source', 'workspaces', '--source', 'modules']);
  expect(stderr.match(/404/gu)).toHaveLength(1);
  expect(stderr).toMatch(/^warning: acme: 2 sources failed: 404 not-found: the organization, name or id .*acm.*$/mu);
});
