import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Plan, planDigest, readPlan, writePlan } from '../../../src/remediation/plan-file.ts';
import type { Kind } from '../../../src/sandbox/types.ts';
import { type Lie, type LyingProxy, lyingProxy } from '../../helpers/lying-proxy.ts';
import {
  copyState,
  type PlaybookHarness,
  playbookHarness,
  type RemoteState,
  restoreState,
} from '../../helpers/playbook-harness.ts';

/**
 * A table of lies: what a service does with the first request of a plan and what it answers, and what the two next applies make of
 * it. Times are scaled: the lag of 30 s is 0.6 s.
 */
const LAG_SECONDS = 0.6;
const toScaled = (seconds: number): number => (seconds / 30) * LAG_SECONDS * 1000;
const HANG_MS = 500;

interface LieCase {
  readonly name: string;
  readonly lie: Lie;
  readonly lateSeconds?: number;
}

const LIES: readonly LieCase[] = [
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

interface Case {
  readonly playbook: string;
  readonly kind: Kind;
  readonly sources?: readonly string[];
  readonly isRepeatable?: false;
}

const CASES: readonly Case[] = [
  { playbook: 'reap-dead-agents', kind: 'platform' },
  { playbook: 'remove-empty-pools', kind: 'platform' },
  { playbook: 'scope-unused-pools', kind: 'platform' },
  { playbook: 'pin-drift-view', kind: 'platform', sources: ['saved_views'], isRepeatable: false },
  { playbook: 'drop-dead-views', kind: 'platform' },
  { playbook: 'rotate-old-keys', kind: 'secrets', isRepeatable: false },
  { playbook: 'retire-old-key-versions', kind: 'secrets' },
  { playbook: 'remove-retired-keys', kind: 'secrets' },
  { playbook: 'remove-empty-providers', kind: 'secrets' },
  { playbook: 'downgrade-management-roles', kind: 'secrets' },
  { playbook: 'trim-anonymous-policy', kind: 'scheduler' },
  { playbook: 'detach-lost-claims', kind: 'scheduler' },
  { playbook: 'deregister-missing-volumes', kind: 'scheduler' },
  { playbook: 'adopt-orphaned-volumes', kind: 'scheduler', sources: ['external_volumes'] },
  { playbook: 'snapshot-unprotected-volumes', kind: 'scheduler', sources: ['external_volumes'], isRepeatable: false },
  { playbook: 'drop-stale-snapshots', kind: 'scheduler' },
];

// Concurrently, since most of the time is waits.
test.concurrent.for(CASES)('$playbook: no lie doubles, loses or misattributes an action', async (each, context) => {
  const { onTestFinished: cleanup, expect } = context;
  const place = await playbookHarness({ playbook: each.playbook, sources: each.sources ?? [], cleanup });
  const initial = copyState(place);
  const truthful = await runLie(place, each, undefined);
  expect(truthful.outcome[0]).toBe('applied');
  const table: Record<string, Outcome> = {};
  for (const lie of LIES) {
    restoreState(place, initial);
    const run = await runLie(place, each, lie);
    const state =
      run.summary === truthful.summary ? 'changed once' : run.summary === truthful.rest ? 'not changed' : 'other';
    table[lie.name] = [...run.outcome, run.writes, state as Outcome[3]];
  }
  const expected = Object.fromEntries(
    LIES.map(({ name }) => {
      const usual = EXPECTED[name] ?? APPLIED;
      return [name, name === 'done after the lag' && each.isRepeatable === false ? NOT_REPEATABLE : usual];
    }),
  );
  expect(table).toEqual(expected);
});

interface LieRun {
  /** The status of the first action after each of the two applies. */
  readonly outcome: readonly [string, string];
  /** Requests for the first action. */
  readonly writes: number;
  /** The state of the service at the end. */
  readonly summary: string;
  /** The state without the first action. */
  readonly rest: string;
}

/** Plans, keeps the first action alone, and applies the plan twice through a proxy that lies about its first request. */
async function runLie(place: PlaybookHarness, { kind }: Case, lie: LieCase | undefined): Promise<LieRun> {
  await writeFile(join(place.folder, 'data', 'ledger.ndjson'), '');
  const rest = summarize(copyState(place));
  const proxy = await startProxy(place, kind, lie);
  try {
    await place.configure((config) => {
      for (const target of config.targets.filter((candidate) => candidate.kind === kind)) {
        target.url = proxy.url;
        target.lag = LAG_SECONDS;
      }
    });
    await planOneAction(place);
    const io = { timeouts: { backoffMs: 4, maxBackoffMs: 20, headersMs: HANG_MS } };
    const words = ['playbook', 'apply', 'one.json', '--json', '--max-failures', '99'];
    proxy.lie = lie?.lie;
    const first = await place.tidemark(words, io);
    proxy.lie = undefined;
    await proxy.settle();
    const second = await place.tidemark(words, io);
    const statuses = [first, second].map((run) => {
      const [row] = run.json<{ rows: { status: string; reason: string | null }[] }>().rows;
      return `${row?.status}${row?.reason?.startsWith('confirmed late') ? ' (confirmed late)' : ''}`;
    });
    const outcome = [statuses[0]!, statuses[1]!] as const;
    return { outcome, writes: proxy.writes.length, summary: summarize(copyState(place)), rest };
  } finally {
    await proxy.close();
  }
}

async function startProxy(place: PlaybookHarness, kind: Kind, lie: LieCase | undefined): Promise<LyingProxy> {
  return lyingProxy({
    upstream: place.sandbox.urls[kind],
    lateMs: toScaled(lie?.lateSeconds ?? 0),
  });
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
