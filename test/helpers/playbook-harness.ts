import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import { stringify } from 'yaml';
import type { FaultHook } from '../../sandbox/router.ts';
import type { Flavor, RequestRecord } from '../../sandbox/types.ts';
import type { LedgerRow } from '../../src/act/ledger.ts';
import type { Plan } from '../../src/act/plan-file.ts';
import { builtInPlaybooks } from '../../src/act/playbooks/index.ts';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { acquireLock } from '../../src/warehouse/lock.ts';
import { recordFingerprint, warehouseFiles } from '../../src/warehouse/publish.ts';
import { parseHeader } from '../../src/warehouse/sql-files.ts';
import { copyWarehouse } from './change-warehouse.ts';
import type { CliRun } from './cli.ts';
import type { Cleanup } from './temp.ts';
import {
  type ConfigDocument,
  PULLED_WORKSPACES,
  preparePulled,
  type TestProject,
  testProject,
} from './test-project.ts';

/** A project whose job pulls what the rule of one playbook needs. */
export interface PlaybookHarness extends TestProject {
  readonly playbook: string;
  /** Pulls and evaluates the rules, at the sandbox's time. */
  runJob(): Promise<void>;
  /** Plans into `plan.json`; the exit code must be as expected. */
  plan(words?: readonly string[], exit?: number): Promise<Plan>;
  approve(words?: readonly string[], exit?: number): Promise<CliRun>;
  apply(words?: readonly string[], exit?: number): Promise<CliRun>;
  ledger(): Promise<readonly LedgerRow[]>;
  /** States of the findings of a plan's actions, by ID. */
  states(plan: Plan): Promise<ReadonlyMap<string, string>>;
  readonly planFile: string;
  /** The same project, to plan another playbook. */
  switchTo(playbook: string): PlaybookHarness;
}

export interface PlaybookHarnessOptions {
  readonly playbook: string;
  /** Other playbooks, for whose rules the job pulls as well. */
  readonly others?: readonly string[];
  /** Sources to pull beside those of the rule. */
  readonly sources?: readonly string[];
  /** Runs of the job before the test. @default 1 */
  readonly runs?: number;
  readonly flavor?: Flavor;
  readonly configure?: (config: ConfigDocument) => void;
  /** Changes the state of the services before the first run. */
  readonly prepare?: (state: RemoteState) => void;
  /** Responds instead of a service. */
  readonly faultHook?: FaultHook;
  readonly cleanup?: Cleanup;
  /**
   * Starts from the warehouse of a first run of everything, instead of running the job.
   * @default if neither `configure` nor `prepare` changes the first run
   */
  readonly snapshot?: boolean;
  /** Whether an apply copies the ledger to the table `actions`. Otherwise a run holds the warehouse then, which saves a session. @default true */
  readonly updatesTable?: boolean;
}

export async function playbookHarness(options: PlaybookHarnessOptions): Promise<PlaybookHarness> {
  const { playbook, others = [], sources = [], runs = 1, flavor, configure, prepare, cleanup, faultHook } = options;
  const { snapshot = !configure && !prepare, updatesTable = true } = options;
  const started = await testProject({
    workspaces: PULLED_WORKSPACES,
    ...(flavor && { flavor }),
    ...(cleanup && { cleanup }),
    ...(faultHook && { faultHook }),
    ...(snapshot && runs > 0 && { warehouse: 'none' }),
  });
  const project = updatesTable ? started : holdDuringApply(started);
  if (configure) await project.configure(configure);
  const needed = await Promise.all([playbook, ...others].map(readSources));
  await writeJob(project, 'playbook', [...new Set([...needed.flat(), ...sources])]);
  const planFile = join(project.folder, 'plan.json');

  const run = async (words: readonly string[], exit: number): Promise<CliRun> => {
    const result = await project.tidemark(words);
    expect(result.exit, `${words.join(' ')}\n${result.stdout}\n${result.stderr}`).toBe(exit);
    return result;
  };
  const runJob = async () => {
    await run(['run', 'playbook'], 0);
  };
  prepare?.(liveState(project));
  for (let count = 0; count < runs; count++) {
    if (count > 0) project.sandbox.tick();
    if (count === 0 && snapshot) await startFromFirstRun(project, flavor);
    else await runJob();
  }
  project.sandbox.log.length = 0;
  const switchTo = (name: string): PlaybookHarness => ({
    ...project,
    playbook: name,
    switchTo,
    planFile,
    runJob,
    plan: async (words = [], exit = 0) => {
      const result = await run(['playbook', 'plan', name, '-o', planFile, '--json', ...words], exit);
      return exit === 0 ? result.json<Plan>() : (undefined as never);
    },
    approve: (words = [], exit = 0) =>
      run(['playbook', 'approve', planFile, '--by', 'the operator', '--irreversible', ...words], exit),
    apply: (words = [], exit = 0) => run(['playbook', 'apply', planFile, '--json', ...words], exit),
    ledger: async () => (await run(['playbook', 'ledger', '--json'], 0)).json<LedgerRow[]>(),
    states: async ({ actions }) => {
      const ids = actions.flatMap(({ finding_id, finding_ids }) => finding_ids ?? [finding_id]);
      const rows = await project.rows('select finding_id, state from findings where list_contains($ids, finding_id)', {
        ids,
      });
      return new Map(rows.map((row) => [String(row.finding_id), String(row.state)]));
    },
  });
  return switchTo(playbook);
}

/** The project, whose warehouse a run holds while a plan is applied. */
function holdDuringApply(project: TestProject): TestProject {
  const tidemark: TestProject['tidemark'] = async (words, io) => {
    if (words[0] !== 'playbook' || words[1] !== 'apply') return project.tidemark(words, io);
    const lock = await acquireLock(join(project.folder, 'data', 'lock'), 'a run');
    return project.tidemark(words, io).finally(() => lock.release());
  };
  return { ...project, tidemark };
}

async function writeJob({ folder }: TestProject, name: string, pull: readonly string[]) {
  await mkdir(join(folder, 'jobs'), { recursive: true });
  await writeFile(join(folder, 'jobs', `${name}.yaml`), stringify({ pull, reports: [] }));
}

/** Copies the warehouse that a first run of everything leaves; the sandbox always starts in the same state. */
async function startFromFirstRun(project: TestProject, flavor?: Flavor): Promise<void> {
  const first = warehouseFiles(join(await preparePulled(flavor), 'data')).published;
  const { published, work } = warehouseFiles(join(project.folder, 'data'));
  await mkdir(dirname(work), { recursive: true });
  await copyFile(first, published);
  await copyWarehouse(first, work);
  await recordFingerprint(work);
}

/** Replaces the ledger as a person may, who then says that it is right. */
export async function replaceLedger({ folder, tidemark }: TestProject, text: string): Promise<void> {
  await writeFile(join(folder, 'data', 'ledger.ndjson'), text);
  const words = ['playbook', 'ledger'];
  if ((await tidemark([...words, 'verify'])).exit === 0) return;
  const accepted = await tidemark([...words, '--accept']);
  expect(accepted.exit, accepted.stderr).toBe(0);
}

/** The sources that the header of a playbook's rule names. */
async function readSources(name: string): Promise<readonly string[]> {
  const rule = builtInPlaybooks.find((playbook) => playbook.name === name)!.rule;
  const sql = await readFile(join(PACKAGE_ROOT, 'queries', 'findings', `${rule}.sql`), 'utf8');
  return parseHeader(sql).sources!.split(/,\s*/u);
}

/** Requests that may change something. Minting a mesh token is a GET. */
export function listWrites(log: readonly RequestRecord[]): readonly RequestRecord[] {
  return log.filter(({ method, path }) => !['GET', 'LIST'].includes(method) || path.includes('/creds/'));
}

export function liveState({ sandbox }: Pick<TestProject, 'sandbox'>) {
  const { platform, secrets, scheduler, autoscaler, mesh } = sandbox.services;
  return {
    platform: platform.state,
    secrets: secrets.state,
    scheduler: scheduler.state,
    autoscaler: autoscaler.state,
    mesh: mesh.state,
  };
}

export type RemoteState = ReturnType<typeof liveState>;

/** The present state of the services that playbooks change, to compare with later. */
export function copyState(place: Pick<TestProject, 'sandbox'>): RemoteState {
  return structuredClone(liveState(place));
}

/** Puts the services back to a copied state. Their counters, which have no setter, keep their values. */
export function restoreState(place: Pick<TestProject, 'sandbox'>, saved: RemoteState): void {
  const live = liveState(place);
  for (const kind of ['platform', 'secrets', 'scheduler'] as const) restore(live[kind], structuredClone(saved[kind]));
}

function restore(live: object, saved: object): void {
  for (const [name, value] of Object.entries(saved)) {
    const current: unknown = Reflect.get(live, name);
    if (current instanceof Map && value instanceof Map) {
      current.clear();
      for (const [key, item] of value) current.set(key, item);
    } else if (Array.isArray(current) && Array.isArray(value)) current.splice(0, current.length, ...value);
    else Reflect.set(live, name, value);
  }
}
