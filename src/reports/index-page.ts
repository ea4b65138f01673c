import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { formatTimestamp } from '../core/clock.ts';
import { writeFileAtomic } from '../core/fs.ts';
import type { Database } from '../warehouse/database.ts';
import type { SqlFiles } from '../warehouse/sql-files.ts';
import { listArchivedDates, toUtcDate } from './archive.ts';
import type { ReportData } from './data.ts';
import type { Report } from './definitions.ts';
import { formatTime, truncate } from './format.ts';
import type { Renderer } from './renderer.ts';
import { readTemplate } from './templates.ts';

export interface IndexOptions {
  readonly database: Database;
  readonly files: SqlFiles;
  readonly out: string;
  readonly asOf: Date;
  readonly generatedAt: Date;
  /** Data of the reports that this run rendered, by name. Data of other reports is read from their JSON files. */
  readonly rendered: ReadonlyMap<string, ReportData>;
}

/** Writes `out/index.html` and the index of the day in the archive: the reports with their headlines, and the runs. */
export async function writeIndex(
  options: IndexOptions,
  reports: ReadonlyMap<string, Report>,
  renderer: Renderer,
): Promise<void> {
  const { out, asOf } = options;
  const source = await readTemplate(options.files.roots, 'index.hbs');
  const dates = await listArchivedDates(out);
  const runs = await readRuns(options, dates);
  const writePage = async (folder: string, archived: boolean) => {
    const context = {
      title: archived ? `Reports of ${toUtcDate(asOf)}` : 'Reports',
      as_of: formatTimestamp(asOf),
      generated_at: formatTimestamp(options.generatedAt),
      reports: await listEntries(folder, reports, options.rendered),
      archived,
      dates: archived ? [] : dates,
      runs: archived ? [] : runs,
      page: { ...renderer.assets, stale: [], never: [], sources: [], unlinked: new Set<string>() },
    };
    await writeFileAtomic(join(folder, 'index.html'), renderer.html.render('reports/index.hbs', source, context));
  };
  await writePage(out, false);
  if (dates.includes(toUtcDate(asOf))) await writePage(join(out, 'archive', toUtcDate(asOf)), true);
}

/** The reports in the folder, each with the headline of its summary, or its description where there is none. */
async function listEntries(
  folder: string,
  reports: ReadonlyMap<string, Report>,
  rendered: ReadonlyMap<string, ReportSummary>,
) {
  const present = existsSync(folder) ? new Set(await readdir(folder)) : new Set<string>();
  const shown = [...reports.values()].filter(({ name }) => present.has(`${name}.html`) && present.has(`${name}.json`));
  return Promise.all(
    shown.map(async ({ name, title, about }) => {
      const { as_of, summary, sources } = rendered.get(name) ?? (await readSummary(join(folder, `${name}.json`)));
      return {
        name,
        title,
        about,
        as_of: formatTime(as_of),
        headline: typeof summary.headline === 'string' ? truncate(summary.headline) : about,
        stale: sources.some(({ stale }) => stale),
      };
    }),
  );
}

/** What the index shows of a report's data. */
type ReportSummary = Pick<ReportData, 'as_of' | 'summary' | 'sources'>;

async function readSummary(path: string): Promise<ReportSummary> {
  return JSON.parse(await readFile(path, 'utf8')) as ReportSummary;
}

async function readRuns({ database, files, asOf }: IndexOptions, dates: readonly string[]) {
  const runs = await database.rows(await files.read('reports/runs'), { as_of: asOf.toISOString() });
  return runs.map((run) => {
    const date = String(run.started_at).slice(0, 10);
    return { ...run, date, archived: dates.includes(date) };
  });
}
