import { existsSync } from 'node:fs';
import { copyFile, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DAY_MS } from '../../core/clock.ts';
import { ignoreMissing, makeFolder, PRIVATE_FILE, replaceFile, syncPath, writeFileAtomic } from '../../core/fs.ts';
import { parseRunStart } from '../../landing/store.ts';

const DATE = /^\d{4}-\d\d-\d\d$/u;
/** A time without its colons, such as `2026-11-18T021500Z`. */
const TIME = /^\d{4}-\d\d-\d\dT[\d.]+Z$/u;

/** The UTC date, which is the name of a folder of the archive. */
export function toUtcDate(time: Date): string {
  return time.toISOString().slice(0, 10);
}

/** Removes CSV files of tables that the page of a report now shows completely. */
export async function removeObsolete(out: string, report: string, files: ReadonlySet<string>): Promise<void> {
  for (const name of await readdir(out)) {
    const isObsolete = name.startsWith(`${report}.`) && name.endsWith('.csv') && !files.has(name);
    if (isObsolete) await rm(join(out, name), { force: true }); // another process may write the same reports
  }
}

/** Copies files of `out` to `out/archive/DATE/`. A later run of the same day replaces the files of the reports that it renders. */
export async function archiveFiles(out: string, date: string, files: readonly string[]): Promise<void> {
  const folder = join(out, 'archive', date);
  await makeFolder(folder);
  for (const file of files) {
    const [from, to] = [join(out, file), join(folder, file)];
    if (file.endsWith('.html')) await writeFileAtomic(to, linkLatestSubjects(await readFile(from, 'utf8')));
    else await replaceFile(to, PRIVATE_FILE, (temporary) => copyFile(from, temporary).then(() => syncPath(temporary)));
  }
}

/** Subjects and runs have one page each, which is not archived. Markup only contains `href="`; in text it is escaped. */
export function linkLatestSubjects(page: string): string {
  return page.replaceAll(/href="(?=subjects|runs\/)/gu, 'href="../../');
}

/** The folders of days in the archive, and of reports of earlier times (`as-of/`), that were written more than `reportDays` ago. */
export async function listOldReports(out: string, now: Date, reportDays: number): Promise<readonly string[]> {
  const oldest = new Date(now.getTime() - reportDays * DAY_MS);
  const dates = (await listArchivedDates(out)).filter((date) => date < toUtcDate(oldest));
  const old = dates.map((date) => join(out, 'archive', date));
  for (const name of await listFolder(join(out, 'runs'))) {
    const startMs = parseRunStart(name);
    if (startMs !== undefined && startMs < oldest.getTime()) old.push(join(out, 'runs', name));
  }
  for (const name of await listFolder(join(out, 'as-of'))) {
    const folder = join(out, 'as-of', name);
    // A folder's name is the time that its reports show, which says nothing about when they were asked for.
    const entry = TIME.test(name) ? await stat(folder).catch(ignoreMissing) : undefined;
    if (entry && entry.mtime < oldest) old.push(folder);
  }
  return old;
}

/** Days in the archive, the newest first. */
export async function listArchivedDates(out: string): Promise<readonly string[]> {
  return (await listFolder(join(out, 'archive')))
    .filter((name) => DATE.test(name))
    .sort()
    .reverse();
}

async function listFolder(folder: string): Promise<readonly string[]> {
  return existsSync(folder) ? readdir(folder) : [];
}
