import { existsSync } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { listArchivedDates, toUtcDate } from '../../tell/reports/archive.ts';
import { loadReports } from '../../tell/reports/definitions.ts';
import { EMPTY_CELL, formatTime, truncate } from '../../tell/reports/format.ts';
import { createProductLinker } from '../../tell/reports/links.ts';
import { subjectPath } from '../../tell/reports/subjects.ts';
import type { Row } from '../../warehouse/values.ts';
import { renderPage } from './page.ts';
import type { TextRow } from './results.ts';
import type { Exchange } from './route.ts';

export async function sendReports(exchange: Exchange): Promise<void> {
  const { config, moment } = exchange;
  const dates = await listArchivedDates(config.output);
  const asOf = moment && toUtcDate(moment.run.as_of);
  const date = asOf === undefined ? undefined : dates.find((one) => one <= asOf);
  const isKnown = asOf === undefined || date !== undefined;
  await renderPage(exchange, 'reports', {
    title: 'Reports',
    about: date === undefined ? 'As the last runs wrote them.' : `As the last run of ${date} wrote them.`,
    reports: isKnown ? await listReports(exchange, date === undefined ? '' : `archive/${date}/`) : [],
    missing: asOf === undefined ? 'No report is written yet.' : `There is no report of ${asOf} or before.`,
    subjects: asOf === undefined && existsSync(join(config.output, 'subjects.html')),
    dates,
  });
}

/** The address of the page of the subject that a row names, if the last run wrote one. It shows the whole history, whatever `as_of` is. */
export function findSubjectPage({ config }: Exchange, row: TextRow): string | undefined {
  const { target, subject_type: type, subject_id: id } = row;
  if (!target || !type || !id) return undefined;
  const path = subjectPath({ target, type, id });
  return existsSync(join(config.output, path)) ? `/reports/${path}` : undefined;
}

/** The page that the product has for the subject that a row names, with the detail of a finding. */
export function findProductPage({ config }: Exchange, row: TextRow) {
  const { target, subject_type: type, subject_id: id, subject_name: name = null, detail } = row;
  const fields = detail ? (JSON.parse(detail) as Row) : row;
  const subject = { target: target ?? '', type: type ?? '', id: id ?? '', name, fields };
  const url = createProductLinker(config.targets)(subject);
  return url === undefined ? null : { url, host: new URL(url).host };
}

/** @param path of their folder below that of the reports */
async function listReports({ config, files }: Exchange, path: string) {
  const folder = join(config.output, path);
  const present = new Set(await readdir(folder).catch(() => []));
  const reports = [...(await loadReports(files)).values()];
  const shown = reports.filter(({ name }) => present.has(`${name}.html`) && present.has(`${name}.json`));
  return Promise.all(
    shown.map(async ({ name, title, about }) => {
      const { state, headline, asOf, stale } = await readSummary(join(folder, `${name}.json`));
      return { title, state, asOf, stale, headline: headline || about, href: `/reports/${path}${name}` };
    }),
  );
}

/** What the list shows of a report. */
type Summary = ReturnType<typeof parseSummary>;

/** A report's JSON file may be large: it is parsed once for each version. Only a few files are listed. */
const known = new Map<string, { readonly mtimeMs: number; readonly summary: Summary }>();
const MAX_KNOWN = 500;

async function readSummary(path: string): Promise<Summary> {
  const { mtimeMs } = await stat(path);
  const cached = known.get(path);
  if (cached?.mtimeMs === mtimeMs) return cached.summary;
  const summary = parseSummary(await readFile(path, 'utf8'));
  if (known.size >= MAX_KNOWN) known.clear();
  known.set(path, { mtimeMs, summary });
  return summary;
}

interface ReportFile {
  readonly as_of?: unknown;
  readonly state?: unknown;
  readonly summary?: { readonly headline?: unknown };
  readonly sources?: readonly { readonly target: unknown; readonly source: unknown; readonly stale: unknown }[];
}

/** Of a file that is no report, nothing is known; the others are listed. */
function parseSummary(json: string) {
  const text = (value: unknown) => (typeof value === 'string' ? truncate(value) : '');
  try {
    const { as_of, state, summary, sources = [] } = JSON.parse(json) as ReportFile;
    const stale = sources.filter((source) => source.stale === true);
    return {
      state: text(state),
      headline: text(summary?.headline),
      asOf: formatTime(text(as_of)),
      stale: stale.map(({ target, source }) => truncate(`${target}: ${source}`)),
    };
  } catch {
    return { state: 'unknown', headline: 'Its JSON file is damaged.', asOf: EMPTY_CELL, stale: [] };
  }
}
