import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Config, Target } from '../config/config.ts';
import { closestMatch } from '../config/suggest.ts';
import { DAY_MS } from '../core/clock.ts';
import { TidemarkError } from '../core/errors.ts';
import { makeFolder, PRIVATE_FILE } from '../core/fs.ts';
import { changedFile, readTexts, unpackFile } from './archive.ts';

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

/** Rows that could not be listed, such as those of one plugin. What is loaded of them is left as it is, and is unknown. */
export interface UnknownPart {
  /** The column that names the part (`-- part:` of a table). */
  readonly column: string;
  /** The part's value in that column. */
  readonly value: string | null;
  readonly reason: string;
  /** Whether the service says that it cannot list them at all, which is no failure of the pull. */
  readonly isUnsupported?: boolean;
  /** Whether nothing but loaded rows names it: a person may accept that they are gone. */
  readonly isGone?: boolean;
}

/** `plugin ebs is unknown: no such plugin` */
export function describePart({ column, value, reason }: UnknownPart): string {
  return `${column.replace(/_id$/u, '')} ${value ?? '(none)'} is unknown: ${reason}`;
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
  /** Why its load was quarantined: it is loaded only when a person accepts that. */
  readonly quarantined?: string;
  readonly unknown_parts?: readonly UnknownPart[];
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

/** The parts of a landing that are unknown. A person who accepts a loss of rows accepts that what nothing names any more is gone. */
export function listUnknown({ unknown_parts = [] }: Manifest, acceptDrop: boolean): readonly UnknownPart[] {
  return unknown_parts.filter(({ isGone = false }) => !(isGone && acceptDrop));
}

/** Identifies what a target refers to. A change means that rows of the same target name come from somewhere else. */
export function targetFingerprint({ url, organization, namespace, mounts, services }: Target): string {
  const { keymgmt, mesh } = mounts;
  return [url, organization, namespace, keymgmt, mesh, ...services].map((part) => part ?? '').join(' ');
}

/** The manifests of a run. */
interface Manifests {
  /** By `TARGET/SOURCE`. */
  readonly manifests: ReadonlyMap<string, Manifest>;
  /** Targets whose archive cannot be read, and why. */
  readonly damaged: ReadonlyMap<string, TidemarkError>;
}

/** The landing of a run. */
export interface Landing extends Manifests {
  readonly asOf: Date;
  /** What the run was to pull, as `TARGET/SOURCE`; undefined for a run that did not record it. */
  readonly planned: ReadonlySet<string> | undefined;
}

/** In the landing of a run: what the run was to pull. */
const PLAN = 'run.json';

export async function recordPlanned(config: Config, runId: string, pulls: readonly string[]): Promise<void> {
  const directory = landingDirectory(config, runId);
  await makeFolder(directory);
  await writeFile(join(directory, PLAN), `${JSON.stringify({ pulls })}\n`, { mode: PRIVATE_FILE });
}

/** Undefined where it is missing or incomplete. */
async function readPlanned(config: Config, runId: string): Promise<ReadonlySet<string> | undefined> {
  const text = await readFile(join(landingDirectory(config, runId), PLAN), 'utf8').catch(() => 'null');
  try {
    const plan = JSON.parse(text) as { readonly pulls?: readonly string[] } | null;
    return Array.isArray(plan?.pulls) ? new Set(plan.pulls) : undefined;
  } catch {
    return undefined;
  }
}

/** Removes the folder of a run that landed nothing. */
export async function removeEmptyLanding(config: Config, runId: string): Promise<void> {
  const directory = landingDirectory(config, runId);
  if ((await readdir(directory)).every((name) => name === PLAN)) await rm(directory, { recursive: true, force: true });
}

/** Keeps a landing for a person who accepts it. */
export function quarantineLanding(config: Config, manifest: Manifest, reason: string): Promise<void> {
  const directory = landingDirectory(config, manifest.run_id, manifest.target);
  return writeManifest(directory, { ...manifest, quarantined: reason });
}

export async function writeManifest(directory: string, manifest: Manifest): Promise<void> {
  await makeFolder(directory);
  const file = join(directory, `${manifest.source}.json`);
  await writeFile(`${file}.part`, `${JSON.stringify(manifest, null, 2)}\n`, { mode: PRIVATE_FILE });
  await rename(`${file}.part`, file);
}

export function landingDirectory(config: Config, runId: string, target?: string): string {
  return join(config.data, 'landing', runId, ...(target ? [target] : []));
}

/** In the folder of a target, once its run has ended: all complete sources, compressed (docs/decisions/0032-packed-landings.md). */
export const archivePath = (directory: string): string => join(directory, 'landing.tar');

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
  const { manifests, damaged } = await readManifests(config, runId);
  const [first] = manifests.values();
  const [problem] = damaged.values();
  if (!first) throw problem ?? new TidemarkError('DATA', `no source of run ${runId} has a complete landing`);
  return { asOf: new Date(first.as_of), manifests, damaged, planned: await readPlanned(config, runId) };
}

/** Manifests of the complete sources of a run. */
export async function readManifests(config: Config, runId: string): Promise<Manifests> {
  const manifests = new Map<string, Manifest>();
  const damaged = new Map<string, TidemarkError>();
  const entries = await readdir(landingDirectory(config, runId), { withFileTypes: true });
  for (const { name: target } of entries.filter((entry) => entry.isDirectory())) {
    try {
      for (const manifest of await readTargetManifests(landingDirectory(config, runId, target)))
        manifests.set(`${target}/${manifest.source}`, manifest);
    } catch (error) {
      if (!(error instanceof TidemarkError)) throw error;
      damaged.set(target, error);
    }
  }
  return { manifests, damaged };
}

/**
 * Manifests in the folder of a target. Loose files are read before the archive: another process that packs them removes them only
 * once it is there.
 * @throws TidemarkError DATA if the archive is damaged
 */
export async function readTargetManifests(directory: string): Promise<readonly Manifest[]> {
  const found = new Map<string, Manifest>();
  for (const file of (await readdir(directory)).filter((name) => name.endsWith('.json'))) {
    const manifest = await readManifest(join(directory, file));
    if (manifest) found.set(file, manifest);
  }
  for (const [file, text] of (await readTexts(archivePath(directory))) ?? []) {
    const manifest = parseManifest(text);
    if (manifest) found.set(file, manifest);
  }
  return [...found.values()];
}

/** The manifest of a source that was extracted at this time, if its landing is still there. */
export async function findManifest(
  config: Config,
  { target, source }: Pick<Manifest, 'target' | 'source'>,
  extractedAt: Date,
): Promise<Manifest | undefined> {
  const second = Math.floor(extractedAt.getTime() / 1000) * 1000;
  for (const run of await listLandings(config)) {
    const directory = landingDirectory(config, run, target);
    if (parseRunStart(run) !== second || !existsSync(directory)) continue;
    const manifest = (await readTargetManifests(directory)).find((candidate) => candidate.source === source);
    if (manifest && Date.parse(manifest.as_of) === extractedAt.getTime()) return manifest;
  }
  return undefined;
}

/** Undefined for a file that is gone, or incomplete, which a power failure may leave: the source then has no landing. */
async function readManifest(file: string): Promise<Manifest | undefined> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  return parseManifest(text);
}

/** Undefined for a text that is no complete manifest. */
export function parseManifest(text: string): Manifest | undefined {
  try {
    const manifest = JSON.parse(text) as Manifest | null;
    return Array.isArray(manifest?.files) ? manifest : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/**
 * Verifies the files of a landing, which are in its folder, unpacked, until `work` ends.
 * @throws TidemarkError DATA when a file of the landing is missing or was changed
 */
export async function withLandingFiles<T>(config: Config, manifest: Manifest, work: () => Promise<T>): Promise<T> {
  const directory = landingDirectory(config, manifest.run_id, manifest.target);
  const unpacked: string[] = [];
  try {
    for (const file of manifest.files) {
      const path = join(directory, file.file);
      if (await unpackFile(archivePath(directory), file.file, path, file)) unpacked.push(path);
      else await verifyFile(path, file);
    }
    return await work();
  } finally {
    for (const path of unpacked) await rm(path, { force: true });
  }
}

/** The size of a target's landing when its archive is unpacked. */
export async function unpackedBytes(directory: string): Promise<number> {
  const archive = archivePath(directory);
  const names = (await readdir(directory)).map((name) => join(directory, name));
  const sizes = names.filter((path) => path !== archive).map(async (path) => (await stat(path)).size);
  const manifests = names.includes(archive) ? await readTargetManifests(directory).catch(() => []) : [];
  const packed = manifests.flatMap(({ files }) => files.map(({ bytes }) => bytes));
  return [...(await Promise.all(sizes)), ...packed].reduce((sum, bytes) => sum + bytes, 0);
}

async function verifyFile(path: string, { file, sha256 }: LandingFile): Promise<void> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash).catch((error: NodeJS.ErrnoException) => {
    throw new TidemarkError('DATA', `cannot read the landing file ${file}: ${error.message}`, { cause: error });
  });
  if (hash.digest('hex') !== sha256) throw changedFile(file);
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
