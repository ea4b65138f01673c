import { expect } from 'vitest';
import type { Plan } from '../../src/remediation/plan-file.ts';
import {
  copyState,
  listWrites,
  type PlaybookHarness,
  type PlaybookHarnessOptions,
  playbookHarness,
  type RemoteState,
} from '../helpers/playbook-harness.ts';

export interface LifecycleOptions extends PlaybookHarnessOptions {
  /** Words for `plan`, such as a higher cap. */
  readonly words?: readonly string[];
  /** Prepares the sandbox before the first night. */
  readonly actions: number;
  /** Turns what the estate was into what it must be; `now` is what it is, for what the service invents. */
  readonly expectedChange: (expected: RemoteState, now: RemoteState, plan: Plan) => void;
  /** @default true: the next night shows the findings gone */
  readonly resolves?: boolean;
}

/**
 * The whole life of a playbook against the sandbox: nights lead to findings, plan, approve, apply, the estate changed as meant
 * and nothing else, again applied changes nothing, the next night resolves the findings.
 */
export async function testPlaybookLifecycle({
  words = [],
  actions,
  expectedChange,
  resolves = true,
  ...options
}: LifecycleOptions): Promise<PlaybookHarness> {
  const place = await playbookHarness(options);
  const { log } = place.sandbox;
  const before = copyState(place);

  const plan = await place.plan(words);
  expect(plan.actions.map(({ summary }) => summary)).toHaveLength(actions);
  expect(new Set(plan.actions.map(({ action_id }) => action_id)).size).toBe(actions);
  await place.approve();
  expect(listWrites(log), 'planning and approving only read').toEqual([]);
  expect(copyState(place)).toEqual(before);

  const applied = (await place.apply()).json<{ rows: { status: string; reason: string | null }[] }>();
  expect(applied.rows.map(({ status, reason }) => [status, reason])).toEqual(plan.actions.map(() => ['applied', null]));
  expect(listWrites(log)).toHaveLength(actions);
  for (const { headers, kind } of listWrites(log)) {
    expect(JSON.stringify(headers), 'writes go out with the write token').toContain(place.sandbox.tokens[kind].write);
  }
  const after = copyState(place);
  const expected = structuredClone(before);
  expectedChange(expected, after, plan);
  expect(after).toEqual(expected);

  await place.apply();
  expect(listWrites(log), 'applied twice, done once').toHaveLength(actions);
  expect(copyState(place)).toEqual(after);

  const ledger = await place.ledger();
  expect(ledger.map(({ status, approved_by }) => [status, approved_by])).toEqual(
    plan.actions.map(() => ['applied', 'the operator']),
  );
  const table = await place.rows('select action_id, status from actions order by action_id');
  expect(table).toEqual(plan.actions.map(({ action_id }) => ({ action_id, status: 'applied' })));

  place.sandbox.tick();
  await place.runJob();
  const states = new Set((await place.states(plan)).values());
  if (resolves) expect(states).toEqual(new Set(['resolved']));
  return place;
}
