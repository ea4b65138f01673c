import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Target } from '../../config/config.ts';
import { formatTimestamp, HOUR_MS } from '../../core/clock.ts';
import { TidemarkError } from '../../core/errors.ts';
import { removePaths, writeFileAtomic } from '../../core/fs.ts';
import type { Log } from '../../core/log.ts';
import { plural } from '../../core/plural.ts';
import {
  archiveFiles,
  linkLatestSubjects,
  listArchivedDates,
  listOldReports,
  toUtcDate,
  writeReportFiles,
} from './archive.ts';
import {
  openReportReader,
  type ReportData,
  type ReportReader,
  type ReportReadOptions,
  type ReportResult,
  readGuide,
} from './data.ts';
import type { Report } from './definitions.ts';
import { formatTime, truncate } from './format.ts';
import { createProductLinker, type ProductLinker } from './links.ts';
import { createRenderer, type PageLink, type PageOptions, type Renderer, renderReport } from './renderer.ts';
import { findRunLink, listRuns, writeRunPage } from './run-page.ts';
import { writeSubjectPages } from './subject-pages.ts';
import { createSubjectLinker, type SubjectSelection, selectSubjects } from './subjects.ts';
import { readTemplate } from './templates.ts';

export type { PlaybookSummary } from '../findings/guide.ts';

export { type ReportData, type ReportReadOptions, type SourceState, toJsonText } from './data.ts';

export { listReportNames, loadReports } from './definitions.ts';

export interface RenderOptions extends ReportReadOptions {
  /** Folder for the files. */
  readonly out: string;
  /** Whether the files are also copied to `out/archive/DATE/`. A report of an earlier time is not. @default true */
  readonly archive?: boolean;
  /** Days for which `out/archive/DATE/` is kept. */
  readonly reportDays: number;
  readonly log: Log;
  /** Targets, for links to the products. @default no links */
  readonly targets?: readonly Target[];
  /** Number of subjects with a page of their own. @default 1000 */
  readonly subjectPages?: number;
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
  const [reader, subjects] = await openTogether(options);
  const renderer = await createRenderer(options.roots, listLinked(reader));
  // Pages of subjects are made of rows of another connection: one processor reads while the other renders.
  const writing = [writeReports(options, reader, renderer, subjects), subjects?.write(renderer)] as const;
  await Promise.allSettled(writing);
  const [rendered] = [await writing[0], await writing[1]];
  if (options.archive ?? true) {
    await reportFailure(options, writeRunPage(options, renderer), 'run');
    await archiveFiles(
      out,
      toUtcDate(asOf),
      rendered.flatMap(({ files }) => files),
    );
    await removePaths(await listOldReports(out, generatedAt, options.reportDays));
  }
  const data = new Map(rendered.map((report) => [report.name, report.data]));
  await writeIndex({ ...options, rendered: data }, reader.reports, renderer);
  options.log.info(`${plural(rendered.length, 'report')} written to ${out}`);
  return rendered;
}

/** The reports that pages link to: those that are written with them. */
function listLinked({ reports, unlinked }: ReportReader): readonly PageLink[] {
  return [...reports.values()].filter(({ name }) => !unlinked.has(name)).map(({ name, title }) => ({ name, title }));
}

/** Until when a page is current: then its sources are stale. */
export function currentUntil({ asOf, thresholds }: Pick<RenderOptions, 'asOf' | 'thresholds'>): Date {
  return new Date(asOf.getTime() + thresholds.staleHours * HOUR_MS);
}

/** Both read the warehouse, each on connections of its own. When one fails, the other ends first: the caller may close the warehouse. */
async function openTogether(options: RenderOptions) {
  const opening = [openReportReader(options), openSubjects(options)] as const;
  await Promise.allSettled(opening);
  return [await opening[0], await opening[1]] as const;
}

const DEFAULT_SUBJECT_PAGES = 1000;

/** The subjects with pages, or undefined if they cannot be read; then the reports do not link to them. */
async function openSubjects(options: RenderOptions) {
  const { targets = [], subjectPages = DEFAULT_SUBJECT_PAGES } = options;
  const linker = createProductLinker(targets);
  const selection = await reportFailure(options, selectSubjects(options, { limit: subjectPages }));
  return (
    selection && {
      linkProduct: linker,
      linkSubject: createSubjectLinker(selection, linker),
      write: (renderer: Renderer) => reportFailure(options, writeWithGuide(options, linker, selection, renderer)),
    }
  );
}

async function writeWithGuide(
  options: RenderOptions,
  linker: ProductLinker,
  selection: SubjectSelection,
  renderer: Renderer,
): Promise<void> {
  const guide = await readGuide(options);
  await writeSubjectPages({ ...options, linker, guide, currentUntil: currentUntil(options) }, selection, renderer);
}

/** A failure is reported as that of a report with this name. */
async function reportFailure<T>(
  { onFailure }: RenderOptions,
  work: Promise<T>,
  name = 'subjects',
): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (!onFailure || !(error instanceof TidemarkError)) throw error;
    onFailure(name, error);
    return undefined;
  }
}

type PageLinks = Required<Pick<PageOptions, 'linkSubject' | 'linkProduct'>>;

async function writeReports(
  options: RenderOptions,
  reader: ReportReader,
  renderer: Renderer,
  links: PageLinks | undefined,
): Promise<readonly RenderedReport[]> {
  const rendered: RenderedReport[] = [];
  const run = (options.archive ?? true) ? await findRunLink(options) : undefined;
  for await (const result of reader.results()) {
    try {
      rendered.push(await writeReport({ ...options, ...links, run }, result, reader, renderer));
    } catch (error) {
      if (!options.onFailure || !(error instanceof TidemarkError)) throw error;
      options.onFailure(result.report.name, error);
    }
  }
  return rendered;
}

async function writeReport(
  options: RenderOptions & Partial<PageLinks> & Pick<PageOptions, 'run'>,
  { report, data }: ReportResult,
  { params, unlinked }: ReportReader,
  renderer: Renderer,
): Promise<RenderedReport> {
  if (data instanceof TidemarkError) throw data;
  const { name, title } = report;
  const page = {
    params,
    unlinked,
    stalenessAt: options.stalenessAt ?? options.asOf,
    leftOut: options.leftOut,
    linkSubject: options.linkSubject,
    linkProduct: options.linkProduct,
    currentUntil: currentUntil(options),
    run: options.run,
  };
  const files = renderReport(report, data, page, renderer);
  await writeReportFiles(options.out, name, files);
  return { name, title, files: [...files.keys()], data };
}

export interface IndexOptions extends RenderOptions {
  /** Data of the reports that this run rendered, by name. Data of other reports is read from their JSON files. */
  readonly rendered: ReadonlyMap<string, ReportData>;
}

/** Writes `out/index.html` and the index of the day in the archive: the reports with their headlines, and the runs. */
async function writeIndex(
  options: IndexOptions,
  reports: ReadonlyMap<string, Report>,
  renderer: Renderer,
): Promise<void> {
  const { out, asOf } = options;
  const source = await readTemplate(options.files.roots, 'index.hbs');
  const dates = await listArchivedDates(out);
  const [runs, targets] = [await listRuns(options, dates), await readTargets(options)];
  const isPast = options.archive === false;
  const writePage = async (folder: string, archived: boolean) => {
    const context = {
      title: archived ? `Reports of ${toUtcDate(asOf)}` : isPast ? 'Reports of an earlier time' : 'Reports',
      as_of: formatTimestamp(asOf),
      root: '',
      generated_at: formatTimestamp(options.generatedAt),
      reports: await listEntries(folder, reports, options.rendered),
      archived,
      dates: archived ? [] : dates,
      runs: archived ? [] : runs,
      targets,
      page: {
        ...renderer.assets,
        current: 'index',
        run: null,
        current_until: formatTimestamp(currentUntil(options)),
        stale: [],
        never: [],
        sources: [],
        unlinked: new Set<string>(),
      },
    };
    const html = renderer.html.render('reports/index.hbs', source, context);
    await writeFileAtomic(
      join(folder, 'index.html'),
      archived ? linkLatestSubjects(html).replace('href="index.html"', 'href="../../index.html"') : html,
    );
  };
  await writePage(out, false);
  if (!isPast && dates.includes(toUtcDate(asOf))) await writePage(join(out, 'archive', toUtcDate(asOf)), true);
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
      const { as_of, summary, sources, state } =
        rendered.get(name) ?? (await readSummary(join(folder, `${name}.json`)));
      return {
        name,
        title,
        about,
        as_of: formatTime(as_of),
        headline: typeof summary.headline === 'string' ? truncate(summary.headline) : about,
        state,
        stale: sources.filter(({ stale }) => stale).map(({ target, source }) => `${target}: ${source}`),
      };
    }),
  );
}

/** What the index shows of a report's data. */
type ReportSummary = Pick<ReportData, 'as_of' | 'summary' | 'sources' | 'state'>;

async function readSummary(path: string): Promise<ReportSummary> {
  return JSON.parse(await readFile(path, 'utf8')) as ReportSummary;
}

/** The freshness of each target, as the index shows it. */
async function readTargets({ database, files, asOf, stalenessAt = asOf, thresholds }: IndexOptions) {
  const rows = await database.rows(await files.read('reports/targets'), {
    as_of: asOf.toISOString(),
    staleness_at: stalenessAt.toISOString(),
    stale_hours: thresholds.staleHours,
  });
  return rows.map((row) => ({
    ...row,
    error: truncate(String(row.error ?? '')),
    stale: row.fresh !== row.sources,
    stale_sources: Array.isArray(row.stale_sources) ? row.stale_sources.join(', ') : '',
  }));
}
