import { stringify } from 'lossless-json';
import type { Pricing, Thresholds } from '../../config/config.ts';
import { unknownName } from '../../config/suggest.ts';
import { formatTimestamp } from '../../core/clock.ts';
import { TidemarkError } from '../../core/errors.ts';
import { isAbsent, type LeftOut } from '../../extract/sources/index.ts';
import { type Database, firstLine, type SqlParams } from '../../warehouse/database.ts';
import type { SqlFiles } from '../../warehouse/sql-files.ts';
import { thresholdParams } from '../../warehouse/sql-params.ts';
import type { Row } from '../../warehouse/values.ts';
import { loadGuide, type PlaybookSummary } from '../findings/guide.ts';
import { allInOrder, type Queries, shareConnections } from './connections.ts';
import { type Dataset, loadReports, type Report } from './definitions.ts';

/** State of one source of one target, as `NAME.json` shows it. */
export interface SourceState {
  /** Null where the source was never pulled from any target. */
  readonly target: string | null;
  readonly source: string;
  /** Of the last pull: `complete`, `failed`, `quarantined`; `never` where there was none; `old` of facts that are. */
  readonly status: string;
  /** Time of the last complete pull; null where there was none. */
  readonly as_of: string | null;
  readonly tried_at: string | null;
  readonly error: string | null;
  /** Whether the last pull is incomplete, or the last complete one is older than `staleHours`. */
  readonly stale: boolean;
}

/** The worst severity of the open findings; `unknown` where there is none, but something could not be assessed. */
export type ReportState = 'critical' | 'warning' | 'ok' | 'unknown';

/** The content of `NAME.json`: beside the named fields, one array of rows per dataset. */
export interface ReportData {
  readonly report: string;
  readonly as_of: string;
  readonly generated_at: string;
  readonly sources: readonly SourceState[];
  /** Null for a report without `-- rules:`. */
  readonly state: ReportState | null;
  readonly summary: Row;
  readonly [dataset: string]: unknown;
}

export interface ReportReadOptions {
  /** The published warehouse, open for reading, or the working copy. */
  readonly database: Database;
  readonly files: SqlFiles;
  /** Folders that contain `reports/`; the first one that has a file wins. */
  readonly roots: readonly string[];
  /** @default every report */
  readonly names?: readonly string[];
  /** The reports show the warehouse as of this time. */
  readonly asOf: Date;
  /** Time at which the age of sources is evaluated. @default asOf */
  readonly stalenessAt?: Date;
  readonly generatedAt: Date;
  readonly thresholds: Thresholds;
  /** The parameter `$pricing`. @default no prices */
  readonly pricing?: Pricing;
  /** Reports, tables and numbers of sources that no target has are left out. @default everything is shown */
  readonly leftOut?: LeftOut;
  /** The parameter `$playbooks`, and what `$guide` says of repairs; loaded only for a report that uses it. @default none */
  readonly playbooks?: () => Promise<readonly PlaybookSummary[]>;
}

type QueryOptions = Omit<ReportReadOptions, 'database'> & { readonly database: Queries };

export interface ReportReader {
  readonly reports: ReadonlyMap<string, Report>;
  /** Names of the reports that are not selected, so that no page links to theirs. */
  readonly unlinked: ReadonlySet<string>;
  readonly params: SqlParams;
  /** Reads the selected reports in order, each when it is its turn. */
  readonly results: () => AsyncGenerator<ReportResult>;
}

/** A report with its data, or with the error of a query that a user may have overridden. */
export interface ReportResult {
  readonly report: Report;
  readonly data: ReportData | TidemarkError;
}

/** @throws TidemarkError USAGE for an unknown report */
export async function openReportReader(options: ReportReadOptions): Promise<ReportReader> {
  const { database, files } = options;
  const all = await loadReports(files);
  const reports = new Map([...all].filter(([, report]) => !isAbsent(report.sources, options.leftOut)));
  const selected = selectReports(all, options.names).filter(({ name }) => reports.has(name));
  const used = findParams(selected);
  const previous = used.has('summaries_before') ? await readPreviousRun(options) : undefined;
  const times = [options.asOf, ...(previous ? [previous] : [])].map((time) => time.toISOString());
  const shared = { ...options, database: await shareConnections(database, files, times) };
  const { params, summaries } = await prepareParams(shared, reports, used, previous);
  const read = (report: Report) => catchUserError(readReport(report, shared, params, summaries?.rows.get(report.name)));
  const names = new Set(selected.map(({ name }) => name));
  const unlinked = new Set([...all.keys()].filter((name) => !names.has(name)));
  return { reports, unlinked, params, results: () => readReports(selected, read) };
}

function selectReports(reports: ReadonlyMap<string, Report>, names: readonly string[] | undefined): readonly Report[] {
  if (!names) return [...reports.values()];
  return [...new Set(names)].map((name) => {
    const report = reports.get(name);
    if (report) return report;
    throw unknownName('report', name, reports.keys());
  });
}

async function* readReports(
  reports: readonly Report[],
  read: (report: Report) => Promise<ReportResult['data']>,
): AsyncGenerator<ReportResult> {
  for (const report of reports) yield { report, data: await read(report) };
}

/** Runs the queries of a report. @throws TidemarkError DATA naming the file whose query fails */
async function readReport(
  report: Report,
  options: QueryOptions,
  params: SqlParams,
  knownSummary?: Row,
): Promise<ReportData> {
  const own = reportParams(report, params);
  const reading = {
    sources: readSourceStates(report.sources, options),
    summary: knownSummary ?? querySummary(report.summary, options, params),
    tables: allInOrder(report.datasets.map((dataset) => queryDataset(dataset, options, own))),
  };
  await Promise.allSettled(Object.values(reading));
  const [sources, summary, tables] = [await reading.sources, await reading.summary, await reading.tables];
  const rows = Object.fromEntries(report.datasets.map(({ name }, index) => [name, tables[index] ?? []]));
  return {
    report: report.name,
    as_of: formatTimestamp(options.asOf),
    generated_at: formatTimestamp(options.generatedAt),
    sources,
    state: report.rules && assessState(report, sources, summary, rows.finding_counts?.[0]),
    summary,
    ...rows,
  };
}

/** The parameters of a report's queries, of which `$rules` is its own. */
export function reportParams({ rules }: Report, params: SqlParams): SqlParams {
  return rules ? { ...params, rules: JSON.stringify(rules) } : params;
}

function assessState(
  { unknown }: Report,
  sources: readonly SourceState[],
  summary: Row,
  counts: Row | undefined,
): ReportState {
  const state = (counts?.state ?? 'unknown') as ReportState;
  if (state !== 'ok') return state;
  const isOutdated = sources.some(({ stale, status }) => stale || status === 'never');
  return isOutdated || unknown.some((column) => Number(summary[column]) > 0) ? 'unknown' : 'ok';
}

async function readSourceStates(sources: readonly string[], options: QueryOptions): Promise<readonly SourceState[]> {
  const { database, files, asOf, stalenessAt = asOf, thresholds, leftOut } = options;
  const file = 'reports/freshness';
  const rows = await queryFile(database, file, await files.read(file), {
    sources: JSON.stringify(sources.filter((source) => !leftOut?.sources.has(source))),
    as_of: asOf.toISOString(),
    staleness_at: stalenessAt.toISOString(),
    stale_hours: thresholds.staleHours,
    lifecycle_days: thresholds.lifecycleDays,
  });
  return rows as unknown as SourceState[];
}

async function querySummary(dataset: Dataset, options: QueryOptions, params: SqlParams): Promise<Row> {
  const [row, ...more] = await queryDataset(dataset, options, params);
  if (!row || more.length > 0)
    throw new TidemarkError('DATA', `queries/${dataset.file}.sql must return exactly one row`);
  return row;
}

function queryDataset({ file, sql }: Dataset, { database }: QueryOptions, params: SqlParams): Promise<Row[]> {
  return queryFile(database, file, sql, params);
}

/** @throws TidemarkError DATA naming the file, which a user may have overridden */
export async function queryFile(
  database: Pick<Queries, 'rows'>,
  file: string,
  sql: string,
  params: SqlParams = {},
): Promise<Row[]> {
  try {
    return await database.rows(sql, params);
  } catch (error) {
    throw new TidemarkError('DATA', `queries/${file}.sql: ${firstLine(error)}`, { cause: error });
  }
}

/** The value, or the error if a file that a user may have overridden caused it. Other errors are thrown. */
async function catchUserError<T>(promise: Promise<T>): Promise<T | TidemarkError> {
  try {
    return await promise;
  } catch (error) {
    if (error instanceof TidemarkError) return error;
    throw error;
  }
}

/** `$as_of` and the thresholds: the parameters that every dataset may use. */
function queryParams({
  asOf,
  thresholds,
  pricing,
}: Pick<ReportReadOptions, 'asOf' | 'thresholds' | 'pricing'>): SqlParams {
  return { as_of: asOf.toISOString(), pricing: JSON.stringify(pricing ?? null), ...thresholdParams(thresholds) };
}

/** Names of the parameters that the queries of reports use. */
function findParams(reports: readonly Report[]): ReadonlySet<string | undefined> {
  const queries = reports.flatMap(({ summary, datasets }) => [summary, ...datasets]);
  return new Set(queries.flatMap(({ sql }) => [...sql.matchAll(/\$(\w+)/gu)].map(([, name]) => name)));
}

/** Time of the last run before the present one; undefined where there was none. */
async function readPreviousRun({ database, files, asOf }: ReportReadOptions): Promise<Date | undefined> {
  const [row] = await database.rows(await files.read('reports/previous_run'), { as_of: asOf.toISOString() });
  return typeof row?.as_of === 'string' ? new Date(row.as_of) : undefined;
}

/** The parameters of the selected reports. Those that are expensive to compute are included only if a query uses them. */
async function prepareParams(
  options: QueryOptions,
  reports: ReadonlyMap<string, Report>,
  used: ReadonlySet<string | undefined>,
  previous: Date | undefined,
): Promise<{ readonly params: SqlParams; readonly summaries: Summaries | undefined }> {
  const load = (asOf: Date) => loadSummaries(reports.values(), { ...options, asOf });
  const [summaries, before] = await allInOrder([
    used.has('summaries') ? load(options.asOf) : Promise.resolve(undefined),
    used.has('summaries_before') && previous ? load(previous) : Promise.resolve(undefined),
  ]);
  const params = {
    ...queryParams(options),
    ...(summaries && { summaries: summaries.json }),
    ...(used.has('summaries_before') && { summaries_before: before?.json ?? '{}' }),
    ...(used.has('playbooks') && { playbooks: JSON.stringify((await options.playbooks?.()) ?? []) }),
    ...(used.has('guide') && { guide: JSON.stringify(await readGuide(options)) }),
  };
  return { params, summaries };
}

/** What each rule's findings say together, and how they are repaired. */
export async function readGuide({
  files,
  playbooks,
  thresholds,
}: Pick<ReportReadOptions, 'files' | 'playbooks' | 'thresholds'>) {
  return loadGuide(files, (await playbooks?.()) ?? [], thresholds);
}

/** The summaries of the reports that do not use `$summaries` themselves: as rows, and as the JSON object `$summaries`. */
interface Summaries {
  readonly rows: ReadonlyMap<string, Row>;
  readonly json: string;
}

/** Leaves out a report whose summary fails: the error is reported when that report is rendered, and does not affect others. */
async function loadSummaries(reports: Iterable<Report>, options: QueryOptions): Promise<Summaries> {
  const params = queryParams(options);
  const independent = [...reports].filter(({ summary }) => !summary.sql.includes('$summaries'));
  const found = await allInOrder(
    independent.map(({ summary }) => catchUserError(querySummary(summary, options, params))),
  );
  const rows = new Map<string, Row>();
  for (const [index, { name }] of independent.entries()) {
    const row = found[index];
    if (row && !(row instanceof TidemarkError)) rows.set(name, row);
  }
  return { rows, json: stringify(Object.fromEntries(rows)) ?? '{}' };
}

/** JSON as text; 64-bit integers keep their precision. */
export function toJsonText(data: object): string {
  try {
    return `${JSON.stringify(data, undefined, 2)}\n`; // several times faster, and throws for a bigint
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return `${stringify(data, undefined, 2)}\n`;
  }
}
