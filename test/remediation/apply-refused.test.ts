import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { acquireLock } from '../../src/warehouse/lock.ts';
import type { TestProject } from '../helpers/test-project.ts';
import { applyHarness } from './apply-harness.ts';

const harness = applyHarness({ updatesTable: false, playbook: 'reap-dead-agents' });

const refusals = async () => (await harness.place.apply([], 6)).stderr;

test('a plan that is not approved is refused, and nothing is sent', async () => {
  await harness.place.plan(['--max-percent', '100']);
  harness.place.sandbox.log.length = 0;
  expect(await refusals()).toContain('is not approved');
  expect(harness.place.sandbox.log).toEqual([]);
});

test('an expired plan is refused, one second before it is not', async () => {
  const plan = await harness.useApprovedPlan();
  const end = Date.parse(plan.expires_at);
  expect(end - Date.parse(plan.created_at)).toBe(24 * 3_600_000);
  const late = await harness.place.apply(['--now', new Date(end).toISOString()], 6);
  expect([late.stdout, late.stderr]).toEqual(['', expect.stringContaining('expired')]);
  expect(harness.place.sandbox.log).toEqual([]);
  const { rows } = await harness.apply(['--now', new Date(end - 1000).toISOString()]);
  expect(rows.map(({ status }) => status)).toEqual(['applied', 'applied', 'applied']);
});

test('a time before the approval is refused: it would make an expired plan valid again', async () => {
  const plan = await harness.place.plan(['--max-percent', '100']);
  const hours = (count: number) => new Date(Date.parse(plan.created_at) + count * 3_600_000).toISOString();
  await harness.place.approve(['--now', hours(20)]);
  harness.place.sandbox.log.length = 0;
  const early = await harness.place.apply(['--now', hours(2)], 6);
  expect(early.stderr).toContain(
    `plan ${plan.plan_id} was approved by the operator at ${hours(20)}, which is in the future of ${hours(2)}`,
  );
  expect(harness.place.sandbox.log).toEqual([]);
  expect((await harness.place.approve(['--now', hours(19)], 6)).stderr).toContain('which is in the future');
  await harness.apply(['--now', hours(20)]);
});

test('a plan of another warehouse is refused', async () => {
  await harness.useApprovedPlan();
  const moved = join(harness.place.folder, 'elsewhere');
  await edit(harness.place, { data: './elsewhere' });
  await harness.place.runJob();
  harness.place.sandbox.log.length = 0;
  expect(await refusals()).toContain('another warehouse');
  expect(harness.writes()).toEqual([]);
  await edit(harness.place, { data: './data' });
  await rm(moved, { recursive: true });
});

test('a plan that was changed is refused', async () => {
  const plan = await harness.useApprovedPlan();
  const text = await readFile(harness.place.planFile, 'utf8');
  await writeFile(harness.place.planFile, text.replaceAll(String(plan.actions[0]?.params.id), 'agent-other'));
  expect(await refusals()).toContain('was changed since it was made');
  expect(harness.writes()).toEqual([]);
});

test('while a plan is applied, another apply is refused and sends nothing', async () => {
  await harness.useApprovedPlan();
  const file = join(harness.place.folder, 'data', 'apply.lock');
  const lock = await acquireLock(file, 'plan p-other');
  expect(await refusals()).toContain('locked by plan p-other');
  expect(harness.place.sandbox.log).toEqual([]);
  await lock.release();
  await harness.apply();
  expect(harness.writes()).toHaveLength(3);
});

async function edit(place: TestProject, change: Record<string, unknown>): Promise<void> {
  await place.configure((config) => Object.assign(config, change));
}
