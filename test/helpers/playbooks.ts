import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { stringify } from 'yaml';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { playbooks } from '../../src/playbooks/index.ts';
import type { LedgerRow } from '../../src/remediation/ledger-rows.ts';
import type { Plan } from '../../src/remediation/plan-file.ts';
import type { Intercept } from '../../src/sandbox/answer.ts';
import type { Flavor, RequestRecord } from '../../src/sandbox/types.ts';
import { headerOf } from '../../src/warehouse/sql-files.ts';
import type { CliRun } from './cli.ts';
import { type ConfigDocument, type Workplace, workplace } from './sandbox.ts';
import type { Cleanup } from './temp.ts';

/** A workplace whose nights pull what one playbook's rule needs, and nothing else. */
export interface Theatre extends Workplace {
  readonly playbook: string;
  /** Pulls and finds, at the sandbox's present. */
  night(): Promise<void>;
  /** Plans into `plan.json`; the exit code must be as expected. */
  plan(words?: readonly string[], exit?: number): Promise<Plan>;
  approve(words?: readonly string[], exit?: number): Promise<CliRun>;
  apply(words?: readonly string[], exit?: number): Promise<CliRun>;
  ledger(): Promise<readonly LedgerRow[]>;
  /** States of the findings of a plan's actions, by ID. */
  states(plan: Plan): Promise<ReadonlyMap<string, string>>;
  readonly planFile: string;
}

export interface TheatreOptions {
  readonly playbook: string;
  /** Beside those of the rule. */
  readonly sources?: readonly string[];
  readonly nights?: number;
  readonly flavor?: Flavor;
  readonly configure?: (config: ConfigDocument) => void;
  /** Changes the estate before the first night. */
  readonly prepare?: (estate: Estate) => void;
  /** Answers in a service's place. */
  readonly intercept?: Intercept;
  readonly cleanup?: Cleanup;
}

export async function theatre(options: TheatreOptions): Promise<Theatre> {
  const { playbook, sources = [], nights = 1, flavor = 'documents', configure, prepare, cleanup, intercept } = options;
  const place = await workplace({ flavor, ...(cleanup && { cleanup }), ...(intercept && { intercept }) });
  if (configure) await place.configure(configure);
  await mkdir(join(place.folder, 'jobs'));
  const job = { pull: [...new Set([...(await sourcesOf(playbook)), ...sources])], reports: [] };
  await writeFile(join(place.folder, 'jobs', 'night.yaml'), stringify(job));
  const planFile = join(place.folder, 'plan.json');

  const run = async (words: readonly string[], exit: number): Promise<CliRun> => {
    const result = await place.tidemark(words);
    expect(result.exit, `${words.join(' ')}\n${result.stdout}\n${result.stderr}`).toBe(exit);
    return result;
  };
  const night = async () => {
    await run(['run', 'night'], 0);
  };
  prepare?.(liveEstate(place));
  for (let count = 0; count < nights; count++) {
    if (count > 0) place.sandbox.advance();
    await night();
  }
  place.sandbox.log.length = 0;
  return {
    ...place,
    playbook,
    planFile,
    night,
    plan: async (words = [], exit = 0) => {
      const result = await run(['playbook', 'plan', playbook, '-o', planFile, '--json', ...words], exit);
      return exit === 0 ? result.json<Plan>() : (undefined as never);
    },
    approve: (words = [], exit = 0) =>
      run(['playbook', 'approve', planFile, '--by', 'the operator', '--irreversible', ...words], exit),
    apply: (words = [], exit = 0) => run(['playbook', 'apply', planFile, '--json', ...words], exit),
    ledger: async () => (await run(['playbook', 'ledger', '--json'], 0)).json<LedgerRow[]>(),
    states: async ({ actions }) => {
      const ids = actions.flatMap(({ finding_id, finding_ids }) => finding_ids ?? [finding_id]);
      const rows = await place.rows('select finding_id, state from findings where list_contains($ids, finding_id)', {
        ids,
      });
      return new Map(rows.map((row) => [String(row.finding_id), String(row.state)]));
    },
  };
}

/** What the rule of a playbook relies on, as its file's head says. */
async function sourcesOf(name: string): Promise<readonly string[]> {
  const rule = playbooks.find((playbook) => playbook.name === name)!.rule;
  const sql = await readFile(join(PACKAGE_ROOT, 'queries', 'findings', `${rule}.sql`), 'utf8');
  return headerOf(sql).sources!.split(/,\s*/u);
}

/** Requests that may have changed something: minting a mesh token is a GET. */
export function writesIn(log: readonly RequestRecord[]): readonly RequestRecord[] {
  return log.filter(({ method, path }) => !['GET', 'LIST'].includes(method) || path.includes('/creds/'));
}

export function liveEstate({ sandbox }: Pick<Workplace, 'sandbox'>) {
  const { platform, secrets, scheduler, autoscaler, mesh } = sandbox.services;
  return {
    platform: platform.state,
    secrets: secrets.state,
    scheduler: scheduler.state,
    autoscaler: autoscaler.state,
    mesh: mesh.state,
  };
}

export type Estate = ReturnType<typeof liveEstate>;

/** The sandbox's five services as they are now, to be compared with later. */
export function estateOf(place: Pick<Workplace, 'sandbox'>): Estate {
  return structuredClone(liveEstate(place));
}
