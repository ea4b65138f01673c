import { expect, test } from 'vitest';
import { planDigest, writePlan } from '../../src/act/plan-file.ts';
import { rewriteWarehouse } from '../helpers/change-warehouse.ts';
import { playbookHarness } from '../helpers/playbook-harness.ts';

/** Plans and findings of earlier builds, which lack what playbooks have learned since. */

test.each([
  ['retire-old-key-versions', 'min_enabled_version'],
  ['retire-old-key-versions', 'rotated_at'],
  ['downgrade-management-roles', 'mount'],
  ['drop-stale-snapshots', 'plugin_match'],
  ['snapshot-unprotected-volumes', 'plugin_match'],
])('%s: a plan without the input %s is shown and applied', async (playbook, input) => {
  const place = await playbookHarness({ playbook, updatesTable: false });
  const plan = await place.plan(['--max-percent', '100']);
  expect(plan.actions).not.toEqual([]);
  for (const { params, guard } of plan.actions) {
    expect(guard.inputs).toHaveProperty(input);
    const reads = Object.values(guard.reads).map((read) => read.params);
    for (const fields of [params, guard.inputs, ...reads]) Reflect.deleteProperty(fields, input);
  }
  await writePlan(place.planFile, { ...plan, digest: planDigest(plan) });
  expect(await place.tidemark(['playbook', 'show', place.planFile])).toMatchObject({ exit: 0 });
  await place.approve();
  await place.apply();
  expect((await place.ledger()).map(({ status }) => status)).toEqual(plan.actions.map(() => 'applied'));
});

test('a plan that does not tell a selection is approved, applied and undone', async () => {
  const place = await playbookHarness({ playbook: 'scope-unused-pools', updatesTable: false });
  const { selection: _selection, ...plan } = await place.plan();
  await writePlan(place.planFile, { ...plan, digest: planDigest(plan) });
  await place.approve();
  await place.apply();
  expect((await place.ledger()).map(({ status }) => status)).toEqual(plan.actions.map(() => 'applied'));
  expect(await place.tidemark(['playbook', 'undo', place.planFile])).toMatchObject({ exit: 0 });
});

test('downgrade-management-roles: a finding without a mount is of the only one that the target has', async () => {
  const place = await playbookHarness({ playbook: 'downgrade-management-roles' });
  const words = ['--max-percent', '100'];
  const planned = await place.plan(words);
  for (const detail of [
    `json_merge_patch(detail, '{"mount": null}')`,
    `json_object('role_name', detail ->> 'role_name')`,
  ]) {
    await rewriteWarehouse(place, [`update findings set detail = ${detail} where rule = 'management-role'`]);
    expect((await place.plan(words)).actions).toEqual(planned.actions);
  }
});
