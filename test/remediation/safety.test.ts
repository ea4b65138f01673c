import { join } from 'node:path';
import { expect, test } from 'vitest';
import { applyPlan } from '../../src/act/apply.ts';
import { approvalDigest, planDigest, readPlan, writePlan } from '../../src/act/plan-file.ts';
import { builtInPlaybooks } from '../../src/act/playbooks/index.ts';
import { openServices } from '../../src/act/remote.ts';
import { loadConfig } from '../../src/config/config.ts';
import { HOUR_MS } from '../../src/core/clock.ts';
import { platform } from '../../src/services/platform/operations.ts';
import { secrets } from '../../src/services/secrets/operations.ts';
import { quietContext } from '../helpers/context.ts';
import { listWrites, type PlaybookHarness, playbookHarness } from '../helpers/playbook-harness.ts';

const loadProjectConfig = (place: PlaybookHarness) =>
  loadConfig(join(place.folder, 'tidemark.yaml'), {}, quietContext('').redactor);

test('an irreversible plan needs --irreversible, and is refused at apply where the approval lacks it', async () => {
  const place = await playbookHarness({ updatesTable: false, playbook: 'remove-retired-keys' });
  const plan = await place.plan();
  expect(plan.actions.map(({ operation, irreversible }) => [operation, irreversible])).toEqual([
    ['secrets.keys.delete', true],
    ['secrets.kms-keys.remove', true],
    ['secrets.keys.delete', true],
  ]);
  const refused = await place.tidemark(['playbook', 'approve', place.planFile, '--by', 'the operator']);
  expect([refused.exit, refused.stderr]).toEqual([6, expect.stringContaining('3 of 3 actions cannot be undone')]);
  expect((await readPlan(place.planFile)).approvals).toEqual([]);

  const half = { by: 'the operator', at: plan.created_at, irreversible: false };
  await writePlan(place.planFile, { ...plan, approvals: [{ ...half, digest: approvalDigest(plan, half) }] });
  expect((await place.apply([], 6)).stderr).toContain('cannot be undone and were not approved');

  // Removing the mark from the plan does not help: the playbook decides.
  const harmless = { ...plan, actions: plan.actions.map(({ irreversible: _, ...action }) => action) };
  const remade = { ...harmless, digest: planDigest(harmless) };
  await writePlan(place.planFile, { ...remade, approvals: [{ ...half, digest: approvalDigest(remade, half) }] });
  expect((await place.apply([], 6)).stderr).toContain('cannot be undone and were not approved');
  expect(listWrites(place.sandbox.log)).toEqual([]);
});

test('a plan that names an operation which its playbook does not call is refused', async () => {
  const place = await playbookHarness({ updatesTable: false, playbook: 'rotate-old-keys' });
  const plan = await place.plan();
  for (const operation of ['secrets.keys.delete', 'secrets.keys.destroy']) {
    const other = { ...plan, actions: plan.actions.map((action) => ({ ...action, operation })) };
    await writePlan(place.planFile, { ...other, digest: planDigest(other) });
    await place.approve();
    await place.apply([], 6);
  }
  expect(listWrites(place.sandbox.log)).toEqual([]);
});

test('a plan whose guard is not that of its playbook is refused', async () => {
  const place = await playbookHarness({ updatesTable: false, playbook: 'rotate-old-keys' });
  const plan = await place.plan();
  const [action] = plan.actions;
  const { guard } = action!;
  const guards = [
    { ...guard, reads: {} },
    { ...guard, reads: { key: { ...guard.reads.key!, operation: 'secrets.kms.list' } } },
    { ...guard, reads: { ...guard.reads, more: guard.reads.key! } },
    { ...guard, inputs: { ...guard.inputs, latest_version: 'seven' } },
  ];
  for (const other of guards) {
    const forged = { ...plan, actions: [{ ...action!, guard: other }] };
    await writePlan(place.planFile, { ...forged, digest: planDigest(forged) });
    await place.approve();
    expect((await place.apply([], 6)).stderr).toContain('has another guard for secrets.keys.rotate');
  }
  expect(listWrites(place.sandbox.log)).toEqual([]);
});

test('a guard read that changes something is refused', async () => {
  const place = await playbookHarness({ updatesTable: false, playbook: 'rotate-old-keys' });
  const context = quietContext(place.folder);
  const remote = openServices(loadProjectConfig(place), context, context.signal);
  for (const operation of [secrets.keys.rotate, secrets['mesh-creds'].generate]) {
    await expect(remote.read('vault', operation, { name: 'payments-signing' })).rejects.toMatchObject({
      code: 'UNSAFE',
    });
  }
  await remote.close();
  expect(place.sandbox.log).toEqual([]);
});

test('what only a storage plugin may lack is a failure of any other list', async () => {
  const place = await playbookHarness({
    updatesTable: false,
    playbook: 'rotate-old-keys',
    faultHook: ({ path }) =>
      path.endsWith('/views') ? { status: 422, body: '{"errors":["unsupported"]}' } : undefined,
  });
  const context = quietContext(place.folder);
  const remote = openServices(loadProjectConfig(place), context, context.signal);
  const read = remote.read('acme', platform.views.list, {}, { allPages: true });
  await expect(read).rejects.toMatchObject({ failure: 'invalid' });
  await remote.close();
});

test('readings that contradict the first action of every chain stop the apply as a fault of the service', async () => {
  const held = { name: 'x-1', protection: 'hsm', purpose: ['sign'], versions: {} };
  const place = await playbookHarness({
    updatesTable: false,
    playbook: 'remove-retired-keys',
    prepare: ({ secrets: { keys, providers } }) => {
      const retired = [...keys].filter(([, { deletionAllowed }]) => deletionAllowed).map(([name]) => name);
      for (const provider of providers.values()) for (const name of retired) provider.keys.set(name, held);
    },
  });
  const { actions } = await place.plan(['--max-percent', '100']);
  await place.approve();
  const findings = new Set(actions.map(({ finding_id }) => finding_id));
  expect(findings.size * 2, 'readings alone contradict less than half').toBeLessThan(actions.length);
  for (const key of place.sandbox.services.secrets.state.keys.values()) Object.assign(key, { deletionAllowed: false });
  const { rows, stopped } = (await place.apply([], 1)).json<{ rows: unknown[]; stopped: { reason: string } | null }>();
  expect(stopped?.reason).toMatch(/^readings contradict \d+ of \d+ actions, as a fault of the service would/u);
  expect(rows.filter((row) => (row as { finished_at: unknown }).finished_at !== null)).toEqual([]);
  expect([await place.ledger(), listWrites(place.sandbox.log)]).toEqual([[], []]);
});

test.each([
  ['expires', 24, 'expired at'],
  ['is of the future, as the clock is set back,', -72, 'was created at'],
])('a plan that %s while it is applied stops before the next action', async (_, hours, reason) => {
  const place = await playbookHarness({ updatesTable: false, playbook: 'rotate-old-keys' });
  const plan = await place.plan();
  await place.approve();
  let time = Date.parse(plan.created_at);
  const clock = { now: () => new Date(time), frozen: false };
  const context = quietContext(place.folder, {
    clock,
    log: {
      info: () => {
        time = Date.parse(plan.created_at) + hours * HOUR_MS;
      },
      warn: () => {},
      error: () => {},
    },
  });
  const applied = await applyPlan(await readPlan(place.planFile), {
    config: loadProjectConfig(place),
    context,
    maxFailures: 3,
    playbooks: builtInPlaybooks,
  });
  expect(applied.rows.map(({ status }) => status)).toEqual(['applied']);
  expect(applied.stopped).toEqual({ reason: expect.stringContaining(`plan ${plan.plan_id} ${reason}`), exit: 6 });
});
