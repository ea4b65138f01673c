import { existsSync } from 'node:fs';
import { copyFile, mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

const DAY_MS = 24 * 60 * 60_000;
const DATE = /^\d{4}-\d\d-\d\d$/u;

/** UTC date, the name of a folder of the archive. */
export function dateOf(moment: Date): string {
  return moment.toISOString().slice(0, 10);
}

/** Copies files of `out` to `out/archive/DATE/`; a later run of the same day takes the earlier one's place, report by report. */
export async function archiveFiles(out: string, date: string, files: readonly string[]): Promise<void> {
  const folder = join(out, 'archive', date);
  await mkdir(folder, { recursive: true });
  for (const file of files) await copyFile(join(out, file), join(folder, file));
}

/** Removes days of the archive that are older than `reportDays`. */
export async function pruneArchive(out: string, now: Date, reportDays: number): Promise<void> {
  const oldest = dateOf(new Date(now.getTime() - reportDays * DAY_MS));
  for (const date of await archivedDates(out)) {
    if (date < oldest) await rm(join(out, 'archive', date), { recursive: true });
  }
}

/** Days in the archive, the newest first. */
export async function archivedDates(out: string): Promise<readonly string[]> {
  const folder = join(out, 'archive');
  if (!existsSync(folder)) return [];
  return (await readdir(folder))
    .filter((name) => DATE.test(name))
    .sort()
    .reverse();
}
