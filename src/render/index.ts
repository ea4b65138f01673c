import type { Thresholds } from '../core/config.ts';
import { TidemarkError } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import { nearestName } from '../core/yaml-file.ts';
import type { Database, Params } from '../warehouse/database.ts';
import type { SqlFiles } from '../warehouse/sql-files.ts';
import { archiveFiles, dateOf, pruneArchive } from './archive.ts';
import { type DataOptions, parametersOf, type ReportData, readReport, summariesOf, usesSummaries } from './data.ts';
import { loadReports, type Report } from './definitions.ts';
import { writeIndex } from './index-page.ts';
import { openPress, printReport } from './press.ts';
import { writeFiles } from './write.ts';

export type { ReportData, SourceState } from './data.ts';
export { loadReports } from './definitions.ts';
export { renderTemplate, templateEngine } from './templates.ts';

export interface RenderOptions {
  /** The published warehouse, open for reading, or the working one. */
  readonly database: Database;
  readonly files: SqlFiles;
  /** Where `reports/` is looked for, the first one wins. */
  readonly roots: readonly string[];
  /** @default every report there is */
  readonly names?: readonly string[];
  /** The moment that the reports tell of. */
  readonly asOf: Date;
  /** The moment that the age of sources is judged at. @default asOf */
  readonly freshAt?: Date;
  readonly generatedAt: Date;
  /** Folder that the files go to. */
  readonly out: string;
  readonly thresholds: Thresholds;
  /** Days that `out/archive/DATE/` is kept. */
  readonly reportDays: number;
  readonly log: Log;
}

export interface RenderedReport {
  readonly name: string;
  readonly title: string;
  /** Names of the files below `out`. */
  readonly files: readonly string[];
  readonly data: ReportData;
}

/**
 * Writes NAME.html, NAME.txt, NAME.json and CSV of long tables for each report, the index and the archive; each file whole or not at all.
 * @throws TidemarkError USAGE for an unknown report, DATA naming the query or template that is wrong
 */
export async function renderReports(options: RenderOptions): Promise<readonly RenderedReport[]> {
  const { out, asOf, generatedAt } = options;
  const { reports, known, data, params } = await readReports(options);
  const press = await openPress(options.roots);
  const rendered: RenderedReport[] = [];
  for (const [index, report] of reports.entries()) {
    const one = data[index] as ReportData;
    const contents = printReport(report, one, params, options.freshAt ?? asOf, press);
    await writeFiles(out, report.name, contents);
    rendered.push({ name: report.name, title: report.title, files: [...contents.keys()], data: one });
  }
  await archiveFiles(
    out,
    dateOf(asOf),
    rendered.flatMap(({ files }) => files),
  );
  await pruneArchive(out, generatedAt, options.reportDays);
  await writeIndex(options, known, press);
  options.log.info(`${rendered.length} reports written to ${out}`);
  return rendered;
}

/** The data objects alone, as `NAME.json` holds them; nothing is written. */
export async function reportData(options: ReadOptions): Promise<readonly ReportData[]> {
  return (await readReports(options)).data;
}

export type ReadOptions = Omit<RenderOptions, 'out' | 'log' | 'reportDays'>;

async function readReports(options: ReadOptions) {
  const { database, files, asOf, thresholds, generatedAt } = options;
  const known = await loadReports(files);
  const reports = chosen(known, options.names);
  // The published file is open for reading only: what the queries call must live in this connection.
  await database.run(await files.filled('warehouse/semver_key', { kind: 'temp macro' }));
  const dataOptions: DataOptions = { database, files, asOf, thresholds, generatedAt, freshAt: options.freshAt ?? asOf };
  const params: Params = { ...parametersOf(dataOptions), ...(await summariesParameter(reports, known, dataOptions)) };
  const data: ReportData[] = [];
  for (const report of reports) data.push(await readReport(report, dataOptions, params));
  return { reports, known, data, params };
}

/** `$summaries` costs a query for each report, so only where one is used. */
async function summariesParameter(
  reports: readonly Report[],
  known: ReadonlyMap<string, Report>,
  options: DataOptions,
): Promise<Params> {
  const used = reports.some(({ summary, datasets }) => [summary, ...datasets].some(usesSummaries));
  return used ? { summaries: await summariesOf(known.values(), options) } : {};
}

function chosen(known: ReadonlyMap<string, Report>, names: readonly string[] | undefined): readonly Report[] {
  if (!names) return [...known.values()];
  return [...new Set(names)].map((name) => {
    const report = known.get(name);
    if (report) return report;
    const nearest = nearestName(name, known.keys());
    throw new TidemarkError('USAGE', `there is no report ${name}`, {
      hint: nearest ? `did you mean ${nearest}?` : `there are ${[...known.keys()].join(', ')}`,
    });
  });
}
