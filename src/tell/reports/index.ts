import { createReadStream, existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Config } from '../../config/config.ts';
import { allInOrder } from '../../core/all-in-order.ts';
import { formatTimestamp, HOUR_MS } from '../../core/clock.ts';
import { TidemarkError } from '../../core/errors.ts';
import { removePaths, writeFileAtomic } from '../../core/fs.ts';
import { tryParseJson } from '../../core/json.ts';
import type { Log } from '../../core/log.ts';
import { plural } from '../../core/plural.ts';
import { archiveFiles, linkLatestSubjects, listArchivedDates, listOldReports, toUtcDate } from './archive.ts';
import { openReportReader, type ReportHead, type ReportReader, type ReportReadOptions, readReport } from './data.ts';
import { truncate } from './format.ts';
import { createProductLinker } from './links.ts';
import { createRenderer, type PageOptions, type Renderer } from './renderer.ts';
import { findRun, listRuns, writeRunPage } from './run-page.ts';
import { writeSubjectPages } from './subject-pages.ts';
import { createSubjectLinker, selectSubjects } from './subjects.ts';
import { writeReport } from './write-report.ts';

export interface RenderOptions extends ReportReadOptions, Pick<Config, 'reportDays' | 'targets' | 'subjectPages'> {
  /** Folder for the files. */
  readonly out: string;
  /** Whether the files are also copied to `out/archive/DATE/`. A report of an earlier time is not. @default true */
  readonly archive?: boolean;
  readonly log: Log;
  /** Receives the error of a report whose query or template fails; the other reports are written. @default the error is thrown */
  readonly onFailure?: (report: string, error: TidemarkError) => void;
}

/**
 * Writes NAME.html, NAME.txt, NAME.json and CSV files of long tables for each report, then the archive and the index. Each file is
 * written atomically.
 * @returns the reports with the names of their files below `out`, and what the index shows of them
 * @throws TidemarkError USAGE for an unknown report; without `onFailure`, DATA naming the query or template that fails
 */
export async function renderReports(options: RenderOptions) {
  const { out, asOf, stalenessAt = asOf, archive = true, targets, subjectPages, leftOut } = options;
  // Subjects are read on a connection of their own: one processor reads while the other renders. Without them, there are no links.
  const [reader, selection] = await allInOrder([
    openReportReader(options),
    reportFailure(options, 'subjects', selectSubjects(options, { limit: subjectPages })),
  ]);
  for (const failure of selection?.failures ?? []) await reportFailure(options, 'subjects', Promise.reject(failure));
  const unlinked = new Set(
    [...reader.unlinked].filter((name) => !reader.reports.has(name) || !isWritten(options, name)),
  );
  const linked = [...reader.reports.values()].filter(({ name }) => !unlinked.has(name));
  const renderer = createRenderer(options.files.roots, linked, currentUntil(options));
  const linkProduct = createProductLinker(targets);
  const links = selection && { linkProduct, linkSubject: createSubjectLinker(selection, linkProduct) };
  const subjects = { ...options, linker: linkProduct, guide: reader.guide };
  const run = archive ? await findRun(options) : undefined;
  const [rendered] = await allInOrder([
    writeReports(options, reader, renderer, { ...links, run, unlinked, stalenessAt, leftOut, params: reader.params }),
    selection && reportFailure(options, 'subjects', writeSubjectPages(subjects, selection, renderer)),
  ]);
  if (archive) {
    if (run) await reportFailure(options, 'run', writeRunPage(options, run, renderer));
    const files = rendered.flatMap((report) => report.files);
    await archiveFiles(out, toUtcDate(asOf), files);
    const now = Math.min(asOf.getTime(), options.generatedAt.getTime()); // the clock may have gone ahead since the run began
    await removePaths(await listOldReports(out, new Date(now), options.reportDays));
  }
  await writeIndex(options, new Map(rendered.map(({ name, head }) => [name, head])), reader.reports, renderer);
  options.log.info(`${plural(rendered.length, 'report')} written to ${out}`);
  return rendered;
}

/** Whether an earlier call wrote a report that pages can link to: beside them, and in the archive of the day. */
function isWritten({ out, asOf, archive = true }: RenderOptions, name: string): boolean {
  const folders = archive ? [out, join(out, 'archive', toUtcDate(asOf))] : [out];
  return folders.every((folder) => existsSync(join(folder, `${name}.html`)));
}

/** Until when a page is current: then its sources are stale. */
export function currentUntil({ asOf, thresholds }: Pick<RenderOptions, 'asOf' | 'thresholds'>): Date {
  return new Date(asOf.getTime() + thresholds.staleHours * HOUR_MS);
}

/** The result, or undefined where a query or template fails: that is reported as a failure of a report with this name. */
function reportFailure<T>({ onFailure }: RenderOptions, name: string, work: Promise<T>) {
  return work.catch((error: unknown) => {
    if (!onFailure || !(error instanceof TidemarkError)) throw error;
    onFailure(name, error);
  });
}

async function writeReports(options: RenderOptions, reader: ReportReader, renderer: Renderer, page: PageOptions) {
  const rendered = [];
  for (const report of reader.selected) {
    const writing = writeReport(options.out, report, () => readReport(report, reader), page, renderer);
    const written = await reportFailure(options, report.name, writing);
    if (written) rendered.push(written);
  }
  return rendered;
}

type Reports = ReportReader['reports'];
type Rendered = ReadonlyMap<string, ReportHead>;

/**
 * Writes `out/index.html` and the index of the day in the archive: the reports with their headlines, and the runs.
 * @param rendered what it shows of the reports that this run rendered, by name; that of others is read from their JSON files
 */
async function writeIndex(options: RenderOptions, rendered: Rendered, reports: Reports, renderer: Renderer) {
  const { out, asOf } = options;
  const date = toUtcDate(asOf);
  const dates = await listArchivedDates(out);
  const [runs, targets] = [await listRuns(options, dates), await readTargets(options)];
  const isPast = options.archive === false;
  const render = async (folder: string, archived: boolean) =>
    renderer.page('index.hbs', 'index', {
      title: archived ? `Reports of ${date}` : isPast ? 'Reports of an earlier time' : 'Reports',
      as_of: formatTimestamp(asOf),
      root: '',
      generated_at: formatTimestamp(options.generatedAt),
      reports: await listEntries(folder, reports, rendered),
      dates: archived ? [] : dates,
      runs: archived ? [] : runs,
      targets,
    });
  await writeFileAtomic(join(out, 'index.html'), await render(out, false));
  if (isPast || !dates.includes(date)) return;
  const folder = join(out, 'archive', date);
  const page = linkLatestSubjects(await render(folder, true)).replace('href="index.html"', 'href="../../index.html"');
  await writeFileAtomic(join(folder, 'index.html'), page);
}

/** The reports in the folder, each with the headline of its summary, or its description where there is none. */
async function listEntries(folder: string, reports: Reports, rendered: Rendered) {
  const present = existsSync(folder) ? new Set(await readdir(folder)) : new Set<string>();
  const shown = [...reports.values()].filter(({ name }) => present.has(`${name}.html`) && present.has(`${name}.json`));
  return Promise.all(
    shown.map(async ({ name, title, about }) => {
      const { as_of, summary, sources, state } = rendered.get(name) ?? (await readWritten(folder, name));
      return {
        ...{ name, title, about, as_of, state },
        headline: typeof summary.headline === 'string' ? truncate(summary.headline) : about,
        stale: sources.filter(({ stale }) => stale).map(({ target, source }) => `${target}: ${source}`),
      };
    }),
  );
}

const written = z.object({
  as_of: z.string(),
  summary: z.object({ headline: z.unknown() }),
  sources: z.array(z.object({ target: z.string().nullable(), source: z.string(), stale: z.boolean() })),
  /** An earlier version did not write it. */
  state: z.string().nullable().default(null),
});

/** What the index shows of a report that another run wrote. */
async function readWritten(folder: string, name: string) {
  const { data } = written.safeParse(tryParseJson(await readHead(join(folder, `${name}.json`))));
  const headline = `${name}.json is damaged: write it again with \`tidemark report ${name}\``;
  return data ?? { as_of: null, summary: { headline }, sources: [], state: 'unknown' };
}

/** The summary in the file of a report: fields of the file are indented by two spaces, and no text has a line break. */
const SUMMARY = /\n {2}"summary": \{(?:\}|[\s\S]*?\n {2}\})/u;

/** What comes before the rows of a report is shorter: its sources and its summary. */
const MAX_HEAD = 16 * 1024 * 1024;

/** The file of a report up to its summary: the rows that follow may be hundreds of megabytes. A file without one is damaged. */
async function readHead(path: string): Promise<string> {
  let text = '';
  for await (const chunk of createReadStream(path, 'utf8') as AsyncIterable<string>) {
    text += chunk;
    const summary = SUMMARY.exec(text);
    if (summary) return `${text.slice(0, summary.index + summary[0].length)}\n}`;
    if (text.length > MAX_HEAD) break;
  }
  return text;
}

/** The freshness of each target, as the index shows it. */
async function readTargets({ database, files, asOf, stalenessAt = asOf, thresholds, targets }: RenderOptions) {
  const rows = await database.rows(files.read('reports/targets'), {
    as_of: asOf.toISOString(),
    targets: JSON.stringify(targets.map(({ name }) => name)),
    staleness_at: stalenessAt.toISOString(),
    stale_hours: thresholds.staleHours,
  });
  return rows.map((row) => ({ ...row, error: truncate(String(row.error)) }));
}
