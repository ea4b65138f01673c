import { expect } from 'vitest';
import type { Plan } from '../../../src/act/plan-file.ts';
import { getOperation } from '../../../src/act/registry.ts';
import { buildCommand, startCommand } from '../../helpers/built-command.ts';
import {
  copyState,
  listWrites,
  type PlaybookHarness,
  playbookHarness,
  replaceLedger,
  restoreState,
} from '../../helpers/playbook-harness.ts';

export interface KillOptions {
  readonly playbook: string;
  /** Sources to pull beside those of the rule. */
  readonly sources?: readonly string[];
  readonly kills: number;
}

interface Row {
  readonly action_id: string;
  readonly status: string;
  readonly reason: string | null;
}

/** How often a plan may be applied after the kill until nothing is left to do. */
const MAX_APPLIES = 3;

/**
 * Kills `kills` applies with SIGKILL, each at a random time, and applies each plan again. No action is doubled, lost or unrecorded.
 * Returns the number of actions.
 */
export async function killApplies({ playbook, sources = [], kills }: KillOptions): Promise<number> {
  const command = await buildCommand();
  const place = await playbookHarness({ playbook, sources });
  const initial = copyState(place);
  let actions = 0;
  let durationMs = await measureApply(place, command);
  for (let killed = 0; killed < kills; ) {
    restoreState(place, initial);
    const afterMs = Math.random() * durationMs;
    const plan = await planAndApprove(place);
    actions += plan.actions.length;
    const endedMs = await killAfter(place, command, afterMs);
    // One that ended before it was killed does not count.
    if (endedMs === undefined) killed++;
    else durationMs = endedMs;
    const details = `${playbook}, kill ${killed}, after ${afterMs.toFixed(0)} of ${durationMs.toFixed(0)} ms`;
    await expectOnce(place, plan, details);
  }
  return actions;
}

/** The duration of an apply that is not killed. */
async function measureApply(place: PlaybookHarness, command: string): Promise<number> {
  await planAndApprove(place);
  const { exit, stderr, afterMs } = await startApply(place, command).ended;
  expect(exit, stderr).toBe(0);
  return afterMs;
}

/** A kill may leave a working file that has seen more of the ledger than the published one: so the empty ledger is accepted in any case. */
async function planAndApprove(place: PlaybookHarness): Promise<Plan> {
  await replaceLedger(place, '');
  const accepted = await place.tidemark(['playbook', 'ledger', '--accept']);
  expect(accepted.exit, accepted.stderr).toBe(0);
  const plan = await place.plan(['--max-percent', '100']);
  await place.approve();
  place.sandbox.log.length = 0;
  return plan;
}

function startApply(place: PlaybookHarness, command: string) {
  const now = place.sandbox.now.toISOString();
  return startCommand(command, ['playbook', 'apply', place.planFile, '--now', now], place.folder);
}

/** The duration of the apply, if it ended before the kill. */
async function killAfter(place: PlaybookHarness, command: string, afterMs: number): Promise<number | undefined> {
  const apply = startApply(place, command);
  const timer = setTimeout(() => apply.process.kill('SIGKILL'), afterMs);
  const ended = await apply.ended;
  clearTimeout(timer);
  return ended.exit === null ? undefined : ended.afterMs;
}

async function expectOnce(place: PlaybookHarness, plan: Plan, details: string): Promise<void> {
  let rows: readonly Row[] = [];
  for (let count = 0; count < MAX_APPLIES; count++) {
    const result = await place.tidemark(['playbook', 'apply', place.planFile, '--json', '--max-failures', '99']);
    rows = result.json<{ rows: Row[] }>().rows;
    if (result.exit === 0) break;
  }
  const writes = countWrites(place);
  const isRepeatable = plan.actions.every(({ operation }) => canRepeat(operation));
  const shown = `${details}\n${JSON.stringify(rows)}\n${JSON.stringify([...writes])}`;
  expect(
    rows.map(({ action_id }) => action_id),
    shown,
  ).toEqual(plan.actions.map(({ action_id }) => action_id));
  const allowed = isRepeatable ? ['applied'] : ['applied', 'unconfirmed'];
  expect(
    rows.filter(({ status }) => !allowed.includes(status)),
    shown,
  ).toEqual([]);
  const applied = rows.filter(({ status }) => status === 'applied').length;
  // What was applied was sent, once where it may not be repeated; what is unconfirmed was sent once or not at all.
  expect(writes.size, shown).toBeGreaterThanOrEqual(applied);
  if (!isRepeatable) expect(Math.max(0, ...writes.values()), shown).toBeLessThanOrEqual(1);
  const ledger = await place.ledger();
  expect(ledger.map(({ action_id }) => action_id).sort(), shown).toEqual(
    plan.actions.map(({ action_id }) => action_id).sort(),
  );
}

/** How often each request that changes something was sent. The query or the body may name the subject. */
function countWrites({ sandbox }: PlaybookHarness): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { method, path, query, body } of listWrites(sandbox.log)) {
    const request = `${method} ${path}?${query} ${body}`;
    counts.set(request, (counts.get(request) ?? 0) + 1);
  }
  return counts;
}

function canRepeat(name: string): boolean {
  const { retryPolicy, method } = getOperation(name);
  return retryPolicy !== 'never' || method === 'DELETE';
}
