import { stringify } from 'lossless-json';
import type { Config } from '../../config/config.ts';
import { findNamed } from '../../config/suggest.ts';
import { allInOrder } from '../../core/all-in-order.ts';
import { formatTimestamp } from '../../core/clock.ts';
import { isMemoryError, TidemarkError } from '../../core/errors.ts';
import { discoverFiles } from '../../core/paths.ts';
import { isAbsent, type LeftOut } from '../../extract/sources/index.ts';
import { describeQueryError, MAX_QUERY_MS, type SqlParams, type TakeRows } from '../../warehouse/database.ts';
import type { OpenWarehouse } from '../../warehouse/session.ts';
import { readHeader, refuseUnknown, type SqlFiles } from '../../warehouse/sql-files.ts';
import { thresholdParams } from '../../warehouse/sql-params.ts';
import { listFilled, loadTables } from '../../warehouse/tables.ts';
import type { Row, Value } from '../../warehouse/values.ts';
import { loadGuide, type PlaybookSummary } from '../findings/guide.ts';
import { type Queries, shareConnections } from './connections.ts';
import { DATASET_LINES, type Dataset, loadReports, type Report } from './definitions.ts';

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

/** What `NAME.json` has before the rows of the datasets. */
export interface ReportHead {
  readonly report: string;
  readonly as_of: string;
  readonly generated_at: string;
  readonly sources: readonly SourceState[];
  /** Null for a report without `-- rules:`. */
  readonly state: ReportState | null;
  readonly summary: Row;
}

/** With the published warehouse, open for reading, or the working copy. */
export interface ReportReadOptions extends OpenWarehouse, Pick<Config, 'thresholds' | 'pricing'> {
  /** @default every report */
  readonly names?: readonly string[];
  /** The reports show the warehouse as of this time. */
  readonly asOf: Date;
  /** Time at which the age of sources is evaluated. @default asOf */
  readonly stalenessAt?: Date;
  readonly generatedAt: Date;
  /** Reports, tables and numbers of sources that no target has are left out. @default everything is shown */
  readonly leftOut?: LeftOut;
  /** The parameter `$playbooks`, and what `$guide` says of repairs. @default none */
  readonly playbooks?: () => Promise<readonly PlaybookSummary[]>;
}

type RowReader = Pick<Queries, 'rows'>;

export type ReportReader = Awaited<ReturnType<typeof openReportReader>>;

/** What the reports of a rendering have in common, read once. @throws TidemarkError USAGE for an unknown report */
export async function openReportReader(options: ReportReadOptions) {
  const { database, files, asOf } = options;
  const all = loadReports(files);
  const reports = new Map([...all].filter(([, report]) => !isAbsent(report.sources, options.leftOut)));
  const every = [...all.values()];
  const named = options.names && new Set(options.names.map((name) => findNamed(every, 'report', name)));
  const selected = [...(named ?? every)].filter(({ name }) => reports.has(name));
  const used = findParams(selected);
  const playbooks = (await options.playbooks?.()) ?? [];
  const before = used.has('summaries_before') ? await readPreviousRun(options) : undefined;
  const queries = await shareConnections(database, files);
  const load = (time: Date) => loadSummaries(queries, reports, queryParams({ ...options, asOf: time }));
  const [now, then, sources] = await allInOrder([
    used.has('summaries') ? load(asOf) : undefined,
    before && load(before),
    readSourceStates(queries, used.has('summaries') ? [...reports.values()] : selected, options),
  ]);
  const known = now && new Map([...now].map(([name, row]) => [name, hideUnknown(reports.get(name), row, sources)]));
  const guide = await loadGuide(files, playbooks, options.thresholds);
  const params: SqlParams = {
    ...queryParams(options),
    ...(known && { summaries: toJson(known) }),
    ...(used.has('summaries_before') && { summaries_before: toJson(then ?? new Map()) }),
    playbooks: JSON.stringify(playbooks),
    guide: JSON.stringify(guide),
  };
  const names = new Set(selected.map(({ name }) => name));
  /** The reports that are not selected, so that no page links to theirs. */
  const unlinked: ReadonlySet<string> = new Set([...all.keys()].filter((name) => !names.has(name)));
  return { options, queries, reports, selected, unlinked, params, guide, sources, summaries: known };
}

export type ReadReport = ReturnType<typeof readReport>;

/**
 * Begins to read a report: its head, and the rows of a dataset, which are given to `take` when they are asked for.
 * @throws TidemarkError DATA naming the file whose header or query fails
 */
export function readReport(report: Report, reader: ReportReader) {
  const { options, queries, sources: states, summaries } = reader;
  const params = reportParams(report, reader.params);
  const lead = report.rules ? report.datasets.find(({ name }) => name === 'finding_counts') : undefined;
  const counts = lead && queryDataset(queries, lead, params);
  const readHead = async (): Promise<ReportHead> => {
    const known = summaries?.get(report.name) ?? querySummary(queries, report, params);
    const [row, rows] = await allInOrder([known, counts]);
    refuseUnknownNames(report, row, options.files);
    const summary = hideUnknown(report, row, states);
    const sources = states.filter(({ source }) => report.sources.includes(source));
    return {
      report: report.name,
      as_of: formatTimestamp(options.asOf),
      generated_at: formatTimestamp(options.generatedAt),
      sources,
      state: report.rules && assessState(report, sources, summary, rows?.[0]),
      summary,
    };
  };
  const read = async (dataset: Dataset, take: TakeRows): Promise<void> => {
    if (dataset.name === lead?.name) return take((await counts) ?? []);
    readHeader(dataset.file, dataset.sql, DATASET_LINES);
    return queries.each(dataset.sql, params, MAX_QUERY_MS, take).catch(nameFile(dataset.file));
  };
  return { head: readHead(), read };
}

/** @throws TidemarkError DATA for a header that names a source, a rule or a column of the summary that is not there */
export function refuseUnknownNames({ summary, datasets, rules, unknown }: Report, row: Row, files: SqlFiles) {
  const sources = [...listFilled(loadTables(files).values()), 'lifecycle'];
  const columns = Object.keys(row);
  const known = discoverFiles(files.roots, 'queries/findings', '.sql').keys();
  refuseUnknown(summary.file, 'rules', rules ?? [], ['all', ...known], 'is no rule');
  refuseUnknown(summary.file, 'unknown', unknown, columns, 'is no column of the summary');
  for (const { file, name, counted, ...dataset } of [summary, ...datasets]) {
    refuseUnknown(file, 'sources', dataset.sources, sources, 'fills no table');
    if (counted !== name) refuseUnknown(file, 'counted', [counted], columns, 'is no column of the summary');
  }
}

/** The parameters of a report's queries, of which `$rules` is its own. */
export function reportParams({ rules }: Pick<Report, 'rules'>, params: SqlParams): SqlParams {
  return rules ? { ...params, rules: JSON.stringify(rules) } : params;
}

function assessState({ unknown }: Report, sources: readonly SourceState[], summary: Row, counts: Row | undefined) {
  const state = (counts?.state ?? 'unknown') as ReportState;
  if (state !== 'ok') return state;
  const isOutdated = sources.some(({ stale, status }) => stale || status === 'never');
  return isOutdated || unknown.some((column) => Number(summary[column]) > 0) ? 'unknown' : 'ok';
}

/** What is known of versions is no part of the estate. */
const FACTS: ReadonlySet<string> = new Set(['lifecycle', 'registry_releases']);

/** Where none of its sources was ever pulled completely, a summary counts nothing: its numbers are not known. */
function hideUnknown(report: Report | undefined, summary: Row, states: readonly SourceState[]): Row {
  const own = states.filter(({ source }) => report?.summary.sources.includes(source) && !FACTS.has(source));
  if (own.length === 0 || own.some(({ as_of }) => as_of !== null)) return summary;
  const hide = (value: Value): Value => (typeof value === 'number' || typeof value === 'bigint' ? null : value);
  const hidden = Object.fromEntries(Object.entries(summary).map(([name, value]) => [name, hide(value)]));
  return { ...hidden, headline: 'Nothing is known: no source of this report was ever pulled completely' };
}

/** The states of the sources of these reports, the stale ones first. */
async function readSourceStates(
  queries: Queries,
  reports: readonly Report[],
  { files, asOf, stalenessAt = asOf, thresholds, leftOut }: ReportReadOptions,
): Promise<readonly SourceState[]> {
  const sources = new Set(reports.flatMap((report) => report.sources));
  const file = 'reports/freshness';
  const rows = await queryFile(queries, file, files.read(file), {
    sources: JSON.stringify([...sources].filter((source) => !leftOut?.has(source))),
    as_of: asOf.toISOString(),
    staleness_at: stalenessAt.toISOString(),
    stale_hours: thresholds.staleHours,
    lifecycle_days: thresholds.lifecycleDays,
  });
  return rows as unknown as SourceState[];
}

/** The numbers of a report. The frame of the page needs a headline, also where its query makes none. */
async function querySummary(queries: Queries, { summary }: Report, params: SqlParams): Promise<Row> {
  const [row, ...more] = await queryDataset(queries, summary, params);
  if (!row || more.length > 0)
    throw new TidemarkError('DATA', `queries/${summary.file}.sql must return exactly one row`);
  return 'headline' in row ? row : { ...row, headline: null };
}

/**
 * The rows of a dataset.
 * @param rendered its text with its parts filled in, if it has some
 * @throws TidemarkError DATA naming the file whose header or query fails
 */
export async function queryDataset(database: RowReader, { file, sql }: Dataset, params?: SqlParams, rendered = sql) {
  readHeader(file, sql, DATASET_LINES);
  return queryFile(database, file, rendered, params);
}

/** @throws TidemarkError DATA naming the file, which a user may have overridden */
export async function queryFile(database: RowReader, file: string, sql: string, params: SqlParams = {}) {
  return database.rows(sql, params, MAX_QUERY_MS).catch(nameFile(file));
}

/** For `catch`: names the file of the query. What a writer of its rows meets stays as it is. */
function nameFile(file: string) {
  return (error: unknown): never => {
    if (error instanceof Error && 'syscall' in error) throw error;
    const hint = isMemoryError(error) && 'raise `memoryLimit`';
    throw new TidemarkError('DATA', describeQueryError(file, error), { cause: error, ...(hint && { hint }) });
  };
}

/** `$as_of` and the thresholds: the parameters that every dataset may use. */
function queryParams({ asOf, thresholds, pricing }: ReportReadOptions): SqlParams {
  return { as_of: asOf.toISOString(), pricing: JSON.stringify(pricing ?? null), ...thresholdParams(thresholds) };
}

/** Names of the parameters that the queries of reports use: what is expensive to compute is a parameter only where one is used. */
function findParams(reports: readonly Report[]): ReadonlySet<string | undefined> {
  const queries = reports.flatMap(({ summary, datasets }) => [summary, ...datasets]);
  return new Set(queries.flatMap(({ sql }) => [...sql.matchAll(/\$(\w+)/gu)].map(([, name]) => name)));
}

/** Time of the last run before the present one; undefined where there was none. */
async function readPreviousRun({ database, files, asOf }: ReportReadOptions): Promise<Date | undefined> {
  const [row] = await database.rows(files.read('reports/previous_run'), { as_of: asOf.toISOString() });
  return typeof row?.as_of === 'string' ? new Date(row.as_of) : undefined;
}

/**
 * The summaries of the reports that do not use `$summaries` themselves, by name. One that fails is left out: the error is reported when
 * that report is rendered, and does not affect others.
 */
async function loadSummaries(queries: Queries, reports: ReadonlyMap<string, Report>, params: SqlParams) {
  const wanted = [...reports.values()].filter(({ summary }) => !summary.sql.includes('$summaries'));
  const leaveOut = (error: unknown) => {
    if (!(error instanceof TidemarkError)) throw error;
  };
  const found = await allInOrder(wanted.map((report) => querySummary(queries, report, params).catch(leaveOut)));
  return new Map(wanted.flatMap(({ name }, index) => (found[index] ? [[name, found[index]] as const] : [])));
}

function toJson(summaries: ReadonlyMap<string, Row>): string {
  return stringify(Object.fromEntries(summaries)) ?? '{}';
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
