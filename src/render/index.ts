import type { Log } from '../core/log.ts';
import { archiveFiles, dateOf, pruneArchive } from './archive.ts';
import type { ReportData } from './data.ts';
import { writeIndex } from './index-page.ts';
import { openPress, type Press, printReport } from './press.ts';
import { openReading, type Reading, type ReadOptions } from './read.ts';
import { writeFiles } from './write.ts';

export { type DrawChart, loadCharts } from './charts.ts';
export { safeCsv } from './csv.ts';
export type { ReportData, SourceState } from './data.ts';
export { loadReports } from './definitions.ts';
export type { ReadOptions } from './read.ts';
export { renderTemplate, templateEngine } from './templates.ts';

export interface RenderOptions extends ReadOptions {
  /** Folder that the files go to. */
  readonly out: string;
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
  for await (const { report, data } of reading.reports()) {
    const contents = printReport(report, data, reading.params, options.freshAt ?? options.asOf, press);
    await writeFiles(options.out, report.name, contents);
    rendered.push({ name: report.name, title: report.title, files: [...contents.keys()], data });
  }
  return rendered;
}

/** The data objects alone, as `NAME.json` holds them; nothing is written. */
export async function reportData(options: ReadOptions): Promise<readonly ReportData[]> {
  const all: ReportData[] = [];
  for await (const { data } of (await openReading(options)).reports()) all.push(data);
  return all;
}
