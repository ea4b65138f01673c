import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { TidemarkError } from '../../core/errors.ts';
import { listArchivedDates, toUtcDate } from '../../tell/reports/archive.ts';
import { loadReports, type Report } from '../../tell/reports/definitions.ts';
import { formatTime, truncate } from '../../tell/reports/format.ts';
import { subjectPath } from '../../tell/reports/subjects.ts';
import { renderPage } from './page.ts';
import type { Exchange, PageRoute } from './route.ts';
import type { TextRow } from './rows.ts';

async function sendReports(exchange: Exchange): Promise<void> {
  const { config, files } = exchange;
  const dates = await listArchivedDates(config.output);
  const asOf = exchange.moment && toUtcDate(exchange.moment.run.as_of);
  const date = asOf === undefined ? undefined : dates.find((one) => one <= asOf);
  const folder = date === undefined ? '' : `archive/${date}/`;
  const isKnown = asOf === undefined || date !== undefined;
  const reports = isKnown ? await listReports(join(config.output, folder), folder, await loadReports(files)) : [];
  await renderPage(exchange, 'reports', {
    title: 'Reports',
    about: date === undefined ? 'As the last runs wrote them.' : `As the last run of ${date} wrote them.`,
    reports,
    missing: asOf === undefined ? 'No report is written yet.' : `There is no report of ${asOf} or before.`,
    subjects: asOf === undefined && (await isFile(join(config.output, 'subjects.html'))),
    dates,
  });
}

async function isFile(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isFile() ?? false;
}

/** The address of the page of the subject that a row names, if the last run wrote one. It shows the whole history, whatever `as_of` is. */
export async function findSubjectPage({ config }: Exchange, row: TextRow): Promise<string | undefined> {
  const { target, subject_type: type, subject_id: id } = row;
  if (!target || !type || !id) return undefined;
  const path = subjectPath({ target, type, id });
  return (await isFile(join(config.output, path))) ? `/reports/${path}` : undefined;
}

async function listReports(folder: string, path: string, reports: ReadonlyMap<string, Report>) {
  const present = new Set(await readdir(folder).catch(() => []));
  const shown = [...reports.values()].filter(({ name }) => present.has(`${name}.html`) && present.has(`${name}.json`));
  return Promise.all(
    shown.map(async ({ name, title, about }) => {
      const summary = await readSummary(join(folder, `${name}.json`));
      return {
        title,
        headline: summary.headline === '' ? about : summary.headline,
        state: summary.state,
        asOf: formatTime(summary.asOf),
        stale: summary.stale,
        href: `/reports/${path}${name}`,
      };
    }),
  );
}

/** What the list shows of a report. */
interface Summary {
  readonly mtimeMs: number;
  readonly state: string;
  readonly headline: string;
  readonly asOf: string;
  readonly stale: readonly string[];
}

/** A report's JSON file may be large: it is parsed once for each version. Only a few files are listed. */
const known = new Map<string, Summary>();
const MAX_KNOWN = 500;

async function readSummary(path: string): Promise<Summary> {
  const { mtimeMs } = await stat(path);
  const cached = known.get(path);
  if (cached?.mtimeMs === mtimeMs) return cached;
  const summary = parseSummary(path, await readFile(path, 'utf8'), mtimeMs);
  if (known.size >= MAX_KNOWN) known.clear();
  known.set(path, summary);
  return summary;
}

interface ReportFile {
  readonly as_of?: unknown;
  readonly state?: unknown;
  readonly summary?: { readonly headline?: unknown };
  readonly sources?: readonly { readonly target: unknown; readonly source: unknown; readonly stale: unknown }[];
}

function parseSummary(path: string, json: string, mtimeMs: number): Summary {
  try {
    const { as_of, state, summary, sources = [] } = JSON.parse(json) as ReportFile;
    const text = (value: unknown) => (typeof value === 'string' ? truncate(value) : '');
    return {
      mtimeMs,
      state: text(state),
      headline: text(summary?.headline),
      asOf: text(as_of),
      stale: sources
        .filter(({ stale }) => stale === true)
        .map(({ target, source }) => truncate(`${target}: ${source}`)),
    };
  } catch (error) {
    throw new TidemarkError('DATA', `${path} is not the data of a report`, { cause: error });
  }
}

export const reportsRoute: PageRoute = { pattern: /^\/reports\/?$/u, answer: sendReports };
