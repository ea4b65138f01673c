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
    playbooks: [
      'trim-anonymous-policy',
      'detach-lost-claims',
      'adopt-orphaned-volumes',
      'snapshot-unprotected-volumes',
    ],
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
