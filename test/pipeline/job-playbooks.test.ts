import { mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { readPlan } from '../../src/act/plan-file.ts';
import { startMailServer } from '../helpers/mail-server.ts';
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
  const stop = join(place.folder, 'data', 'STOP');
  await mkdir(stop, { recursive: true });
  const stopped = await place.tidemark(['run', 'act']);
  expect([stopped.exit, stopped.stderr]).toEqual([
    1,
    expect.stringContaining(`pin-drift-view is stopped: ${stop} exists`),
  ]);
  await rmdir(stop);
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

test('500 findings overnight: both plans are kept for a person, nothing is applied, the mail says so, and the exit is that of the pull', async () => {
  const place = await testProject({ workspaces: 5 });
  const server = await startMailServer();
  await place.configure((config) => {
    config.mail = { smtp: `smtp://127.0.0.1:${server.port}`, from: 'tidemark@acme.example' };
  });
  const { pools, workspaces } = place.sandbox.services.platform.state;
  const attached = [workspaces[0]!.id];
  for (let index = 0; index < 500; index++) {
    const name = `new-${index}`;
    pools.push({ ...pools[0]!, id: `apool-${name}`, name, organizationScoped: true, attached, allowed: [] });
  }
  const entry = { name: 'scope-unused-pools', approvedBy: 'platform on call' };
  await writeJob(place, {
    pull: ['agents', 'agent_pools'],
    reports: [],
    mail: { to: ['ops@acme.example'], when: 'always' },
    playbooks: [
      { ...entry, mode: 'apply' },
      { ...entry, mode: 'plan' },
    ],
  });
  const result = await place.tidemark(['run', 'act', '--json']);
  expect([result.exit, result.stderr]).toEqual([0, expect.not.stringContaining('error')]);
  const { playbooks } = result.json<{ playbooks: { refused: string; file: string; exit: number }[] }>();
  const exceeded = expect.stringMatching(
    /^50\d actions are more than --max-actions 25; 50\d of 5\d\d rows of agent_pools/u,
  );
  expect(playbooks).toMatchObject(playbooks.map(() => ({ refused: exceeded, applied: null, exit: 0 })));
  for (const { file } of playbooks) {
    const plan = await readPlan(file);
    expect([plan.actions.length >= 500, plan.approvals]).toEqual([true, []]);
    const [received] = server.received;
    expect(received?.mail.text).toContain('Playbook scope-unused-pools: nothing is applied, because 50');
    expect(received?.mail.text?.replaceAll(/\s+/gu, ' ')).toContain(`tidemark playbook show ${plan.plan_id}`);
    expect(received?.mail.attachments.filter(({ filename }) => filename?.startsWith('plan-'))).toEqual([]);
  }
  expect(place.sandbox.log.filter(({ method }) => !['GET', 'LIST'].includes(method))).toEqual([]);
});
