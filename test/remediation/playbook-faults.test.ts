import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { applyPlan } from '../../src/act/apply.ts';
import type { ActionDefinition, Playbook } from '../../src/act/define.ts';
import { createPlan } from '../../src/act/plan.ts';
import { readPlan } from '../../src/act/plan-file.ts';
import { ask, askForPlan } from '../../src/act/playbook-fault.ts';
import { builtInPlaybooks } from '../../src/act/playbooks/index.ts';
import { loadConfig } from '../../src/config/config.ts';
import { DEFAULT_LIMITS } from '../../src/core/choices.ts';
import { frozenClock } from '../../src/core/clock.ts';
import { quietContext } from '../helpers/context.ts';
import { applyHarness } from './apply-harness.ts';

const harness = applyHarness({ playbook: 'scope-unused-pools' });
const own = builtInPlaybooks.find(({ name }) => name === 'scope-unused-pools')!;
const fail = (): never => {
  throw new TypeError('of a user');
};

function prepare() {
  const { folder, sandbox } = harness.place;
  const context = quietContext(folder, { clock: frozenClock(sandbox.now) });
  return { config: loadConfig(join(folder, 'tidemark.yaml'), {}, context.redactor), context };
}

const planWith = (plan: unknown) =>
  createPlan({ ...prepare(), playbook: { ...own, plan } as Playbook, limits: DEFAULT_LIMITS });

test.each<[string, unknown]>([
  ['of a user', fail],
  ['of a user', async () => fail()],
  ['null', () => Promise.reject(null)],
  ["Cannot use 'in' operator to search for 'skip' in undefined", async () => undefined],
  ['planned.map is not a function', async () => ({})],
  ['Cannot destructure', async () => [null]],
  ["Cannot read properties of undefined (reading 'schema')", async () => [{ inputs: {}, summary: 'x' }]],
])('a playbook that plans wrongly is a fault of the playbook: %s', async (what, plan) => {
  await expect(planWith(plan)).rejects.toMatchObject({
    code: 'INCOMPLETE',
    message: expect.stringContaining(`the playbook failed: ${what}`),
  });
});

test.each<[string, unknown]>([
  ['a reason', async () => ({ skip: { a: 1 } })],
  [
    'a summary',
    async (findings: never, context: never) =>
      ((await own.plan(findings, context)) as readonly object[]).map((action) => ({ ...action, summary: 5 })),
  ],
])('what is no text as %s is not planned', async (_, plan) => {
  const { plan: made } = await planWith(plan);
  expect(made.actions).toEqual([]);
  expect(made.skipped[0]?.reason).toMatch(/^the finding has no valid detail: Invalid input: expected string/u);
});

test('a playbook that neither ends nor reads is a fault, and one that reads is waited for', async () => {
  const silent = { ...own, plan: () => new Promise<never>(() => {}) };
  const context = { read: async () => ({ found: true, value: 1 }), query: async () => [] } as never;
  await expect(askForPlan(silent, [], context, 10)).rejects.toThrow(
    'the playbook failed: it has neither planned nor read anything for 0.0 s',
  );
  const slow: Playbook = {
    ...own,
    plan: async (_, { query }) => {
      await query('known_ids');
      return [];
    },
  };
  let answer: (rows: []) => void = () => {};
  const waiting = askForPlan(slow, [], { query: () => new Promise((resolve) => (answer = resolve)) } as never, 10);
  setTimeout(() => answer([]), 50);
  expect(await waiting).toEqual([]);
});

test('a playbook that computes without an end is interrupted, and nested calls are not', async () => {
  const compute = (): never => {
    for (;;);
  };
  const fault = 'the playbook failed: it computes for 0.1 s without a pause';
  expect(() => ask(compute, 100)).toThrow(fault);
  const endless: Playbook = { ...own, plan: compute };
  await expect(askForPlan(endless, [], {} as never, undefined, 100)).rejects.toThrow(fault);
  expect(ask(() => [ask(() => 1), ask(() => 2)])).toEqual([1, 2]);
  expect(() => ask(fail)).toThrow('the playbook failed: of a user');
});

type Edit = Partial<Record<'observe' | 'evaluate' | 'isConfirmed' | 'schema', unknown>>;

/** Applies the plan with a playbook that has these functions in the place of its own. */
async function applyWith(edit: Edit) {
  await harness.useApprovedPlan();
  const actions = own.actions.map((action) => ({ ...action, ...edit }) as ActionDefinition);
  const playbooks = [{ ...own, actions }];
  const plan = await readPlan(harness.place.planFile);
  return applyPlan(plan, { ...prepare(), playbooks, maxFailures: 9 });
}

test('a plan whose playbook cannot take its inputs any more is not applied', async () => {
  const schema = z.object({}).transform(fail);
  await expect(applyWith({ schema })).rejects.toMatchObject({ message: 'the playbook failed: of a user', exit: 1 });
  expect(harness.writes()).toEqual([]);
});

const UNREAD = 'the subject could not be read: the playbook failed:';
const UNSAID = '`evaluate` of the playbook does not say whether the action applies';

test.each<[string, Edit, string]>([
  ['throws', { observe: fail }, `${UNREAD} of a user`],
  ['throws no error', { evaluate: () => Promise.reject(null) }, `${UNREAD} a function of an action is asynchronous`],
  ['reads later', { observe: async () => null }, `${UNREAD} a function of an action is asynchronous`],
  ['says nothing', { evaluate: () => undefined }, UNSAID],
  ['says another state', { evaluate: () => ({ state: 'done', reason: 'x' }) }, UNSAID],
  ['gives no reason', { evaluate: () => ({ state: 'drifted' }) }, UNSAID],
  ['observes nothing', { observe: () => undefined }, 'what was read has a value that the ledger cannot hold'],
])('an action whose playbook %s is not sent, and stays pending', async (_, edit, reason) => {
  const { rows, stopped } = await applyWith(edit);
  expect(rows.map((row) => [row.status, row.reason])).toEqual([
    ['failed', reason],
    ['failed', reason],
  ]);
  expect(stopped).toBeNull();
  expect(harness.writes()).toEqual([]);
  expect((await harness.place.tidemark(['playbook', 'ledger', 'verify'])).exit).toBe(0);
});

test.each<[string, () => unknown]>([
  ['throws', fail],
  ['answers later', async () => true],
])('an action is not confirmed by a playbook that %s', async (_, isConfirmed) => {
  const { rows } = await applyWith({ isConfirmed });
  expect(rows.map(({ status }) => status)).toEqual(['unconfirmed', 'unconfirmed']);
  expect(harness.writes()).toHaveLength(2);
});
