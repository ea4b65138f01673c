import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Config, Target } from '../config/config.ts';
import { closestMatch } from '../config/suggest.ts';
import { DAY_MS } from '../core/clock.ts';
import { TidemarkError } from '../core/errors.ts';

/** A data file of a landing: CSV with a header, or JSON with one response per line. */
export interface LandingFile {
  /** Name in the landing directory of the target. */
  readonly file: string;
  readonly format: 'csv' | 'ndjson';
  readonly bytes: number;
  readonly sha256: string;
  /** Bytes of the longest line, for the buffer size of the reader. */
  readonly longestLine?: number;
  /** Column names of a CSV header, in order. */
  readonly columns?: readonly string[];
  /** Whether NULL may be written as `null`: docs/services/platform.md#csv-export. */
  readonly bareNull?: boolean;
}

/** Describes the complete landing of a source, which can be loaded without the network. It is the file SOURCE.json in the landing. */
export interface Manifest {
  readonly source: string;
  readonly target: string;
  /** `targetFingerprint` of the target. */
  readonly service: string;
  readonly run_id: string;
  /** The time that the rows are valid from, ISO 8601. */
  readonly as_of: string;
  readonly files: readonly LandingFile[];
  /** Number of rows that the service reports; null if it reports none. */
  readonly expected_rows: number | null;
  /** What a reader of the rows should know, such as a plugin that could not list. */
  readonly notes?: readonly string[];
  /** Which objects may be in it that were read for an earlier landing; absent where a source reads no objects. */
  readonly reads?: ReadState;
}

/** How the objects of a landing were read. The next pull compares it, and so knows what it may take from this landing. */
export interface ReadState {
  /** Digest of everything but the token that decides what a read returns: service, flavor, program, tables. */
  readonly reader: string;
  /** A salted checksum of 32 bits of the token: it shows another token, and does not reveal this one. */
  readonly token: string;
  /** When every object was last read, ISO 8601. */
  readonly full_read_at: string;
  /** The index of each list, by its name, where the service sends one. */
  readonly indexes: Readonly<Record<string, string>>;
  /** Number of objects that were taken from the landing before. */
  readonly reused: number;
}

/** Identifies what a target refers to. A change means that rows of the same target name come from somewhere else. */
export function targetFingerprint({ url, organization, namespace, mounts, services }: Target): string {
  const { keymgmt, mesh } = mounts;
  return [url, organization, namespace, keymgmt, mesh, ...services].map((part) => part ?? '').join(' ');
}

/** The landing of a run. */
export interface Landing {
  readonly asOf: Date;
  /** Manifests by `TARGET/SOURCE`. */
  readonly manifests: ReadonlyMap<string, Manifest>;
}

export function landingDirectory(config: Config, runId: string, target?: string): string {
  return join(config.data, 'landing', runId, ...(target ? [target] : []));
}

/** IDs of the runs that have a landing, oldest first. */
export async function listLandings(config: Config): Promise<readonly string[]> {
  const root = join(config.data, 'landing');
  return existsSync(root) ? (await readdir(root)).sort() : [];
}

/** @throws TidemarkError USAGE when the run has no landing, DATA when no source of it is complete */
export async function readLanding(config: Config, runId: string): Promise<Landing> {
  const known = await listLandings(config);
  if (!known.includes(runId)) {
    const closest = closestMatch(runId, known);
    throw new TidemarkError('USAGE', `run ${runId} has no landing`, {
      hint: closest
        ? `did you mean ${closest}?`
        : `landings are in ${join(config.data, 'landing')} for \`landingDays\``,
    });
  }
  const manifests = await readManifests(config, runId);
  const [first] = manifests.values();
  if (!first) throw new TidemarkError('DATA', `no source of run ${runId} has a complete landing`);
  return { asOf: new Date(first.as_of), manifests };
}

/** Manifests of the complete sources of a run, by `TARGET/SOURCE`. */
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

/** The manifest of a source that was extracted at this time, if its landing is still there. */
export async function findManifest(
  config: Config,
  { target, source }: Pick<Manifest, 'target' | 'source'>,
  extractedAt: Date,
): Promise<Manifest | undefined> {
  const second = Math.floor(extractedAt.getTime() / 1000) * 1000;
  for (const run of await listLandings(config)) {
    const file = join(landingDirectory(config, run, target), `${source}.json`);
    if (parseRunStart(run) !== second || !existsSync(file)) continue;
    const manifest = await readManifest(file);
    if (manifest && Date.parse(manifest.as_of) === extractedAt.getTime()) return manifest;
  }
  return undefined;
}

/** Undefined for an incomplete file, which a power failure may leave: the source then has no landing. */
async function readManifest(file: string): Promise<Manifest | undefined> {
  try {
    const manifest = JSON.parse(await readFile(file, 'utf8')) as Manifest | null;
    return Array.isArray(manifest?.files) ? manifest : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** @throws TidemarkError DATA when a file of the landing is missing or was changed */
export async function verifyLanding(config: Config, { run_id, target, files }: Manifest): Promise<void> {
  const directory = landingDirectory(config, run_id, target);
  for (const { file, sha256 } of files) {
    const hash = createHash('sha256');
    await pipeline(createReadStream(join(directory, file)), hash).catch((error: NodeJS.ErrnoException) => {
      throw new TidemarkError('DATA', `cannot read the landing file ${file}: ${error.message}`, { cause: error });
    });
    if (hash.digest('hex') !== sha256)
      throw new TidemarkError('DATA', `the landing file ${file} was changed after the extraction`);
  }
}

/** Removes landings older than `landingDays`. */
export async function pruneLandings(config: Config, now: Date): Promise<void> {
  for (const run of await listLandings(config)) {
    const startMs = parseRunStart(run);
    if (startMs === undefined || now.getTime() - startMs <= config.landingDays * DAY_MS) continue;
    await rm(landingDirectory(config, run), { recursive: true, force: true });
  }
}

/** The start of a run according to its ID, such as `20261115T021500Z`, in milliseconds; undefined for any other text. */
export function parseRunStart(runId: string): number | undefined {
  const parts = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z/u.exec(runId)?.slice(1).map(Number);
  if (!parts) return undefined;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts;
  return Date.UTC(year, month - 1, day, hour, minute, second);
}
