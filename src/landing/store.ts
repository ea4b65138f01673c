import { createHash } from 'node:crypto';
import type { Dirent } from 'node:fs';
import { readdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { type Config, meshMounts, type Target } from '../config/config.ts';
import { suggestName } from '../config/suggest.ts';
import { DAY_MS } from '../core/clock.ts';
import { TidemarkError } from '../core/errors.ts';
import { ignoreMissing, makeFolder, PRIVATE_FILE } from '../core/fs.ts';
import { isCompressed, readContent } from '../core/gzip.ts';
import { tryParseJson } from '../core/json.ts';

/** A data file of a landing, compressed: CSV with a header, or JSON with one response per line. */
export interface LandingFile {
  /** Name in the landing directory of the target. */
  readonly file: string;
  readonly format: 'csv' | 'ndjson';
  /** Of the content, as the others. */
  readonly bytes: number;
  readonly sha256: string;
  /** Bytes of the longest line, for the buffer size of the reader. */
  readonly longestLine?: number;
  /** Column names of a CSV header, in order. */
  readonly columns?: readonly string[];
  /** How NULL may be written, beside an empty cell: docs/services/platform.md#csv-export. */
  readonly bareNulls?: readonly string[];
}

/** Rows that could not be listed, such as those of one plugin. What is loaded of them is left as it is, and is unknown. */
export interface UnknownPart {
  /** The column that names the part (`-- part:` of a table). */
  readonly column: string;
  /** The part's value in that column. */
  readonly value: string | null;
  /** Another column that its rows have in common. */
  readonly within?: { readonly column: string; readonly value: string };
  readonly reason: string;
  /** Whether the service says that it cannot list them at all, or that they are gone, which is no failure of the pull. */
  readonly isUnsupported?: boolean;
  /** Whether it is the whole column, which the service does not tell: it is null in every row, and unknown. */
  readonly isColumn?: boolean;
  /** Whether nothing but loaded rows names it: a person may accept that they are gone. */
  readonly isGone?: boolean;
}

/** `plugin ebs is unknown: no such plugin` */
export function describePart({ column, value, reason }: UnknownPart): string {
  return `${column.replace(/_(?:id|name)$/u, '')} ${value ?? '(none)'} is unknown: ${reason}`;
}

/** Describes the complete landing of a source, which can be loaded without the network. It is the file SOURCE.json in the landing. */
export interface Manifest {
  readonly source: string;
  readonly target: string;
  /** `targetFingerprint` of the target. */
  readonly service: string;
  /** `targetPlace` of the target; absent in landings of an earlier version. */
  readonly place?: string;
  /** What the service said that it is (`identifyService`); absent where it did not say. */
  readonly installation?: Readonly<Record<string, string>>;
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
  /** Digest of everything that decides what a read returns: service, flavor, token, program, tables. */
  readonly reader: string;
  /** When every object was last read, ISO 8601. */
  readonly full_read_at: string;
  /** The index of each list, by its name, where the service sends one. */
  readonly indexes: Readonly<Record<string, string>>;
}

/** The parts of a landing that are unknown. A person who accepts a loss of rows accepts that what nothing names any more is gone. */
export function listUnknown({ unknown_parts = [] }: Manifest, acceptDrop: boolean): readonly UnknownPart[] {
  return unknown_parts.filter(({ isGone = false }) => !(isGone && acceptDrop));
}

/**
 * Identifies what a target refers to, and as whom and how it is asked. A change means that rows of the same target name come from somewhere
 * else, or are others. 36 bits show a change, and are too few to find a token by.
 */
export function targetFingerprint(target: Target): string {
  const { url, organization, namespace, mounts, services, host, flavor, explorer, tokenHeader, token } = target;
  const place = [url, organization, namespace, mounts.keymgmt, meshMounts(target), services, host];
  const text = JSON.stringify([...place, flavor, explorer, tokenHeader, token]);
  return createHash('sha256').update(text).digest('base64').slice(0, 6);
}

/**
 * Where the rows of a target are: if it changes, a row that is missing may still be at the place before. Another port of a host counts as the
 * same place, since tunnels and restarts change it.
 */
function targetPlace({ url, organization, namespace, mounts }: Target): string {
  const { hostname, pathname } = new URL(url);
  return JSON.stringify([hostname, pathname, organization, namespace, mounts.keymgmt]);
}

/** What a manifest says of its target. */
export function identifyTarget(target: Target): Pick<Manifest, 'target' | 'service' | 'place'> {
  return { target: target.name, service: targetFingerprint(target), place: targetPlace(target) };
}

/** Manifests of a run, by `TARGET/SOURCE`. */
export type Manifests = ReadonlyMap<string, Manifest>;

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

export function landingDirectory(config: Pick<Config, 'data'>, runId: string, target?: string): string {
  return join(config.data, 'landing', runId, ...(target ? [target] : []));
}

/** IDs of the runs that have a landing, oldest first. */
export async function listLandings(config: Pick<Config, 'data'>): Promise<readonly string[]> {
  const root = join(config.data, 'landing');
  const entries = (await readdir(root, { withFileTypes: true }).catch(ignoreMissing)) ?? [];
  const isRun = (entry: Dirent) => entry.isDirectory() && parseRunStart(entry.name) !== undefined;
  return entries.flatMap((entry) => (isRun(entry) ? [entry.name] : [])).sort();
}

/** @throws TidemarkError USAGE when the run has no landing, DATA when no source of it is complete */
export async function readLanding(config: Config, runId: string): Promise<Manifests> {
  const known = await listLandings(config);
  if (!known.includes(runId)) {
    const advice = `landings are in ${join(config.data, 'landing')} for \`landingDays\``;
    const hint = suggestName(runId, known, advice);
    throw new TidemarkError('USAGE', `run ${runId} has no landing`, { hint });
  }
  const manifests = await readManifests(config, runId);
  if (manifests.size === 0) throw new TidemarkError('DATA', `no source of run ${runId} has a complete landing`);
  return manifests;
}

/** Of the complete sources of a run. */
export async function readManifests(config: Config, runId: string): Promise<Manifests> {
  const manifests = new Map<string, Manifest>();
  const entries = await readdir(landingDirectory(config, runId), { withFileTypes: true });
  for (const { name: target } of entries.filter((entry) => entry.isDirectory())) {
    const directory = landingDirectory(config, runId, target);
    const names = (await readdir(directory)).filter((name) => name.endsWith('.json'));
    const sources = names.map((name) => name.slice(0, -'.json'.length));
    for (const manifest of await Promise.all(sources.map((source) => readManifest(config, runId, { target, source }))))
      if (manifest) manifests.set(`${target}/${manifest.source}`, manifest);
  }
  return manifests;
}

/** The manifest of a source that was extracted at this time, if its landing is still there. */
export async function findManifest(config: Config, of: Pick<Manifest, 'target' | 'source'>, extractedAt: Date) {
  const second = Math.floor(extractedAt.getTime() / 1000) * 1000;
  for (const run of (await listLandings(config)).filter((id) => parseRunStart(id) === second)) {
    const manifest = await readManifest(config, run, of);
    if (manifest && Date.parse(manifest.as_of) === extractedAt.getTime()) return manifest;
  }
  return undefined;
}

/**
 * Undefined for a file that is gone or incomplete, which a power failure may leave: the source then has no landing. Nor has it one where the
 * file names another place, because files are read and written there.
 */
async function readManifest(config: Config, runId: string, { target, source }: Pick<Manifest, 'target' | 'source'>) {
  const file = join(landingDirectory(config, runId, target), `${source}.json`);
  const text = await readFile(file, 'utf8').catch(ignoreMissing);
  const manifest = tryParseJson(text ?? '') as Manifest | null | undefined;
  const isOwn = manifest?.run_id === runId && manifest.target === target && manifest.source === source;
  // Files of an earlier version are not compressed: such a landing is none.
  const isUsable = manifest?.files?.every(({ file: name }) => isCompressed(name) && basename(name) === name);
  return isOwn && isUsable ? manifest : undefined;
}

/** @throws TidemarkError DATA when a file of the landing is missing or was changed */
export async function verifyLanding(config: Config, { run_id, target, files }: Manifest): Promise<void> {
  for (const file of files) for await (const _ of readLanded(landingDirectory(config, run_id, target), file));
}

/** The content of a file. @throws TidemarkError DATA, at its end at the latest, when it is missing or was changed */
export async function* readLanded(directory: string, { file, bytes, sha256 }: LandingFile) {
  const changed = new TidemarkError('DATA', `the landing file ${file} was changed after the extraction`);
  const hash = createHash('sha256');
  try {
    for await (const chunk of readContent(join(directory, file), bytes + 1)) {
      hash.update(chunk);
      yield chunk;
    }
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    if (code.startsWith('Z_')) throw changed;
    if (code !== 'ENOENT') throw error;
    throw new TidemarkError('DATA', `cannot read the landing file ${file}: ${message}`, { cause: error });
  }
  if (hash.digest('hex') !== sha256) throw changed;
}

/** What another process removes meanwhile has no bytes. */
export async function landingBytes(directory: string): Promise<number> {
  const entries = (await readdir(directory, { recursive: true, withFileTypes: true }).catch(ignoreMissing)) ?? [];
  const names = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  const files = await Promise.all(names.map((name) => stat(name).catch(ignoreMissing)));
  return files.reduce((sum, file) => sum + (file?.size ?? 0), 0);
}

/** The folders of landings older than `landingDays`. */
export async function listOldLandings(config: Config, now: Date): Promise<readonly string[]> {
  const sinceMs = now.getTime() - config.landingDays * DAY_MS;
  const old = (await listLandings(config)).filter((run) => (parseRunStart(run) ?? sinceMs) < sinceMs);
  return old.map((run) => landingDirectory(config, run));
}

/** The start of a run according to its ID, such as `20261115T021500Z`, in milliseconds; undefined for any other text. */
export function parseRunStart(runId: string): number | undefined {
  const [start, year, month, day, ...time] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z/u.exec(runId) ?? [];
  return start === undefined ? undefined : Date.parse(`${year}-${month}-${day}T${time.join(':')}Z`);
}
