import { beforeAll, expect, test } from 'vitest';
import type { RequestRecord } from '../../sandbox/types.ts';
import type { Plan } from '../../src/act/plan-file.ts';
import {
  copyState,
  listWrites,
  type PlaybookHarness,
  type PlaybookHarnessOptions,
  playbookHarness,
  type RemoteState,
} from '../helpers/playbook-harness.ts';
import { cleanAtEnd } from '../helpers/temp.ts';

export interface Lifecycle {
  /** Options of `plan`, such as a higher limit. */
  readonly words?: readonly string[];
  /** The number of planned actions. */
  readonly actions: number;
  /** Changes the state before the apply into the expected one; `now` is the actual state, for values that the service generates. */
  readonly expectedChange: (expected: RemoteState, now: RemoteState, plan: Plan) => void;
}

/**
 * Tests a playbook against the sandbox: its findings lead to a plan; plan, approve, apply; the state changed as expected and in
 * nothing else; a second apply changes nothing. Several playbooks may share a project: `expectResolved` ends them.
 */
export async function testPlaybookLifecycle(
  place: PlaybookHarness,
  { words = [], actions, expectedChange }: Lifecycle,
): Promise<Plan> {
  const { log } = place.sandbox;
  log.length = 0;
  const before = copyState(place);

  const plan = await place.plan(words);
  expect(plan.actions.map(({ summary }) => summary)).toHaveLength(actions);
  expect(new Set(plan.actions.map(({ action_id }) => action_id)).size).toBe(actions);
  const shown = await place.tidemark(['playbook', 'show', plan.plan_id]);
  await place.approve();
  expect(listWrites(log), 'planning and approving only read').toEqual([]);
  expect(copyState(place)).toEqual(before);

  const applied = (await place.apply()).json<{ rows: { status: string; reason: string | null }[] }>();
  expect(applied.rows.map(({ status, reason }) => [status, reason])).toEqual(plan.actions.map(() => ['applied', null]));
  expect(listWrites(log)).toHaveLength(actions);
  for (const { headers, kind } of listWrites(log)) {
    expect(JSON.stringify(headers), 'writes use the write token').toContain(place.sandbox.tokens[kind].write);
  }
  expectCallsShown(shown.stdout, plan, listWrites(log));
  expectNamespaces(log);
  const after = copyState(place);
  const expected = structuredClone(before);
  expectedChange(expected, after, plan);
  expect(after).toEqual(expected);

  const again = await place.tidemark(['playbook', 'apply', plan.plan_id]);
  expect([again.exit, again.stdout]).toEqual([
    0,
    `plan ${plan.plan_id} is finished, nothing to do: ${actions} applied\n`,
  ]);
  expect(listWrites(log), 'a second apply sends nothing').toHaveLength(actions);
  expect(copyState(place)).toEqual(after);

  const ledger = (await place.ledger()).filter(({ plan_id }) => plan_id === plan.plan_id);
  expect(ledger.map(({ status, approved_by }) => [status, approved_by])).toEqual(
    plan.actions.map(() => ['applied', 'the operator']),
  );
  return plan;
}

/**
 * Starts one project for the playbooks of a `describe`, and registers the test that takes its steps, in the order in which they
 * are written. `plans` has those that `lifecycle` has applied.
 */
export function sharePlaybooks(options: Omit<PlaybookHarnessOptions, 'cleanup' | 'updatesTable'>) {
  const cleanup = cleanAtEnd();
  const plans: Plan[] = [];
  const steps: (readonly [name: string, take: () => Promise<void>])[] = [];
  let place: PlaybookHarness;
  beforeAll(async () => {
    place = await playbookHarness({ ...options, updatesTable: false, cleanup });
  });
  test('one after the other', async () => {
    for (const [name, take] of steps) {
      await take().catch((error: Error) => {
        error.message = `${name}: ${error.message}`;
        throw error;
      });
    }
  });
  return {
    plans,
    step: (name: string, take: () => Promise<void>) => void steps.push([name, take]),
    get place() {
      return place;
    },
    lifecycle: async (playbook: string, lifecycle: Lifecycle) => {
      plans.push(await testPlaybookLifecycle(place.switchTo(playbook), lifecycle));
    },
  };
}

/** The table `actions` has those of the plan, which were applied. */
export async function expectInTable(place: PlaybookHarness, { plan_id: plan, actions }: Plan): Promise<void> {
  const sql = 'select action_id, status from actions where plan_id = $plan order by action_id';
  expect(await place.rows(sql, { plan })).toEqual(actions.map(({ action_id }) => ({ action_id, status: 'applied' })));
}

/** The next run resolves the findings of these plans, and copies their actions to the table. */
export async function expectResolved(place: PlaybookHarness, plans: readonly Plan[]): Promise<void> {
  place.sandbox.tick();
  await place.runJob();
  for (const plan of plans) {
    expect(new Set((await place.states(plan)).values()), plan.playbook).toEqual(new Set(['resolved']));
    await expectInTable(place, plan);
  }
}

/**
 * The documented requests about a volume have no parameter `namespace`; the real product needs it for every namespace but the
 * default one. The estate has volumes in `prod` as well.
 */
function expectNamespaces(log: readonly RequestRecord[]): void {
  const named = log.flatMap(({ path, query }) =>
    path.endsWith('/volumes') ? [] : new URLSearchParams(query).getAll('namespace'),
  );
  expect(named.filter((namespace) => namespace !== 'prod')).toEqual([]);
}

/** `playbook show` prints each request as it was sent later, and what it changes. */
function expectCallsShown(text: string, { actions }: Plan, sent: readonly RequestRecord[]): void {
  for (const [index, { action_id, summary }] of actions.entries()) {
    const start = text.indexOf(`\n${action_id}: ${summary}\n`);
    const lines =
      text
        .slice(start + 1)
        .split('\n\n')[0]
        ?.split('\n')
        .slice(1) ?? [];
    const { method, path, query, body } = sent[index] as RequestRecord;
    const search = query === '' ? '' : `?${query}`;
    const [call = '', ...rest] = lines.map((line) => line.slice(2));
    expect([start > 0, call.replace(/^(\w+) https?:\/\/[^/]+/u, '$1 ')]).toEqual([true, `${method} ${path}${search}`]);
    const isChange = (line: string) => /^[-+~] /u.test(line);
    const shown = rest.slice(0, rest.findIndex(isChange)).join('');
    if (shown !== '' || body !== '') expect(JSON.parse(shown)).toEqual(JSON.parse(body));
    expect(rest.filter(isChange), `${summary} changes something`).not.toEqual([]);
  }
}
