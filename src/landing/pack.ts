import { existsSync } from 'node:fs';
import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import pLimit from 'p-limit';
import type { Config } from '../config/config.ts';
import { type ArchiveMember, type ArchiveOptions, isArchivable, listArchive, writeArchive } from './archive.ts';
import { archivePath, landingDirectory, parseManifest, parseRunStart } from './store.ts';

/** Compression runs in the threads of Node, of which there are four. */
const TARGETS_AT_ONCE = 4;

/**
 * Packs the landings of runs that nothing writes to, as `packLanding`.
 * @param onFailure receives the folder of a target that stays as it is
 */
export async function packLandings(
  config: Config,
  runs: readonly string[],
  signal: AbortSignal,
  onFailure: (directory: string, error: unknown) => void,
): Promise<void> {
  const limit = pLimit(TARGETS_AT_ONCE);
  for (const run of runs) {
    const folder = landingDirectory(config, run);
    // A user may keep a file here whose name begins as a run's.
    if (parseRunStart(run) === undefined || !(await stat(folder)).isDirectory()) continue;
    await limit.map(await listTargets(folder), (target) => packLanding(config, { run, target }, signal, onFailure));
  }
}

async function listTargets(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
}

/**
 * Packs the landing of a target to which nothing is written: its complete sources become one archive. What is packed is removed once
 * the archive is on disk, so that a kill at any time loses nothing; readers accept both. Other files stay as they are, and all of them
 * if the signal is aborted.
 * @param onFailure receives the folder if it stays as it is
 */
export async function packLanding(
  config: Config,
  { run, target }: { readonly run: string; readonly target: string },
  signal: AbortSignal,
  onFailure: (directory: string, error: unknown) => void,
): Promise<void> {
  const directory = landingDirectory(config, run, target);
  if (signal.aborted || !existsSync(directory)) return;
  const modified = new Date(parseRunStart(run) ?? 0);
  await packFolder(directory, { modified, signal }).catch((error) => {
    if (!signal.aborted) onFailure(directory, error);
  });
}

async function packFolder(directory: string, options: ArchiveOptions): Promise<void> {
  const archive = archivePath(directory);
  const names = await readdir(directory);
  const loose = names.filter((name) => join(directory, name) !== archive && !name.endsWith('.rejected'));
  if (loose.length === 0) return;
  if (!existsSync(archive)) {
    const members = await listMembers(directory, loose);
    if (members.length === 0) return;
    await writeArchive(archive, members, options);
  }
  const packed = await listArchive(archive);
  // Nothing writes here any more, so that a `.part` is what a kill has left.
  const removed = loose.filter((name) => packed?.has(name) || name.endsWith('.part'));
  for (const name of removed) await rm(join(directory, name), { force: true });
}

/** The manifests whose files are all there, then these files. */
async function listMembers(directory: string, names: readonly string[]): Promise<readonly ArchiveMember[]> {
  const texts: ArchiveMember[] = [];
  const files: ArchiveMember[] = [];
  for (const name of names.filter((candidate) => candidate.endsWith('.json'))) {
    const text = await readFile(join(directory, name), 'utf8');
    const landed = parseManifest(text)?.files;
    if (!landed?.every(({ file }) => names.includes(file) && isArchivable(file)) || !isArchivable(name)) continue;
    texts.push({ name, text });
    files.push(...landed.map(({ file, bytes }) => ({ name: file, path: join(directory, file), bytes })));
  }
  return [...texts, ...files];
}
