import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Plan } from '../../src/act/plan-file.ts';
import { listWrites, playbookHarness } from '../helpers/playbook-harness.ts';

interface Applied {
  readonly rows: readonly { readonly status: string; readonly reason: string; readonly satisfied: boolean }[];
  readonly stopped: { readonly reason: string } | null;
}

const CASES: readonly (readonly [playbook: string, sources: readonly string[]])[] = [
  ['reap-dead-agents', []],
  ['rotate-old-keys', []],
  ['scope-unused-pools', []],
  ['retire-old-key-versions', []],
  ['pin-drift-view', ['saved_views']],
  ['snapshot-unprotected-volumes', ['external_volumes']],
];

test.each(CASES)(
  '%s: a plan whose work another plan did names that plan, and is complete',
  async (playbook, sources) => {
    const place = await playbookHarness({ playbook, sources, updatesTable: false });
    const tidemark = async (words: readonly string[], exit = 0) => {
      const result = await place.tidemark(['playbook', ...words, '--json']);
      expect(result.exit, result.stderr).toBe(exit);
      return result;
    };
    const create = async () => {
      const plan = (await tidemark(['plan', playbook, '--max-percent', '100'])).json<Plan>();
      await tidemark(['approve', plan.plan_id, '--by', 'the operator', '--irreversible']);
      return plan;
    };
    const first = await create();
    const second = await create();
    await tidemark(['apply', second.plan_id]);
    place.sandbox.log.length = 0;
    const { rows, stopped } = (await tidemark(['apply', first.plan_id])).json<Applied>();
    expect(stopped).toBeNull();
    expect(rows).toMatchObject(
      second.actions.map(({ action_id }) => ({
        status: 'skipped',
        reason: expect.stringContaining(`no change needed: ${action_id} of plan ${second.plan_id} did it at `),
        satisfied: true,
      })),
    );
    expect(listWrites(place.sandbox.log)).toEqual([]);
    expect((await tidemark(['apply', first.plan_id])).stdout).toContain(first.plan_id);
  },
);

test('a plan that is resumed after another one did the rest of its work is complete', async () => {
  let isRefused = true;
  const place = await playbookHarness({
    playbook: 'reap-dead-agents',
    updatesTable: false,
    faultHook: ({ method }) => (method === 'DELETE' && isRefused ? { status: 403, body: '{"errors": []}' } : undefined),
  });
  const first = await place.plan(['--max-percent', '100']);
  await place.approve();
  await place.apply(['--max-failures', '1'], 1);
  isRefused = false;
  await place.tidemark(['playbook', 'plan', place.playbook, '-o', join(place.folder, 'second.json')]);
  await place.tidemark(['playbook', 'approve', join(place.folder, 'second.json'), '--by', 'x', '--irreversible']);
  expect((await place.tidemark(['playbook', 'apply', join(place.folder, 'second.json')])).exit).toBe(0);
  const { rows } = (await place.apply()).json<Applied>();
  expect(rows).toMatchObject(
    first.actions.map(() => ({ status: 'skipped', reason: expect.stringContaining(' did it at '), satisfied: true })),
  );
});

test('apply of an undo that leaves out an action exits with 1, as undo does, also when it is finished', async () => {
  const place = await playbookHarness({ playbook: 'scope-unused-pools', updatesTable: false });
  const plan = await place.plan(['--max-percent', '100']);
  await place.approve();
  await place.apply();
  const undo = (await place.tidemark(['playbook', 'undo', plan.plan_id, '--json'])).json<Plan>();
  await place.tidemark(['playbook', 'approve', undo.plan_id, '--by', 'the operator']);
  const { pools } = place.sandbox.services.platform.state;
  pools.find(({ id }) => id === undo.actions[0]!.params.id)!.allowed.push('ws-new');
  const applied = await place.tidemark(['playbook', 'apply', undo.plan_id, '--json']);
  expect([applied.exit, applied.json<Applied>().rows.map(({ status }) => status)]).toEqual([1, ['skipped', 'applied']]);
  expect((await place.tidemark(['playbook', 'apply', undo.plan_id])).exit).toBe(1);
});
