import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import type { AgentRecord } from '../../sandbox/platform/context.ts';
import type { FaultHook } from '../../sandbox/router.ts';
import type { ActionResult } from '../../src/act/execute-action.ts';
import { ledgerFile } from '../../src/act/ledger.ts';
import type { Plan } from '../../src/act/plan-file.ts';
import {
  copyState,
  listWrites,
  type PlaybookHarness,
  type PlaybookHarnessOptions,
  playbookHarness,
  type RemoteState,
  replaceLedger,
  restoreState,
} from '../helpers/playbook-harness.ts';
import { keepProject } from '../helpers/test-project.ts';

export interface Applied {
  readonly rows: readonly ActionResult[];
  readonly stopped: { readonly reason: string; readonly exit: number } | null;
}

/** One project for all tests of a file. Each test starts with what the first run left: services, warehouse, ledger and configuration. */
export interface ApplyHarness {
  readonly place: PlaybookHarness;
  /** Responds instead of a service, in one test. */
  faultHook: FaultHook | undefined;
  /** Plans with any `--max-percent`, and approves. */
  planAndApprove(): Promise<Plan>;
  /** As `planAndApprove`, for the state and the findings of the first run: the plan is made once, and its file restored. */
  useApprovedPlan(): Promise<Plan>;
  apply(words?: readonly string[], exit?: number): Promise<Applied>;
  /** Applies the plan, and a signal stops it while its first action is sent. */
  applyFirst(): Promise<Applied>;
  /** The first action of an approved plan is as a kill leaves it before its request: the ledger has its intent. */
  interruptFirst(): Promise<Plan>;
  statuses(applied: Applied): readonly (readonly [string, string | null])[];
  /** Methods and paths of requests that change something. */
  writes(): readonly string[];
  agents(): readonly string[];
  /** Restores the state of the first run, except the agents that `keep` leaves out, and clears the request log. */
  reset(keep: (agents: readonly AgentRecord[]) => readonly AgentRecord[]): void;
  /** The agent that an action of the plan is about. */
  findAgent(plan: Plan, index: number): AgentRecord;
}

export function applyHarness(options: Omit<PlaybookHarnessOptions, 'cleanup' | 'faultHook'>): ApplyHarness {
  const ends: (() => Promise<void>)[] = [];
  let place: PlaybookHarness | undefined;
  let initial: RemoteState | undefined;
  let restoreProject: (() => Promise<void>) | undefined;
  let approved: { readonly plan: Plan; readonly text: string } | undefined;
  const harness: ApplyHarness = {
    get place() {
      return place!;
    },
    faultHook: undefined,
    planAndApprove: async () => {
      const plan = await place!.plan(['--max-percent', '100']);
      await place!.approve();
      place!.sandbox.log.length = 0;
      return plan;
    },
    useApprovedPlan: async () => {
      const { planFile } = place!;
      approved ??= { plan: await harness.planAndApprove(), text: await readFile(planFile, 'utf8') };
      await writeFile(planFile, approved.text);
      return approved.plan;
    },
    apply: async (words, exit) => (await place!.apply(words, exit)).json<Applied>(),
    applyFirst: async () => {
      const stop = new AbortController();
      harness.faultHook = ({ method }) => {
        if (method === 'DELETE') stop.abort();
        return undefined;
      };
      const words = ['playbook', 'apply', place!.planFile, '--json'];
      const run = await place!.tidemark(words, { signal: stop.signal });
      expect(run.exit).toBe(1);
      harness.faultHook = undefined;
      return run.json<Applied>();
    },
    interruptFirst: async () => {
      const plan = await harness.useApprovedPlan();
      await harness.apply();
      const [intent] = (await readFile(ledgerFile(join(place!.folder, 'data')), 'utf8')).split('\n');
      await replaceLedger(place!, `${intent}\n`);
      harness.reset((all) => all);
      return plan;
    },
    statuses: ({ rows }) => rows.map(({ status, reason }) => [status, reason]),
    writes: () => listWrites(place!.sandbox.log).map(({ method, path }) => `${method} ${path}`),
    agents: () => place!.sandbox.services.platform.state.agents.map(({ id }) => id),
    reset: (keep) => {
      restoreState(place!, initial!);
      const live = place!.sandbox.services.platform.state.agents;
      live.splice(0, live.length, ...keep(structuredClone(live)));
      place!.sandbox.log.length = 0;
    },
    findAgent: (plan, index) =>
      place!.sandbox.services.platform.state.agents.find(({ id }) => id === plan.actions[index]!.params.id)!,
  };
  beforeAll(async () => {
    const cleanup = (end: () => Promise<void>) => ends.push(end);
    place = await playbookHarness({
      ...options,
      cleanup,
      faultHook: (...asked) => harness.faultHook?.(...asked),
    });
    initial = copyState(place);
    restoreProject = await keepProject(place, cleanup);
  });
  beforeEach(() => {
    place!.sandbox.log.length = 0;
  });
  afterEach(async () => {
    harness.faultHook = undefined;
    harness.reset((all) => all);
    await restoreProject!();
  });
  afterAll(async () => {
    for (const end of ends.reverse()) await end();
  });
  return harness;
}

/** What the service answers of an agent. */
export function showAgent({ id, status, lastPingAt }: AgentRecord) {
  const attributes = { status, 'last-ping-at': lastPingAt && new Date(lastPingAt).toISOString() };
  return { status: 200, body: JSON.stringify({ data: { id, type: 'agents', attributes } }) };
}
