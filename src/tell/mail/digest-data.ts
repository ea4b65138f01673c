import type { Config } from '../../config/config.ts';
import { DAY_MS } from '../../core/clock.ts';
import { TidemarkError } from '../../core/errors.ts';
import { discoverFiles } from '../../core/paths.ts';
import { findLeftOut, isAbsent, type LeftOut } from '../../extract/sources/index.ts';
import { renderChanges, selectChanged, selectPresent } from '../../warehouse/changes.ts';
import { type Database, firstLine, type SqlParams } from '../../warehouse/database.ts';
import { defineMissing } from '../../warehouse/deadlines.ts';
import { renderDefinitions } from '../../warehouse/migrate.ts';
import { parseHeader, type SqlFiles } from '../../warehouse/sql-files.ts';
import { fillParams, thresholdParams } from '../../warehouse/sql-params.ts';
import { loadTables } from '../../warehouse/tables.ts';
import type { Row } from '../../warehouse/values.ts';
import { type Guide, loadGuide, type PlaybookSummary } from '../findings/guide.ts';
import type { Audience } from './recipients.ts';

/** Lines of a list in a mail; the attached CSV has the rest. */
export const MAX_LINES = 20;
const MAX_OLDEST = 8;
/** Rows of the attached CSV: about 2.5 MB, which every mail server accepts. */
export const MAX_ATTACHED = 10_000;

export interface DigestReadOptions {
  /** Receives temporary tables and nothing else, so it may be open read-only. */
  readonly database: Database;
  readonly files: SqlFiles;
  readonly config: Pick<Config, 'targets' | 'thresholds'>;
  readonly job: string;
  /** `as_of` of the run that the digest describes. */
  readonly asOf: Date;
  readonly playbooks?: (() => Promise<readonly PlaybookSummary[]>) | undefined;
}

/** What the warehouse holds for the routes of an audience, compared with the previous digest. */
export interface DigestData {
  /** Time of the previous digest; null for the first one. */
  readonly since: string | null;
  readonly targets: readonly string[];
  readonly workspaces: number;
  readonly metrics: readonly Metric[];
  /** Numbers of findings; `current` are those that are new or open. */
  readonly counts: Readonly<Record<'current' | 'critical' | 'new' | 'open' | 'resolved' | 'deleted', number>>;
  readonly causes: readonly Row[];
  readonly oldest: readonly Row[];
  readonly trend: readonly Row[];
  readonly sources: readonly Row[];
  /** Rules that could not be assessed, by target and reason. */
  readonly unassessed: readonly Row[];
  /** What changed since the previous digest, by table. */
  readonly changes: readonly Row[];
  /** What ends within two weeks. */
  readonly deadlines: readonly Row[];
  /** The findings of the digest, for the attached CSV. */
  readonly attached: readonly Row[];
  /** What to do about the findings of each rule. */
  readonly guide: readonly Guide[];
}

/** A number of the digest: a file in `queries/mail/metrics/`, whose header names it and whose row holds its value. */
export interface Metric {
  readonly name: string;
  readonly label: string;
  /** The report with the rows behind the number. */
  readonly report: string;
  /** Position among the metrics of the subject. */
  readonly subjectOrder: number;
  /** How the subject names it, singular and plural; null for a metric that the subject leaves out. */
  readonly nouns: { readonly one: string; readonly many: string } | null;
  /** Column of `queries/mail/trend.sql` with the same number per day; null where there is none. */
  readonly trend: string | null;
  readonly value: number;
  /** The value of the previous digest; null where it is unknown. */
  readonly before: number | null;
  /** What changed since; null where only the value is compared. */
  readonly added: number | null;
  readonly returned: number | null;
  readonly resolved: number | null;
  readonly deleted: number | null;
}

export async function readDigestData(options: DigestReadOptions, audience: Audience): Promise<DigestData> {
  const { database, files, config, job, asOf, playbooks } = options;
  const query = (name: string, params: SqlParams) => queryFile(options, `mail/${name}`, params);
  const [previous] = await query('since', { job, as_of: asOf.toISOString() });
  const since = typeof previous?.since === 'string' ? previous.since : null;
  const params: SqlParams = {
    ...thresholdParams(config.thresholds),
    as_of: asOf.toISOString(),
    since,
    days: sparklineDays(since, asOf),
    targets: JSON.stringify(config.targets.map(({ name, kind }) => ({ name, kind }))),
    routes: JSON.stringify(audience.routes),
  };
  await database.run(await files.render('warehouse/semver_key', { kind: 'temp macro' }));
  await database.script((await renderDefinitions(files, 'temp ')).join('\n'));
  await defineMissing(database, files, config.thresholds);
  for (const table of ['routes', 'workspaces', 'pools', 'findings']) await query(table, params);
  const metrics = await loadMetrics(options, params, findLeftOut(config.targets));
  const [counts] = await query('counts', params);
  const sources = await query('sources', params);
  return {
    since,
    metrics,
    sources,
    unassessed: await query('unassessed', params),
    changes: await readChanges(options, params),
    targets: [...new Set(sources.map(({ target }) => String(target)))],
    workspaces: Number((await query('workspace_count', params))[0]?.workspaces),
    counts: counts as unknown as DigestData['counts'],
    causes: await query('causes', { max_rows: MAX_LINES }),
    oldest: await query('oldest', { max_rows: MAX_OLDEST }),
    trend: await query('trend', params),
    deadlines: await query('deadlines', { as_of: params.as_of, max_rows: MAX_OLDEST }),
    attached: await query('attached', { max_rows: MAX_ATTACHED }),
    guide: await loadGuide(files, (await playbooks?.()) ?? [], config.thresholds),
  };
}

/** What changed in the tables that have versions since the previous digest; nothing in the first one. */
async function readChanges({ database, files, asOf }: DigestReadOptions, params: SqlParams): Promise<readonly Row[]> {
  if (typeof params.since !== 'string') return [];
  const times = { from: params.since, to: asOf.toISOString() };
  const read = { database, files };
  const tables = await selectPresent(read, [...(await loadTables(files)).values()]);
  const changed = await selectChanged(read, tables, times);
  if (changed.length === 0) return [];
  const changes = await renderChanges(files, changed);
  return database.script(fillParams(await files.render('mail/changes', { changes }), params));
}

type QueryOptions = Pick<DigestReadOptions, 'database' | 'files'>;

/** @throws TidemarkError DATA naming the file whose query fails: a user may have overridden it */
async function queryFile({ database, files }: QueryOptions, name: string, params: SqlParams): Promise<Row[]> {
  const sql = await files.read(name);
  try {
    return await database.rows(sql, params);
  } catch (error) {
    throw new TidemarkError('DATA', `queries/${name}.sql: ${firstLine(error)}`, { cause: error });
  }
}

/** Position of a metric whose header names none. */
const LAST = 99;

/** The metrics of sources that some target has and whose query returns a row, in the order of their headers. */
async function loadMetrics(options: QueryOptions, params: SqlParams, leftOut: LeftOut): Promise<readonly Metric[]> {
  const { files } = options;
  const found: { order: number; metric: Metric }[] = [];
  for (const name of (await discoverFiles(files.roots, 'queries/mail/metrics', '.sql')).keys()) {
    const header = parseHeader(await files.read(`mail/metrics/${name}`));
    if (isAbsent(header.sources?.split(/,\s*/u) ?? [], leftOut)) continue;
    const [row] = await queryFile(options, `mail/metrics/${name}`, params);
    if (row) found.push({ order: Number(header.order ?? LAST), metric: toMetric(name, header, row) });
  }
  return found.sort((a, b) => a.order - b.order).map(({ metric }) => metric);
}

function toMetric(name: string, header: Readonly<Record<string, string>>, row: Row): Metric {
  const optional = (column: string) => (row[column] === null || row[column] === undefined ? null : Number(row[column]));
  return {
    name,
    label: header.label ?? name,
    report: header.report ?? '',
    subjectOrder: Number(header.subject ?? header.order ?? LAST),
    nouns: header.one && header.many ? { one: header.one, many: header.many } : null,
    trend: header.trend ?? null,
    value: Number(row.value),
    before: optional('before'),
    added: optional('added'),
    returned: optional('returned'),
    resolved: optional('resolved'),
    deleted: optional('deleted'),
  };
}

/** Whether it changed since the previous digest. */
export function hasChanged(metric: Metric): boolean {
  const { value, before } = metric;
  return listChanges(metric).length > 0 || (before !== null && before !== value);
}

/** `2 new`, `1 returned`, `3 resolved`, `1 deleted`: those that are not 0. */
function listChanges({ added, returned, resolved, deleted }: Metric): readonly string[] {
  const named = { new: added, returned, resolved, deleted };
  return Object.entries(named).flatMap(([word, count]) => (count ? [`${count} ${word}`] : []));
}

/** `2 new, 3 resolved`, `+2`, `no change`; empty where the previous value is unknown. */
export function formatChange(metric: Metric): string {
  return listChanges(metric).join(', ') || formatDifference(metric);
}

/** `+3 −1` for the subject: what came, and what went. */
export function formatShortChange(metric: Metric): string {
  const { added, returned, resolved, deleted } = metric;
  const [more, fewer] = [Number(added) + Number(returned), Number(resolved) + Number(deleted)];
  const parts = [more > 0 ? `+${more}` : '', fewer > 0 ? `−${fewer}` : ''].filter(Boolean);
  return parts.join(' ') || formatDifference(metric).replace('no change', '');
}

function formatDifference({ value, before }: Metric): string {
  if (before === null) return '';
  if (before === value) return 'no change';
  return value > before ? `+${value - before}` : `−${before - value}`;
}

const MIN_SPARKLINE_DAYS = 14;
const MAX_SPARKLINE_DAYS = 35;

/** Days that a sparkline covers: two weeks, or four times the interval between digests where that is longer. */
function sparklineDays(since: string | null, asOf: Date): number {
  const days = since === null ? 1 : Math.ceil((asOf.getTime() - Date.parse(since)) / DAY_MS);
  return Math.min(MAX_SPARKLINE_DAYS, Math.max(MIN_SPARKLINE_DAYS, days * 4));
}
