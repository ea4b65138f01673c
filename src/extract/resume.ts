import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { HOUR_MS } from '../core/clock.ts';
import { ignoreMissing, makeFolder, PRIVATE_FILE } from '../core/fs.ts';
import { tryParseJson } from '../core/json.ts';
import { plural } from '../core/plural.ts';
import { landingDirectory, listLandings, type Manifest, readManifests, targetFingerprint } from '../landing/store.ts';
import type { RunContext } from './run-context.ts';

/** What a run is to do. */
interface RunRecord {
  readonly run_id: string;
  readonly job: string;
  /** ISO 8601. */
  readonly started_at: string;
  /** `TARGET/SOURCE`. */
  readonly pulls: readonly string[];
}

/** The name of the record in the landing until the run has done all of it: a killed run tells the next one of the job by it. */
const UNFINISHED = 'unfinished.json';
const FINISHED = 'run.json';

/** How long after its start an interrupted run can be resumed: older rows are not those of this run (docs/decisions.md#interrupted-runs). */
const RESUME_WITHIN_MS = 6 * HOUR_MS;

export async function markInFlight(config: Config, run: RunRecord): Promise<void> {
  const directory = landingDirectory(config, run.run_id);
  await makeFolder(directory);
  await writeFile(join(directory, UNFINISHED), `${JSON.stringify(run)}\n`, { mode: PRIVATE_FILE });
}

/** Ends the runs of a job: it leaves none to resume, and no folder of one that landed nothing. */
export async function clearInFlight(config: Config, job: string): Promise<void> {
  for (const { run_id } of (await listInFlight(config)).filter((run) => run.job === job)) {
    const directory = landingDirectory(config, run_id);
    await rename(join(directory, UNFINISHED), join(directory, FINISHED));
    if ((await readdir(directory)).length === 1) await rm(directory, { recursive: true });
  }
}

/** The runs that are marked, oldest first. Under the lock they are interrupted runs, and the one in progress. */
export async function listInFlight(config: Config): Promise<readonly RunRecord[]> {
  const runs = await listLandings(config);
  return (await Promise.all(runs.map((run) => readRecord(config, run, UNFINISHED)))).flat();
}

/** What a run was to pull, as `TARGET/SOURCE`; nothing if that is not known. */
export async function readPlanned(config: Config, runId: string): Promise<readonly string[]> {
  const records = await Promise.all([FINISHED, UNFINISHED].map((name) => readRecord(config, runId, name)));
  return records.flat().flatMap(({ pulls = [] }) => pulls);
}

/** Nothing where the record is missing, or incomplete as after a kill, or of another landing: its folder may be removed. */
async function readRecord(config: Config, runId: string, name: string): Promise<readonly RunRecord[]> {
  const text = await readFile(join(landingDirectory(config, runId), name), 'utf8').catch(ignoreMissing);
  const record = tryParseJson(text ?? '') as RunRecord | null | undefined;
  return record?.run_id === runId ? [record] : [];
}

/**
 * Manifests of the sources that interrupted runs of a job have landed completely, by `TARGET/SOURCE`.
 * @param selected pulls to resume, as `TARGET/SOURCE`
 */
export async function findResumable({ config, job, runId, asOf, log }: RunContext, selected: ReadonlySet<string>) {
  const isRecent = ({ started_at }: RunRecord) => Math.abs(asOf.getTime() - Date.parse(started_at)) <= RESUME_WITHIN_MS;
  const recent = (await listInFlight(config)).filter((run) => run.job === job && run.run_id !== runId && isRecent(run));
  // A target may have been configured for another service or token since.
  const services = new Map(config.targets.map((target) => [target.name, targetFingerprint(target)]));
  const manifests = new Map<string, Manifest>();
  for (const { run_id } of recent) {
    for (const [key, manifest] of await readManifests(config, run_id)) {
      if (selected.has(key) && services.get(manifest.target) === manifest.service) manifests.set(key, manifest);
    }
  }
  const last = recent.at(-1);
  if (last && manifests.size > 0) {
    log.info(`resuming run ${last.run_id}, which was interrupted: ${plural(manifests.size, 'source')} had landed`);
  }
  return manifests;
}
