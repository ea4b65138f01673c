import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ledgerFile } from '../../src/act/ledger.ts';
import type { Plan } from '../../src/act/plan-file.ts';
import { keepPlan } from '../../src/act/plan-store.ts';
import { appendActions } from '../helpers/old-ledger.ts';
import { type TestProject, testProject } from '../helpers/test-project.ts';
import { buildTestPlan } from './test-plans.ts';

const PLANS = {
  applied: 'p-20260702T021459Z-00000001',
  open: 'p-20260702T021459Z-00000002',
  unconfirmed: 'p-20260702T021459Z-00000003',
  notStarted: 'p-20260702T021459Z-00000004',
  ninetyDaysOld: 'p-20260703T021500Z-00000005',
};

function buildNamedPlan(planId: string): Plan {
  return buildTestPlan((plan) => {
    plan.plan_id = planId;
  });
}

/** Keeps the plans, and records that the first three were begun. The sandbox's time is 2026-10-01T02:15:00Z. */
async function keepPlans({ folder }: TestProject): Promise<string> {
  const data = join(folder, 'data');
  for (const plan_id of Object.values(PLANS)) await keepPlan({ data }, buildNamedPlan(plan_id));
  const day = '2026-07-02';
  await appendActions(data, [
    { plan: PLANS.applied, day, status: 'applied' },
    { plan: PLANS.open, day },
    { plan: PLANS.unconfirmed, day, status: 'unconfirmed' },
  ]);
  return data;
}

const listPlans = async (data: string) => (await readdir(join(data, 'plans'))).sort();

test('a run removes plans older than planDays; newer ones, those with an unsettled action, other files and the ledger stay', async () => {
  const project = await testProject({ workspaces: 10 });
  const data = await keepPlans(project);
  await writeFile(join(data, 'plans', 'README'), 'mine');
  await project.pull(['--source', 'keys']);
  const { open, unconfirmed, ninetyDaysOld } = PLANS;
  expect(await listPlans(data)).toEqual(['README', ...[open, unconfirmed, ninetyDaysOld].map((id) => `${id}.json`)]);
  expect(await readFile(ledgerFile(data), 'utf8')).toContain(PLANS.applied);
});

test('a plan that is still valid stays, however short planDays is', async () => {
  const project = await testProject({ workspaces: 10 });
  const data = join(project.folder, 'data');
  for (const plan_id of ['p-20260930T021500Z-00000001', 'p-20260930T021459Z-00000002']) {
    await keepPlan({ data }, buildNamedPlan(plan_id));
  }
  await project.configure((config) => {
    config.planDays = 0.1;
  });
  await project.pull(['--source', 'keys']);
  expect(await listPlans(data)).toEqual(['p-20260930T021500Z-00000001.json']);
});

test('while the ledger cannot be read, every plan stays and the run says why', async () => {
  const project = await testProject({ workspaces: 10 });
  const data = await keepPlans(project);
  const { length } = await listPlans(data);
  await rm(ledgerFile(data));
  await writeFile(ledgerFile(data), '{"event":"other"}\n');
  const { stderr } = await project.pull(['--source', 'keys']);
  expect(stderr).toMatch(/plans older than `planDays` are kept: .*ledger\.ndjson:1 is damaged/u);
  expect(await listPlans(data)).toHaveLength(length);
});
