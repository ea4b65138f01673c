import { join } from 'node:path';
import { expect } from 'vitest';
import { type Plan, planDigest, readPlan, writePlan } from '../../../src/act/plan-file.ts';
import type { CliRun } from '../../helpers/cli.ts';
import { type Lie, type LyingProxy, lyingProxy } from '../../helpers/lying-proxy.ts';
import {
  copyState,
  type PlaybookHarness,
  playbookHarness,
  type RemoteState,
  replaceLedger,
  restoreState,
} from '../../helpers/playbook-harness.ts';
import type { Cleanup } from '../../helpers/temp.ts';
import type { PlaybookCase } from './playbooks.ts';

/**
 * A table of lies: what a service does with the first request of a plan and what it answers, and what the two next applies make of
 * it. Times are scaled: the lag of 30 s is 0.6 s.
 */
const LAG_SECONDS = 0.6;
const toScaled = (seconds: number): number => (seconds / 30) * LAG_SECONDS * 1000;
const HANG_MS = 500;
/** Other reads are not given up on a busy machine. */
const PATIENT_MS = 60_000;

const APPLY = ['playbook', 'apply', 'one.json', '--json', '--max-failures', '99'];

export interface LieCase {
  readonly name: string;
  readonly lie: Lie;
  readonly lateSeconds?: number;
}

export const LIES: readonly LieCase[] = [
  { name: 'done but 500', lie: 'done but 500' },
  { name: 'done then reset', lie: 'done then reset' },
  { name: 'hang but done', lie: 'hang but done' },
  { name: '2xx not done', lie: '2xx not done' },
  { name: 'shown 2 s late', lie: 'shown late', lateSeconds: 2 },
  { name: 'shown 20 s late', lie: 'shown late', lateSeconds: 20 },
  { name: 'done 6 s late', lie: 'done late', lateSeconds: 6 },
  { name: 'done after the lag', lie: 'done after the lag' },
];

type Outcome = readonly [first: string, second: string, writes: number, state: 'changed once' | 'not changed'];

const APPLIED: Outcome = ['applied', 'applied', 1, 'changed once'];
const EXPECTED: Readonly<Record<string, Outcome>> = {
  '2xx not done': ['unconfirmed', 'unconfirmed', 1, 'not changed'],
  'done after the lag': ['failed', 'applied (confirmed late)', 1, 'changed once'],
};
/** Creating and rotating may not be repeated, so readings that do not show it leave it unconfirmed. */
const NOT_REPEATABLE: Outcome = ['unconfirmed', 'applied (confirmed late)', 1, 'changed once'];

/** Applies a plan of one action once per lie. No lie doubles, loses or misattributes the action. */
export async function expectNoLieMatters(to: PlaybookCase, lies: readonly LieCase[], cleanup: Cleanup): Promise<void> {
  const place = await playbookHarness({
    playbook: to.playbook,
    sources: to.sources ?? [],
    cleanup,
    updatesTable: false,
  });
  const proxy = await lyingProxy(place.sandbox.urls[to.kind]);
  cleanup(() => proxy.close());
  await place.configure((config) => {
    for (const target of config.targets.filter(({ kind }) => kind === to.kind)) {
      target.url = proxy.url;
      target.lag = LAG_SECONDS;
    }
  });
  const initial = copyState(place);
  const rest = summarize(initial);
  await planOneAction(place);
  expect(firstOutcome(await place.tidemark(APPLY))).toBe('applied');
  const changed = summarize(copyState(place));
  const table: Record<string, Outcome> = {};
  for (const lie of lies) {
    restoreState(place, initial);
    const run = await runLie(place, proxy, lie);
    const state = run.summary === changed ? 'changed once' : run.summary === rest ? 'not changed' : 'other';
    table[lie.name] = [...run.outcome, run.writes, state as Outcome[3]];
  }
  expect(table).toEqual(Object.fromEntries(lies.map((lie) => [lie.name, expectedOutcome(to, lie)])));
}

function expectedOutcome({ isRepeatable }: PlaybookCase, { name }: LieCase): Outcome {
  if (name === 'done after the lag' && isRepeatable === false) return NOT_REPEATABLE;
  return EXPECTED[name] ?? APPLIED;
}

interface LieRun {
  /** The status of the first action after each of the two applies. */
  readonly outcome: readonly [string, string];
  /** Requests for the first action. */
  readonly writes: number;
  /** The state of the service at the end. */
  readonly summary: string;
}

/** Applies the plan twice through a proxy that lies about its first request. */
async function runLie(place: PlaybookHarness, proxy: LyingProxy, lie: LieCase): Promise<LieRun> {
  await replaceLedger(place, '');
  proxy.writes.length = 0;
  const headersMs = lie.lie === 'hang but done' ? HANG_MS : PATIENT_MS;
  const io = { timeouts: { backoffMs: 4, maxBackoffMs: 20, headersMs } };
  proxy.lateMs = toScaled(lie.lateSeconds ?? 0);
  proxy.lie = lie.lie;
  const first = await place.tidemark(APPLY, io);
  proxy.lie = undefined;
  await proxy.settle();
  const second = await place.tidemark(APPLY, io);
  const outcome = [firstOutcome(first), firstOutcome(second)] as const;
  return { outcome, writes: proxy.writes.length, summary: summarize(copyState(place)) };
}

function firstOutcome(run: CliRun): string {
  const [row] = run.json<{ rows: { status: string; reason: string | null }[] }>().rows;
  return `${row?.status}${row?.reason?.startsWith('confirmed late') ? ' (confirmed late)' : ''}`;
}

/** A plan of the first action alone, with a digest of its own. */
async function planOneAction(place: PlaybookHarness): Promise<void> {
  await place.plan(['--max-percent', '100']);
  const plan = await readPlan(place.planFile);
  const one: Plan = { ...plan, actions: plan.actions.slice(0, 1) };
  await writePlan(join(place.folder, 'one.json'), { ...one, digest: planDigest(one) });
  const approved = await place.tidemark(['playbook', 'approve', 'one.json', '--by', 'the operator', '--irreversible']);
  expect(approved.exit, approved.stderr).toBe(0);
}

/** What the playbooks change, without what services generate. */
function summarize({ platform, secrets, scheduler }: RemoteState): string {
  return JSON.stringify({
    agents: platform.agents.map(({ id }) => id),
    pools: platform.pools.map(({ id, organizationScoped, allowed }) => [id, organizationScoped, allowed]),
    views: platform.views.map(({ name }) => name),
    keys: [...secrets.keys].map(([name, key]) => [name, key.versions.length, key.minEnabledVersion]),
    providers: [...secrets.providers].map(([name, { keys }]) => [name, [...keys.keys()]]),
    roles: [...secrets.roles].map(([name, { tokenType }]) => [name, tokenType]),
    policies: [...scheduler.policies].map(([name, { rules }]) => [name, rules]),
    volumes: [...scheduler.volumes].map(([key, { claims }]) => [key, claims.length]),
    plugins: [...scheduler.plugins].map(([name, { externals, snapshots }]) => [name, externals.size, snapshots.size]),
  });
}
