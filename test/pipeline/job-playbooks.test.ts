import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { type TestProject, testProject } from '../helpers/test-project.ts';

async function writeJob(place: TestProject, job: Record<string, unknown>): Promise<void> {
  await mkdir(join(place.folder, 'jobs'), { recursive: true });
  await writeFile(join(place.folder, 'jobs', 'act.yaml'), stringify(job));
}

test('a job plans and applies its playbooks: the action is in `actions`, the service has changed, the plan is kept', async () => {
  const place = await testProject({ workspaces: 5 });
  await writeJob(place, {
    pull: ['agents', 'workspaces'],
    reports: [],
    playbooks: [
      { name: 'reap-dead-agents', mode: 'plan' },
      { name: 'pin-drift-view', mode: 'apply', approvedBy: 'platform on call' },
    ],
  });
  const result = await place.tidemark(['run', 'act', '--json']);
  expect(result.stderr).not.toContain('error');
  expect(result.exit).toBe(0);
  const actions = await place.rows('select playbook, operation, status, approved_by from actions');
  expect(actions).toEqual([
    {
      playbook: 'pin-drift-view',
      operation: 'platform.views.create',
      status: 'applied',
      approved_by: 'platform on call',
    },
  ]);
  const writes = place.sandbox.log.filter(({ method }) => !['GET', 'LIST'].includes(method));
  expect(writes.map(({ method }) => method)).toEqual(['POST']);
  const plans = await readdir(join(place.folder, 'data', 'plans'));
  const kept = await Promise.all(plans.map((file) => readFile(join(place.folder, 'data', 'plans', file), 'utf8')));
  const reap = kept.map((text) => JSON.parse(text)).find(({ playbook }) => playbook === 'reap-dead-agents');
  expect(reap.approvals).toEqual([]);
});

test('a job that would apply irreversible actions is rejected before the run starts', async () => {
  const place = await testProject({ workspaces: 5 });
  await writeJob(place, { playbooks: [{ name: 'drop-stale-snapshots', mode: 'apply', approvedBy: 'x' }] });
  const result = await place.tidemark(['run', 'act']);
  expect(result.exit).toBe(2);
  expect(result.stderr).toMatch(/jobs\/act\.yaml: playbooks\[0\]\.mode: .*cannot be undone/u);
  expect(place.sandbox.log).toEqual([]);
});
