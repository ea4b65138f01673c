import { expect, test } from 'vitest';
import type { Plan } from '../../src/act/plan-file.ts';
import { playbookHarness } from '../helpers/playbook-harness.ts';
import { expectResolved } from './lifecycle.ts';

/** Playbooks whose requests or responses differ in the real product. */
const PLAYBOOKS = [
  'scope-unused-pools',
  'drop-dead-views',
  'pin-drift-view',
  'retire-old-key-versions',
  'remove-retired-keys',
  'trim-anonymous-policy',
  'adopt-orphaned-volumes',
  'snapshot-unprotected-volumes',
];

test('playbooks work with the real product, and the next run resolves the findings', async () => {
  const [playbook = '', ...others] = PLAYBOOKS;
  const first = await playbookHarness({
    updatesTable: false,
    playbook,
    others,
    sources: ['saved_views'],
    flavor: 'hashicorp',
  });
  const plans: Plan[] = [];
  for (const name of PLAYBOOKS) {
    const place = first.switchTo(name);
    const plan = await place.plan(['--max-percent', '100']);
    expect(plan.actions.length, name).toBeGreaterThan(0);
    await place.approve();
    const { rows } = (await place.apply()).json<{ rows: { status: string; reason: string | null }[] }>();
    expect(
      rows.map(({ status, reason }) => [status, reason]),
      name,
    ).toEqual(plan.actions.map(() => ['applied', null]));
    if (name !== 'pin-drift-view') plans.push(plan);
    else expect((await place.plan(['--max-percent', '100'])).actions, 'the view is recognized').toEqual([]);
  }
  await expectResolved(first, plans);
});

test.each([
  [false, 'failed', expect.stringContaining('Unknown allocation')],
  [true, 'applied', null],
] as const)('where detaching works: %s, detach-lost-claims is %s', async (canDetach, status, reason) => {
  const place = await playbookHarness({
    updatesTable: false,
    playbook: 'detach-lost-claims',
    sources: ['volumes'],
    flavor: 'hashicorp',
  });
  const { state } = place.sandbox.services.scheduler;
  state.canDetach = canDetach;
  const { actions } = (await place.plan(['--max-percent', '100'])) as Plan;
  expect(actions.length).toBeGreaterThan(0);
  await place.approve();
  const { rows } = JSON.parse((await place.tidemark(['playbook', 'apply', place.planFile, '--json'])).stdout) as {
    rows: { status: string; reason: string | null }[];
  };
  // A second node of the same volume waits for the first one.
  const sent = rows.filter((row) => !row.reason?.includes('which must come first'));
  expect(sent.length).toBeGreaterThan(1);
  expect(sent.map((row) => [row.status, row.reason])).toEqual(sent.map(() => [status, reason]));
  if (!canDetach) expect(sent[0]?.reason).toContain('deregister the volume with `force=true` and register it again');
  const lost = [...state.volumes.values()].find(({ id }) => id === 'lost-cache')!;
  expect(lost.claims.length === 0).toBe(canDetach);
});

test('snapshot-unprotected-volumes works where the driver cannot list its volumes, as that of AWS EBS', async () => {
  const place = await playbookHarness({
    updatesTable: false,
    playbook: 'snapshot-unprotected-volumes',
    flavor: 'hashicorp',
    prepare: ({ scheduler }) => {
      for (const [key, { id }] of scheduler.volumes) if (id.startsWith('missing-')) scheduler.volumes.delete(key);
    },
    faultHook: ({ path }) =>
      path === '/v1/volumes/external' ? { status: 500, body: 'unimplemented for this plugin' } : undefined,
  });
  const { actions } = await place.plan(['--max-percent', '100']);
  expect(actions.length).toBeGreaterThan(0);
  await place.approve();
  const { rows } = (await place.apply()).json<{ rows: { status: string; reason: string | null }[] }>();
  expect(rows.map(({ status, reason }) => [status, reason])).toEqual(actions.map(() => ['applied', null]));
});

test('the snapshot of a plugin that cannot list is not known to be gone: its removal stays pending', async () => {
  let isHanging = false;
  const place = await playbookHarness({
    updatesTable: false,
    playbook: 'snapshot-unprotected-volumes',
    sources: ['external_volumes'],
    flavor: 'hashicorp',
    faultHook: ({ method, path }) =>
      isHanging && method === 'GET' && path === '/v1/volumes/snapshot'
        ? { status: 500, body: 'unimplemented for this plugin' }
        : undefined,
  });
  await place.plan(['--max-percent', '100', '--limit', '1']);
  await place.approve();
  const { plan_id } = (await place.apply()).json<{ plan_id: string }>();
  const undo = (await place.tidemark(['playbook', 'undo', plan_id, '--json'])).json<{ plan_id: string }>();
  await place.tidemark(['playbook', 'approve', undo.plan_id, '--by', 'the operator', '--irreversible']);
  isHanging = true;
  const { exit, stdout } = await place.tidemark(['playbook', 'apply', undo.plan_id, '--json']);
  const { rows } = JSON.parse(stdout) as { rows: { status: string; reason: string | null }[] };
  expect([exit, rows]).toMatchObject([
    1,
    [{ status: 'failed', reason: 'scheduler.snapshots.list does not tell: unimplemented for this plugin' }],
  ]);
});
