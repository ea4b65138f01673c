import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Config } from '../config/config.ts';
import { closestMatch } from '../config/suggest.ts';
import { TidemarkError } from '../core/errors.ts';
import type { Manifest } from './manifest.ts';

/** What an earlier run landed whole, by `TARGET/SOURCE`. */
export interface Landing {
  readonly asOf: Date;
  readonly manifests: ReadonlyMap<string, Manifest>;
}

export function landingDirectory(config: Config, runId: string, target?: string): string {
  return join(config.data, 'landing', runId, ...(target ? [target] : []));
}

/** Names of the runs that have a landing, oldest first. */
export async function listLandings(config: Config): Promise<readonly string[]> {
  const root = join(config.data, 'landing');
  return existsSync(root) ? (await readdir(root)).sort() : [];
}

/** Reads the manifests of a run's landing. @throws TidemarkError USAGE when there is no such landing. */
export async function readLanding(config: Config, runId: string): Promise<Landing> {
  const known = await listLandings(config);
  if (!known.includes(runId)) {
    const nearest = closestMatch(runId, known);
    throw new TidemarkError('USAGE', `no run ${runId} has landed files`, {
      hint: nearest
        ? `did you mean ${nearest}? They are in ${join(config.data, 'landing')}`
        : 'they are kept for landingDays',
    });
  }
  const manifests = await readManifests(config, runId);
  const [first] = manifests.values();
  if (!first) throw new TidemarkError('DATA', `run ${runId} landed nothing whole`);
  return { asOf: new Date(first.as_of), manifests };
}

export async function readManifests(config: Config, runId: string): Promise<ReadonlyMap<string, Manifest>> {
  const root = landingDirectory(config, runId);
  const manifests = new Map<string, Manifest>();
  const targets = (await readdir(root, { withFileTypes: true })).filter((entry) => entry.isDirectory());
  for (const { name: target } of targets) {
    for (const file of (await readdir(join(root, target))).filter((name) => name.endsWith('.json'))) {
      const manifest = await readManifest(join(root, target, file));
      if (manifest) manifests.set(`${target}/${manifest.source}`, manifest);
    }
  }
  return manifests;
}

/** Undefined for what a machine that lost its power has left of one: its source then counts as not landed. */
async function readManifest(file: string): Promise<Manifest | undefined> {
  try {
    const manifest = JSON.parse(await readFile(file, 'utf8')) as Manifest | null;
    return Array.isArray(manifest?.files) ? manifest : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** @throws TidemarkError DATA naming a landed file that is gone or was changed since it landed. */
export async function verifyLanding(config: Config, { run_id, target, files }: Manifest): Promise<void> {
  const directory = landingDirectory(config, run_id, target);
  for (const { file, sha256 } of files) {
    const hash = createHash('sha256');
    await pipeline(createReadStream(join(directory, file)), hash).catch((error: NodeJS.ErrnoException) => {
      throw new TidemarkError('DATA', `the landed file ${file} cannot be read: ${error.message}`, { cause: error });
    });
    if (hash.digest('hex') !== sha256)
      throw new TidemarkError('DATA', `${file} is not what was landed: it was changed`);
  }
}

const DAY_MS = 86_400_000;

/** Removes landings older than `landingDays`; a run's name tells its age. */
export async function pruneLandings(config: Config, now: Date): Promise<void> {
  for (const run of await listLandings(config)) {
    const [, date, time] = /^(\d{8})T(\d{6})Z/u.exec(run) ?? [];
    if (!date || !time) continue;
    const at = Date.UTC(
      +date.slice(0, 4),
      +date.slice(4, 6) - 1,
      +date.slice(6, 8),
      +time.slice(0, 2),
      +time.slice(2, 4),
    );
    const age = now.getTime() - at;
    if (age > config.landingDays * DAY_MS) await rm(landingDirectory(config, run), { recursive: true, force: true });
  }
}
