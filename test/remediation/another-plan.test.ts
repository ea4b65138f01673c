import { expect, test } from 'vitest';
import type { Plan } from '../../src/act/plan-file.ts';
import { listWrites, playbookHarness } from '../helpers/playbook-harness.ts';

/** Every kind of change: something is deleted, rotated, set and created. */
test.each<readonly [playbook: string, sources: readonly string[]]>([
  ['reap-dead-agents', []],
  ['rotate-old-keys', []],
  ['scope-unused-pools', []],
  ['pin-drift-view', ['saved_views']],
  ['snapshot-unprotected-volumes', ['external_volumes']],
])('%s: a plan whose work another plan did changes nothing', async (playbook, sources) => {
  const place = await playbookHarness({ playbook, sources, updatesTable: false });
  const create = async () => {
    const words = ['playbook', 'plan', playbook, '--max-percent', '100', '--json'];
    const plan = (await place.tidemark(words)).json<Plan>();
    await place.tidemark(['playbook', 'approve', plan.plan_id, '--by', 'the operator', '--irreversible']);
    return plan;
  };
  const [first, second] = [await create(), await create()];
  const { exit, stderr } = await place.tidemark(['playbook', 'apply', second.plan_id]);
  expect(exit, stderr).toBe(0);
  place.sandbox.log.length = 0;
  const applied = await place.tidemark(['playbook', 'apply', first.plan_id, '--json']);
  const { rows } = applied.json<{ rows: { status: string }[] }>();
  expect(rows.filter(({ status }) => status === 'applied')).toEqual([]);
  expect(listWrites(place.sandbox.log)).toEqual([]);
});
