import { expect } from 'vitest';
import type { Flavor } from '../../sandbox/types.ts';
import type { Plan } from '../../src/act/plan-file.ts';
import { copyState, listWrites, playbookHarness, type RemoteState } from '../helpers/playbook-harness.ts';

/** The playbooks whose changes the documents allow to be restored, with the sources that they need beside those of their rules. */
export const REVERSIBLE: Readonly<Record<string, readonly string[]>> = {
  'scope-unused-pools': [],
  'pin-drift-view': ['saved_views'],
  'retire-old-key-versions': [],
  'trim-anonymous-policy': [],
  'adopt-orphaned-volumes': ['external_volumes'],
  'snapshot-unprotected-volumes': ['external_volumes'],
};

export interface Rows {
  readonly rows: readonly { readonly status: string; readonly reason: string | null }[];
}

/** Without the counters of the scheduler, which only grow. The real product reads a lowest enabled version of 0 as 1. */
function withoutIndexes(state: RemoteState): unknown {
  const { policies, volumes, ...scheduler } = state.scheduler;
  const plain = (map: ReadonlyMap<string, object>) =>
    new Map([...map].map(([key, value]) => [key, { ...value, modifyIndex: 0, modifyTime: 0 }]));
  const keys = new Map(
    [...state.secrets.keys].map(([name, key]) => [
      name,
      { ...key, minEnabledVersion: Math.max(1, key.minEnabledVersion) },
    ]),
  );
  const secrets = { ...state.secrets, keys };
  return {
    ...state,
    secrets,
    scheduler: { ...scheduler, index: 0, policies: plain(policies), volumes: plain(volumes) },
  };
}

/** Undo, once it is approved, restores every field that was changed, and only once. */
export async function expectUndo(playbook: string, flavor: Flavor): Promise<void> {
  const sources = REVERSIBLE[playbook]!;
  const place = await playbookHarness({
    updatesTable: false,
    playbook,
    sources,
    ...(flavor === 'hashicorp' && { flavor }),
  });
  const before = copyState(place);
  const plan = await place.plan(['--max-percent', '100']);
  expect(plan.actions.filter(({ irreversible }) => irreversible)).toEqual([]);
  await place.tidemark(['playbook', 'approve', plan.plan_id, '--by', 'the operator']);
  const applied = await place.tidemark(['playbook', 'apply', plan.plan_id, '--json']);
  expect(applied.exit, applied.stderr).toBe(0);
  expect(withoutIndexes(copyState(place))).not.toEqual(withoutIndexes(before));

  place.sandbox.log.length = 0;
  const made = await place.tidemark(['playbook', 'undo', plan.plan_id, '--json']);
  expect(made.exit, made.stderr).toBe(0);
  const undo = made.json<Plan>();
  expect(undo).toMatchObject({ playbook, undoes: plan.plan_id, approvals: [] });
  expect(undo.actions).toHaveLength(plan.actions.length);
  expect((await place.tidemark(['playbook', 'apply', undo.plan_id])).exit, 'not approved').toBe(6);
  expect(listWrites(place.sandbox.log), 'an undo plan only reads').toEqual([]);
  await place.tidemark(['playbook', 'approve', undo.plan_id, '--by', 'the operator', '--irreversible']);
  const { rows } = (await place.tidemark(['playbook', 'apply', undo.plan_id, '--json'])).json<Rows>();
  expect(rows.map(({ status, reason }) => [status, reason])).toEqual(undo.actions.map(() => ['applied', null]));
  expect(withoutIndexes(copyState(place))).toEqual(withoutIndexes(before));

  const again = await place.tidemark(['playbook', 'undo', plan.plan_id]);
  expect([again.exit, again.stderr]).toEqual([6, expect.stringContaining('nothing of plan')]);
  const twice = await place.tidemark(['playbook', 'undo', undo.plan_id]);
  expect([twice.exit, twice.stderr]).toEqual([6, expect.stringContaining('cannot be undone itself')]);
}
