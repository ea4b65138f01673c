import { TidemarkError } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import { archiveFiles, pruneArchive, toUtcDate, writeReportFiles } from './archive.ts';
import {
  openReportReader,
  type ReportData,
  type ReportReader,
  type ReportReadOptions,
  type ReportResult,
} from './data.ts';
import { writeIndex } from './index-page.ts';
import { createRenderer, type Renderer, renderReport } from './renderer.ts';

export { type PlaybookSummary, type ReportData, type ReportReadOptions, type SourceState, toJsonText } from './data.ts';
export { listReportNames, loadReports } from './definitions.ts';

export interface RenderOptions extends ReportReadOptions {
  /** Folder for the files. */
  readonly out: string;
  /** Days for which `out/archive/DATE/` is kept. */
  readonly reportDays: number;
  readonly log: Log;
  /** Receives the error of a report whose query or template fails; the other reports are written. @default the error is thrown */
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
 * Writes NAME.html, NAME.txt, NAME.json and CSV files of long tables for each report, then the archive and the index. Each file is
 * written atomically.
 * @throws TidemarkError USAGE for an unknown report; without `onFailure`, DATA naming the query or template that fails
 */
export async function renderReports(options: RenderOptions): Promise<readonly RenderedReport[]> {
  const { out, asOf, generatedAt } = options;
  const [renderer, reader] = await Promise.all([createRenderer(options.roots), openReportReader(options)]);
  const rendered = await writeReports(options, reader, renderer);
  await archiveFiles(
    out,
    toUtcDate(asOf),
    rendered.flatMap(({ files }) => files),
  );
  await pruneArchive(out, generatedAt, options.reportDays);
  const data = new Map(rendered.map((report) => [report.name, report.data]));
  await writeIndex({ ...options, rendered: data }, reader.reports, renderer);
  options.log.info(`${rendered.length} reports written to ${out}`);
  return rendered;
}

async function writeReports(
  options: RenderOptions,
  reader: ReportReader,
  renderer: Renderer,
): Promise<readonly RenderedReport[]> {
  const rendered: RenderedReport[] = [];
  for await (const result of reader.results()) {
    try {
      rendered.push(await writeReport(options, result, reader, renderer));
    } catch (error) {
      if (!options.onFailure || !(error instanceof TidemarkError)) throw error;
      options.onFailure(result.report.name, error);
    }
  }
  return rendered;
}

async function writeReport(
  options: RenderOptions,
  result: ReportResult,
  { params, unlinked }: ReportReader,
  renderer: Renderer,
): Promise<RenderedReport> {
  const { name, title } = result.report;
  const data = getData(result);
  const page = { params, unlinked, stalenessAt: options.stalenessAt ?? options.asOf, leftOut: options.leftOut };
  const files = renderReport(result.report, data, page, renderer);
  await writeReportFiles(options.out, name, files);
  return { name, title, files: [...files.keys()], data };
}

function getData({ data }: ReportResult): ReportData {
  if (data instanceof TidemarkError) throw data;
  return data;
}

/** The content of `NAME.json` of each report, without writing files. */
export async function readReportData(options: ReportReadOptions): Promise<readonly ReportData[]> {
  const all: ReportData[] = [];
  for await (const result of (await openReportReader(options)).results()) all.push(getData(result));
  return all;
}
