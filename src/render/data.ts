import { stringify } from 'lossless-json';
import { isoSeconds } from '../core/clock.ts';
import type { Thresholds } from '../core/config.ts';
import { TidemarkError } from '../core/errors.ts';
import { type Database, firstLine, type Params } from '../warehouse/database.ts';
import type { SqlFiles } from '../warehouse/sql-files.ts';
import type { Row } from '../warehouse/values.ts';
import type { Dataset, Report } from './definitions.ts';

/** State of one source of one target, as `NAME.json` shows it. */
export interface SourceState {
  /** Null where no target was ever pulled for this source. */
  readonly target: string | null;
  readonly source: string;
  /** Of the last pull: `complete`, `failed`, `quarantined`; `never` where there was none. */
  readonly status: string;
  /** When the last complete pull was; null when there was none. */
  readonly as_of: string | null;
  readonly tried_at: string | null;
  readonly error: string | null;
  /** Whether the last pull was not complete, or the last complete one is older than `staleHours`. */
  readonly stale: boolean;
}

/** The object of `NAME.json`: beside the named fields, one array of rows for each dataset. */
export interface ReportData {
  readonly report: string;
  readonly as_of: string;
  readonly generated_at: string;
  readonly sources: readonly SourceState[];
  readonly summary: Row;
  readonly [dataset: string]: unknown;
}

/** What templates and `NAME.json` hold beside the datasets. */
export const RESERVED_NAMES: ReadonlySet<string> = new Set([
  'report',
  'title',
  'about',
  'as_of',
  'generated_at',
  'sources',
  'tables',
  'page',
]);

export interface DataOptions {
  readonly database: Database;
  readonly files: SqlFiles;
  readonly asOf: Date;
  /** The moment that the age of the sources is judged at. */
  readonly freshAt: Date;
  readonly generatedAt: Date;
  readonly thresholds: Thresholds;
}

/** `$as_of`, and each threshold in snake_case: what every dataset may use. */
export function parametersOf({ asOf, thresholds }: Pick<DataOptions, 'asOf' | 'thresholds'>): Params {
  const snake = (name: string) => name.replaceAll(/[A-Z]/gu, (letter) => `_${letter.toLowerCase()}`);
  const named = Object.entries(thresholds).map(([name, value]) => [snake(name), value] as const);
  return { as_of: asOf.toISOString(), ...Object.fromEntries(named) };
}

/** The summary of each report that does not itself rest on the others': rows, and as the JSON object `$summaries`. */
export interface Summaries {
  readonly rows: ReadonlyMap<string, Row>;
  readonly json: string;
}

/** A report whose summary cannot be read is left out: it is told where that report is written, and must not cost the others. */
export async function summariesOf(reports: Iterable<Report>, options: DataOptions): Promise<Summaries> {
  const rows = new Map<string, Row>();
  for (const { name, summary } of reports) {
    if (usesSummaries(summary)) continue;
    const row = await orProblem(summaryRow(summary, options, parametersOf(options)));
    if (!(row instanceof TidemarkError)) rows.set(name, row);
  }
  return { rows, json: stringify(Object.fromEntries(rows)) ?? '{}' };
}

function usesSummaries({ sql }: Dataset): boolean {
  return sql.includes('$summaries');
}

/** Runs every query of a report; its summary may be known already. @throws TidemarkError DATA naming the file whose query fails. */
export async function readReport(
  report: Report,
  options: DataOptions,
  params: Params,
  known?: Row,
): Promise<ReportData> {
  const sources = await readSources(report.sources, options);
  const summary = known ?? (await summaryRow(report.summary, options, params));
  const datasets: [string, Row[]][] = [];
  for (const dataset of report.datasets) datasets.push([dataset.name, await rowsOf(dataset, options, params)]);
  return {
    report: report.name,
    as_of: isoSeconds(options.asOf),
    generated_at: isoSeconds(options.generatedAt),
    sources,
    summary,
    ...Object.fromEntries(datasets),
  };
}

async function readSources(sources: readonly string[], options: DataOptions): Promise<readonly SourceState[]> {
  const sql = await options.files.text('reports/freshness');
  const rows = await options.database.rows(sql, {
    sources: JSON.stringify(sources),
    as_of: options.asOf.toISOString(),
    fresh_at: options.freshAt.toISOString(),
    stale_hours: options.thresholds.staleHours,
  });
  return rows as unknown as SourceState[];
}

/** What is promised, or why a person's file does not give it; anything else is thrown on. */
export async function orProblem<T>(promised: Promise<T>): Promise<T | TidemarkError> {
  try {
    return await promised;
  } catch (error) {
    if (error instanceof TidemarkError) return error;
    throw error;
  }
}

async function summaryRow(dataset: Dataset, options: DataOptions, params: Params): Promise<Row> {
  const [row, ...more] = await rowsOf(dataset, options, params);
  if (!row || more.length > 0) throw new TidemarkError('DATA', `queries/${dataset.file}.sql must give exactly one row`);
  return row;
}

async function rowsOf(dataset: Dataset, { database }: DataOptions, params: Params): Promise<Row[]> {
  try {
    return await database.rows(dataset.sql, params);
  } catch (error) {
    throw new TidemarkError('DATA', `queries/${dataset.file}.sql: ${firstLine(error)}`, { cause: error });
  }
}
