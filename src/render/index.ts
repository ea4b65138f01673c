import { TidemarkError } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import { archiveFiles, dateOf, pruneArchive } from './archive.ts';
import type { ReportData } from './data.ts';
import { writeIndex } from './index-page.ts';
import { openPress, type Press, printReport } from './press.ts';
import { openReading, type Reading, type ReadOne, type ReadOptions } from './read.ts';
import { writeFiles } from './write.ts';

export { type DrawChart, loadCharts } from './charts.ts';
export { safeCsv } from './csv.ts';
export type { ReportData, SourceState } from './data.ts';
export { loadReports, reportNames } from './definitions.ts';
export type { ReadOptions } from './read.ts';
export { renderTemplate, templateEngine } from './templates.ts';

export interface RenderOptions extends ReadOptions {
  /** Folder that the files go to. */
  readonly out: string;
  /** Days that `out/archive/DATE/` is kept. */
  readonly reportDays: number;
  readonly log: Log;
  /** Told of a report whose query or template is wrong, while the others are written. @default the first such ends it all */
  readonly onFailure?: (report: string, error: TidemarkError) => void;
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
 * @throws TidemarkError USAGE for an unknown report; without `onFailure`, DATA naming the query or template that is wrong
 */
export async function renderReports(options: RenderOptions): Promise<readonly RenderedReport[]> {
  const { out, asOf, generatedAt } = options;
  const [press, reading] = await Promise.all([openPress(options.roots), openReading(options)]);
  const rendered = await printAll(options, reading, press);
  await archiveFiles(
    out,
    dateOf(asOf),
    rendered.flatMap(({ files }) => files),
  );
  await pruneArchive(out, generatedAt, options.reportDays);
  const fresh = new Map(rendered.map(({ name, data }) => [name, data]));
  await writeIndex({ ...options, fresh }, reading.known, press);
  options.log.info(`${rendered.length} reports written to ${out}`);
  return rendered;
}

async function printAll(options: RenderOptions, reading: Reading, press: Press): Promise<readonly RenderedReport[]> {
  const rendered: RenderedReport[] = [];
  for await (const one of reading.reports()) {
    try {
      rendered.push(await printOne(options, one, reading, press));
    } catch (error) {
      if (!options.onFailure || !(error instanceof TidemarkError)) throw error;
      options.onFailure(one.report.name, error);
    }
  }
  return rendered;
}

async function printOne(
  options: RenderOptions,
  one: ReadOne,
  { params, absent }: Reading,
  press: Press,
): Promise<RenderedReport> {
  const { report } = one;
  const data = dataOf(one);
  const contents = printReport(report, data, { params, absent, freshAt: options.freshAt ?? options.asOf }, press);
  await writeFiles(options.out, report.name, contents);
  return { name: report.name, title: report.title, files: [...contents.keys()], data };
}

function dataOf({ data }: ReadOne): ReportData {
  if (data instanceof TidemarkError) throw data;
  return data;
}

/** The data objects alone, as `NAME.json` holds them; nothing is written. */
export async function reportData(options: ReadOptions): Promise<readonly ReportData[]> {
  const all: ReportData[] = [];
  for await (const one of (await openReading(options)).reports()) all.push(dataOf(one));
  return all;
}
