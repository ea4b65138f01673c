import { lstat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { TidemarkError } from '../../core/errors.ts';
import { ignoreMissing, MAX_TEXT_KIBIBYTES, readNamedFile, syncFolder, syncPath } from '../../core/fs.ts';
import { tryParseJson } from '../../core/json.ts';

/**
 * A backup is a folder with `manifest.json`, which names the folder beside it with the files. The manifest is replaced last and at once,
 * so that a backup that was killed leaves the earlier one, or none.
 */
export const MANIFEST = 'manifest.json';

/** What a new file system has at its root, and nobody has written. */
export const LOST_FOUND = 'lost+found';

/** Folders with the files of one backup. */
export const FILES = /^files-[0-9a-f]{8}$/u;

/** The paths that a backup may have; a manifest names no other. */
const PATH = /^(?:warehouse\.duckdb|ledger\.ndjson|STOP|plans\/p-[A-Za-z0-9-]+\.json)$/u;

const backedUpFile = z.object({
  path: z.string().regex(PATH),
  bytes: z.int().nonnegative(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/u),
});

const manifest = z.object({
  format: z.literal('tidemark-backup'),
  version: z.literal(1),
  /** ISO 8601. */
  created_at: z.string(),
  program: z.string(),
  folder: z.string().regex(FILES),
  files: z.array(backedUpFile).refine((files) => files.some(({ path }) => path === 'warehouse.duckdb')),
});

export type BackupManifest = z.infer<typeof manifest>;

/** Undefined where there is none. @throws TidemarkError DATA where it is not one. */
export async function findManifest(folder: string): Promise<BackupManifest | undefined> {
  const file = join(folder, MANIFEST);
  if (!(await lstat(file).catch(ignoreMissing))) return undefined;
  const text = readNamedFile(file, { code: 'DATA', maxKibibytes: MAX_TEXT_KIBIBYTES });
  const { data } = manifest.safeParse(tryParseJson(text));
  if (data) return data;
  throw new TidemarkError('DATA', `${file} is not the manifest of a backup`);
}

/** @throws TidemarkError DATA where the folder has no complete backup. */
export async function readManifest(folder: string): Promise<BackupManifest> {
  const found = await findManifest(folder);
  if (found) return found;
  throw new TidemarkError('DATA', `${folder} has no complete backup: ${MANIFEST} is missing`, {
    hint: 'make one with `tidemark backup DIR`',
  });
}

/** Syncs the files of a backup below a folder to disk, with their folders. */
export async function syncFiles(folder: string, paths: readonly string[]): Promise<void> {
  for (const path of paths) await syncPath(join(folder, path));
  for (const path of [join(folder, 'plans'), folder, dirname(folder)]) await syncFolder(path);
}
