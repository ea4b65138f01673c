import { expect, test } from 'vitest';
import type { Plan } from '../../src/remediation/plan-file.ts';
import { playbookHarness } from '../helpers/playbook-harness.ts';

/** Playbooks whose requests or responses differ in the real product, with the sources that they need. */
const KINDS = [
  {
    kind: 'platform',
    playbooks: ['scope-unused-pools', 'drop-dead-views', 'pin-drift-view'],
    sources: ['saved_views', 'saved_view_rows', 'workspaces'],
  },
  { kind: 'secrets', playbooks: ['retire-old-key-versions', 'remove-retired-keys'], sources: ['key_distributions'] },
  {
    kind: 'scheduler',
    playbooks: ['trim-anonymous-policy', 'adopt-orphaned-volumes', 'snapshot-unprotected-volumes'],
    sources: ['volumes', 'external_volumes', 'volume_snapshots'],
  },
];

test.each(KINDS)(
  'playbooks of kind $kind work with the real product, and the next run resolves the findings',
  async ({ playbooks, sources }) => {
    const [first = ''] = playbooks;
    const place = await playbookHarness({ playbook: first, sources, flavor: 'hashicorp' });
    const plans: Plan[] = [];
    for (const playbook of playbooks) {
      const words = ['playbook', 'plan', playbook, '-o', place.planFile, '--json', '--max-percent', '100'];
      const plan = (await place.tidemark(words)).json<Plan>();
      expect(plan.actions.length, playbook).toBeGreaterThan(0);
      await place.approve();
      const { rows } = (await place.apply()).json<{ rows: { status: string; reason: string | null }[] }>();
      expect(rows.map(({ status, reason }) => [status, reason])).toEqual(plan.actions.map(() => ['applied', null]));
      if (playbook !== 'pin-drift-view') plans.push(plan);
      else expect((await place.tidemark(words)).json<Plan>().actions, 'the view is recognized').toEqual([]);
    }
    place.sandbox.tick();
    await place.runJob();
    for (const plan of plans) {
      expect(new Set((await place.states(plan)).values()), plan.playbook).toEqual(new Set(['resolved']));
    }
  },
);

test.each([
  [false, 'failed', expect.stringContaining('Unknown allocation')],
  [true, 'applied', null],
] as const)('where detaching works: %s, detach-lost-claims is %s', async (canDetach, status, reason) => {
  const place = await playbookHarness({ playbook: 'detach-lost-claims', sources: ['volumes'], flavor: 'hashicorp' });
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
