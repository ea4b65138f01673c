import { renameSync, writeFileSync } from 'node:fs';
import { copyFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { warehouseFiles } from '../../src/warehouse/publish.ts';
import { cli } from '../helpers/cli.ts';
import { playbookHarness } from '../helpers/playbook-harness.ts';
import type { TestProject } from '../helpers/test-project.ts';
import { type Applied, applyHarness, showAgent } from './apply-harness.ts';

const harness = applyHarness({ updatesTable: false, playbook: 'reap-dead-agents' });

test('a finding that was accepted since the plan is skipped', async () => {
  const plan = await harness.planAndApprove();
  const id = plan.actions[1]!.finding_id;
  await acceptFinding(id);
  const applied = await harness.apply();
  expect(harness.statuses(applied)[1]).toEqual(['skipped', 'the finding was accepted since the plan was made']);
  expect(harness.writes()).toHaveLength(2);

  const later = await harness.place.plan(['--max-percent', '100']);
  expect(later.actions.map(({ finding_id }) => finding_id)).not.toContain(id);
  expect(later.skipped).toEqual([{ finding_id: id, reason: 'accepted until 2027-01-01T00:00:00Z: kept' }]);
});

test('a finding whose acceptance has ended is planned and acted upon', async () => {
  const later = ['--now', '2026-10-01T07:00:00Z'];
  const plan = await harness.useApprovedPlan();
  const { finding_id } = plan.actions[0]!;
  await acceptFinding(finding_id, { until: '2026-10-01T06:00:00Z' });
  const { actions } = await harness.place.plan(['--max-percent', '100', ...later]);
  expect(actions.map((action) => action.finding_id)).toContain(finding_id);
  await harness.place.approve(later);
  expect((await harness.apply(later)).rows.map(({ status }) => status)).toEqual(['applied', 'applied', 'applied']);
});

test('an action for several findings is sent while one of them is not accepted', async () => {
  const place = await playbookHarness({ updatesTable: false, playbook: 'pin-drift-view' });
  const { actions } = await place.plan();
  await place.approve();
  const [, ...others] = actions[0]!.finding_ids!;
  for (const id of others) await acceptFinding(id, { place });
  const { rows } = (await place.apply()).json<Applied>();
  expect([others.length > 0, rows.map(({ status }) => status)]).toEqual([true, ['applied']]);
});

test('an action that was interrupted, and certainly not done, is not sent once its finding is accepted', async () => {
  const plan = await harness.interruptFirst();
  await acceptFinding(plan.actions[0]!.finding_id);
  const applied = await harness.apply();
  expect(harness.statuses(applied)[0]).toEqual(['skipped', 'the finding was accepted since the plan was made']);
  expect(harness.writes()).toHaveLength(2);
});

test('what stops an apply while it settles an interrupted action keeps that action from being sent', async () => {
  await harness.interruptFirst();
  const stop = join(harness.place.folder, 'data', 'STOP');
  harness.faultHook = ({ path }) => (path.includes('/agents/') ? void writeFileSync(stop, '') : undefined);
  const applied = await harness.apply([], 6);
  expect([applied.rows, applied.stopped?.reason]).toEqual([[], `${stop} exists: remove it to continue`]);
  expect(harness.writes()).toEqual([]);
  await rm(stop);
  harness.faultHook = undefined;
  expect((await harness.apply()).rows.map(({ status }) => status)).toEqual(['applied', 'applied', 'applied']);
});

test('a finding that is accepted while the plan is applied is skipped, if its action has not begun', async () => {
  const plan = await harness.planAndApprove();
  const agent = structuredClone(harness.findAgent(plan, 0));
  let acceptance: Promise<void> | undefined;
  let isAccepted = false;
  harness.faultHook = ({ method, path }) => {
    if (method === 'DELETE') {
      acceptance ??= acceptFinding(plan.actions[1]!.finding_id).then(() => {
        isAccepted = true;
      });
    }
    // The first action is confirmed only after the acceptance, and the second one begins after that.
    const isConfirmation = acceptance !== undefined && method === 'GET' && path.endsWith(agent.id);
    return isConfirmation && !isAccepted ? showAgent(agent) : undefined;
  };
  await setLag(harness.place, 20);
  const { folder, planFile, sandbox } = harness.place;
  const words = ['playbook', 'apply', planFile, '--json', '--now', sandbox.now.toISOString()];
  const applied = (await cli(words, { cwd: folder })).json<Applied>(); // while no run keeps findings from being accepted
  await setLag(harness.place, 0.2);
  await acceptance;
  expect(harness.statuses(applied).slice(0, 2)).toEqual([
    ['applied', null],
    ['skipped', 'the finding was accepted since the plan was made'],
  ]);
  expect(harness.writes()).toHaveLength(plan.actions.length - 1);
});

test.each([
  ['its subject is read', 'GET', 2],
  ['it is sent again', 'DELETE', 3],
])('a finding that is accepted while the service asks to wait before %s is skipped', async (_, asked, writes) => {
  const plan = await harness.planAndApprove();
  const { id } = harness.findAgent(plan, 0);
  const { published } = warehouseFiles(join(harness.place.folder, 'data'));
  await copyFile(published, `${published}.before`);
  await acceptFinding(plan.actions[0]!.finding_id);
  await rename(published, `${published}.accepted`);
  await rename(`${published}.before`, published);
  let isAccepted = false;
  harness.faultHook = ({ method, path }) => {
    if (isAccepted || method !== asked || !path.endsWith(id)) return undefined;
    renameSync(`${published}.accepted`, published);
    isAccepted = true;
    return { status: 429, headers: { 'retry-after': '0' }, body: '{"errors": []}' };
  };
  const applied = await harness.apply();
  expect(harness.statuses(applied)[0]).toEqual(['skipped', 'the finding was accepted since the plan was made']);
  expect(harness.writes()).toHaveLength(writes);
});

async function acceptFinding(id: string, { place = harness.place, until = '2027-01-01' } = {}): Promise<void> {
  const words = ['--reason', 'kept', '--owner', 'ops', '--until', until];
  const { exit, stderr } = await place.tidemark(['findings', 'accept', id, ...words]);
  expect(exit, stderr).toBe(0);
}

function setLag(place: TestProject, seconds: number): Promise<void> {
  return place.configure(({ targets }) => {
    for (const target of targets) target.lag = seconds;
  });
}
