import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isoSeconds } from '../core/clock.ts';
import { TidemarkError } from '../core/errors.ts';
import { findFile } from '../core/paths.ts';
import type { Database } from '../warehouse/database.ts';
import type { SqlFiles } from '../warehouse/sql-files.ts';
import { archivedDates, dateOf } from './archive.ts';
import type { ReportData } from './data.ts';
import type { Report } from './definitions.ts';
import { formatTime, shortened } from './format.ts';
import type { Press } from './press.ts';
import { writeWhole } from './write.ts';

export interface IndexOptions {
  readonly database: Database;
  readonly files: SqlFiles;
  readonly out: string;
  readonly asOf: Date;
  readonly generatedAt: Date;
  /** Data of the reports that were just written, by name; that of others is read from the folder. */
  readonly fresh: ReadonlyMap<string, ReportData>;
}

/** Writes `out/index.html`, and the page of the day in the archive: the reports, their answers, and the runs. */
export async function writeIndex(
  options: IndexOptions,
  reports: ReadonlyMap<string, Report>,
  press: Press,
): Promise<void> {
  const { out, asOf } = options;
  const template = findFile(options.files.roots, 'reports/index.hbs');
  if (!template) throw new TidemarkError('DATA', 'reports/index.hbs does not exist');
  const source = await readFile(template, 'utf8');
  const dates = await archivedDates(out);
  const runs = await readRuns(options, dates);
  const print = async (folder: string, archived: boolean) => {
    const entries = await reportEntries(folder, reports, options.fresh);
    const context = {
      title: archived ? `Reports of ${dateOf(asOf)}` : 'Reports',
      as_of: isoSeconds(asOf),
      generated_at: isoSeconds(options.generatedAt),
      reports: entries,
      archived,
      dates: archived ? [] : dates,
      runs: archived ? [] : runs,
      page: { ...press.assets, stale: [], never: [], sources: [], absent: new Set<string>() },
    };
    await writeWhole(join(folder, 'index.html'), press.html.render('reports/index.hbs', source, context));
  };
  await print(out, false);
  if (dates.includes(dateOf(asOf))) await print(join(out, 'archive', dateOf(asOf)), true);
}

/** A report that is in the folder, with its answer in a line where its data tells one. */
async function reportEntries(folder: string, reports: ReadonlyMap<string, Report>, fresh: ReadonlyMap<string, Told>) {
  const present = existsSync(folder) ? new Set(await readdir(folder)) : new Set<string>();
  const shown = [...reports.values()].filter(({ name }) => present.has(`${name}.html`) && present.has(`${name}.json`));
  return Promise.all(
    shown.map(async ({ name, title, about }) => {
      const { as_of, summary, sources } = fresh.get(name) ?? (await readTold(join(folder, `${name}.json`)));
      return {
        name,
        title,
        about,
        as_of: formatTime(as_of),
        headline: typeof summary.headline === 'string' ? shortened(summary.headline) : about,
        stale: sources.some(({ stale }) => stale),
      };
    }),
  );
}

/** What the index shows of a report's data. */
type Told = Pick<ReportData, 'as_of' | 'summary' | 'sources'>;

async function readTold(path: string): Promise<Told> {
  return JSON.parse(await readFile(path, 'utf8')) as Told;
}

async function readRuns({ database, files, asOf }: IndexOptions, dates: readonly string[]) {
  const runs = await database.rows(await files.text('reports/runs'), { as_of: asOf.toISOString() });
  return runs.map((run) => {
    const date = String(run.started_at).slice(0, 10);
    return { ...run, date, archived: dates.includes(date) };
  });
}
