import type { Config } from '../core/config.ts';
import type { Log } from '../core/log.ts';
import { type Manifest, targetFingerprint } from '../landing/manifest.ts';
import { readManifests } from '../landing/store.ts';
import type { Pull } from './pull.ts';
import { type InFlightRun, listInFlight } from './resume.ts';

/** An interrupted run is continued for so long; after that its rows are no longer this night's (docs/decisions). */
const CONTINUE_WITHIN_MS = 6 * 3_600_000;

/** What interrupted runs of a job have landed whole and the next run need not ask for again, by `TARGET/SOURCE`. */
export async function findResumable(
  config: Config,
  job: string,
  now: Date,
  pulls: readonly Pull[],
  log: Log,
): Promise<ReadonlyMap<string, Manifest>> {
  const runs = await listInFlight(config, job);
  const recent = runs.filter(
    ({ started_at }) => Math.abs(now.getTime() - Date.parse(started_at)) <= CONTINUE_WITHIN_MS,
  );
  const manifests = new Map<string, Manifest>();
  for (const run of recent) {
    for (const [place, manifest] of await usable(config, run, pulls)) manifests.set(place, manifest);
  }
  const [last] = recent.slice(-1);
  if (last && manifests.size > 0) {
    const sources = manifests.size === 1 ? '1 source' : `${manifests.size} sources`;
    log.info(`continues run ${last.run_id}, which was interrupted: ${sources} had landed`);
  }
  return manifests;
}

/** A target's name may have come to stand for another service since. */
async function usable(config: Config, run: InFlightRun, pulls: readonly Pull[]): Promise<Map<string, Manifest>> {
  const landed = await readManifests(config, run.run_id);
  const kept = new Map<string, Manifest>();
  for (const { target, source } of pulls) {
    const place = `${target.name}/${source.name}`;
    const manifest = landed.get(place);
    if (manifest?.service === targetFingerprint(target)) kept.set(place, manifest);
  }
  return kept;
}
