import { existsSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { HOUR_MS } from '../core/clock.ts';
import { makeFolder, PRIVATE_FILE } from '../core/fs.ts';
import type { Log } from '../core/log.ts';
import { plural } from '../core/plural.ts';
import {
  landingDirectory,
  listLandings,
  type Manifest,
  readManifests,
  removeEmptyLanding,
  targetFingerprint,
} from '../landing/store.ts';

/** A run that has begun, and has not done everything that it promised. */
interface InFlightRun {
  readonly run_id: string;
  readonly job: string;
  /** ISO 8601. */
  readonly started_at: string;
}

/** In the landing of a run while it runs. A killed run leaves it behind, which tells the next run of the job about it. */
const MARK = 'unfinished.json';

/** How long after its start an interrupted run can be resumed: older rows are not those of this run (docs/decisions.md#interrupted-runs). */
const RESUME_WITHIN_MS = 6 * HOUR_MS;

export async function markInFlight(config: Config, run: InFlightRun): Promise<void> {
  const directory = landingDirectory(config, run.run_id);
  await makeFolder(directory);
  await writeFile(join(directory, MARK), `${JSON.stringify(run)}\n`, { mode: PRIVATE_FILE });
}

/** Removes the marks of a job: it leaves no run to resume. */
export async function clearInFlight(config: Config, job: string): Promise<void> {
  for (const { run_id } of (await listInFlight(config)).filter((run) => run.job === job)) {
    await rm(join(landingDirectory(config, run_id), MARK), { force: true });
    await removeEmptyLanding(config, run_id);
  }
}

/** The runs that are marked, oldest first. Under the lock they are interrupted runs, and the one in progress. */
export async function listInFlight(config: Config): Promise<readonly InFlightRun[]> {
  const marks = (await listLandings(config)).map((run) => join(landingDirectory(config, run), MARK));
  const runs = await Promise.all(marks.filter((mark) => existsSync(mark)).map(readMark));
  return runs.filter((run): run is InFlightRun => typeof run?.run_id === 'string');
}

async function readMark(file: string): Promise<InFlightRun | null | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as InFlightRun | null;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined; // killed while writing it: nothing had landed
    throw error;
  }
}

export interface ResumeOptions {
  readonly config: Config;
  readonly job: string;
  /** The run that resumes. */
  readonly runId: string;
  readonly asOf: Date;
  readonly log: Log;
  /** Pulls to resume, as `TARGET/SOURCE`. */
  readonly selected: ReadonlySet<string>;
}

/** Manifests of the sources that interrupted runs of a job have landed completely, by `TARGET/SOURCE`. */
export async function findResumable(options: ResumeOptions): Promise<ReadonlyMap<string, Manifest>> {
  const { config, job, runId, asOf, log } = options;
  const isRecent = ({ started_at }: InFlightRun) =>
    Math.abs(asOf.getTime() - Date.parse(started_at)) <= RESUME_WITHIN_MS;
  const recent = (await listInFlight(config)).filter((run) => run.job === job && run.run_id !== runId && isRecent(run));
  const manifests = new Map<string, Manifest>();
  for (const { run_id } of recent) {
    for (const [key, manifest] of await readManifests(config, run_id)) {
      if (options.selected.has(key) && isSameService(config, manifest)) manifests.set(key, manifest);
    }
  }
  const last = recent.at(-1);
  if (last && manifests.size > 0) {
    log.info(`resuming run ${last.run_id}, which was interrupted: ${plural(manifests.size, 'source')} had landed`);
  }
  return manifests;
}

/** A target may have been configured for another service since. */
function isSameService({ targets }: Config, { target: name, service }: Manifest): boolean {
  const target = targets.find((candidate) => candidate.name === name);
  return target !== undefined && targetFingerprint(target) === service;
}
