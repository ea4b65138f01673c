import type { Config } from '../../config/config.ts';
import { sanitizeHeader } from '../../config/mail.ts';
import { plural } from '../../core/plural.ts';
import { FACTS } from '../../extract/sources/index.ts';
import type { Row } from '../../warehouse/values.ts';
import { formatAge, formatNumber, formatTime } from '../reports/format.ts';
import { type DigestData, formatShortChange, type Metric } from './digest-data.ts';
import type { Audience } from './recipients.ts';

const MAX_SUBJECT_NAMES = 3;
const MAX_SUBJECT_PHRASES = 4;
const MAX_SUBJECT_LENGTH = 150;

/** `Tidemark acme: 14 drifting (+3 −1), 2 pools down`: the scope and the headline. */
export function formatSubject(config: Pick<Config, 'targets'>, audience: Audience, data: DigestData): string {
  const subject = `Tidemark ${subjectScope(config, audience, data)}: ${subjectHeadline(audience, data)}`;
  return sanitizeHeader(subject, MAX_SUBJECT_LENGTH);
}

/** The platform targets, or all targets where there is no platform, and the projects of the routes. */
export function subjectScope({ targets }: Pick<Config, 'targets'>, audience: Audience, data: DigestData): string {
  const covered = targets.filter(({ name }) => data.targets.includes(name));
  const platforms = covered.filter(({ kind }) => kind === 'platform');
  const names = (platforms.length > 0 ? platforms : covered).map(({ name }) => name);
  const scope = names.length <= MAX_SUBJECT_NAMES ? names.join(', ') : `${names.length} targets`;
  const projects = [...new Set(audience.routes.flatMap((route) => route.projects ?? []))];
  const part = projects.length <= MAX_SUBJECT_NAMES ? projects.join(', ') : `${projects.length} projects`;
  return [scope || 'no target', part && `(${sanitizeHeader(part, 60)})`].filter(Boolean).join(' ');
}

/** The metrics that are not zero or changed, in their order; `all quiet` where there is none and the routes match something. */
export function subjectHeadline(audience: Audience, data: DigestData): string {
  const { metrics, unassessed } = data;
  const sources = data.sources.filter(({ source }) => source !== FACTS);
  const stale = sources.filter((source) => source.stale === true).length;
  const phrases = [...metrics]
    .sort((a, b) => a.subjectOrder - b.subjectOrder)
    .flatMap(metricPhrase)
    .slice(0, MAX_SUBJECT_PHRASES);
  if (sources.length === stale) return ['no fresh data', ...phrases].join(', ');
  const stalePhrase = stale > 0 ? [stale === 1 ? '1 stale source' : `${stale} stale sources`] : [];
  // Where a source is stale, its rules are not assessed either.
  const gaps = stale > 0 ? 0 : new Set(unassessed.flatMap(({ rules }) => rules as readonly string[])).size;
  const gapPhrase = gaps > 0 ? [gaps === 1 ? '1 rule not assessed' : `${gaps} rules not assessed`] : [];
  const headline = [...phrases, ...stalePhrase, ...gapPhrase];
  if (headline.length > 0) return headline.join(', ');
  return isEmptyRoute(audience, data) ? 'no matching workspaces' : 'all quiet';
}

/** Whether the routes match no target, or no workspace where all of them name projects. */
export function isEmptyRoute({ isUnfiltered, routes }: Audience, { targets, workspaces }: DigestData): boolean {
  if (isUnfiltered) return false;
  return targets.length === 0 || (workspaces === 0 && routes.every(({ projects }) => projects !== null));
}

function metricPhrase(metric: Metric): readonly string[] {
  const { nouns, value } = metric;
  const change = formatShortChange(metric);
  if (!nouns || (value === 0 && !change)) return [];
  return [`${value} ${value === 1 ? nouns.one : nouns.many}${change ? ` (${change})` : ''}`];
}

/** A metric per day as a row of table cells, which every mail reader shows. */
export interface Sparkline {
  readonly label: string;
  /** `height` is null for a day on which nothing was assessed. */
  readonly bars: readonly { readonly height: number | null; readonly isLast: boolean }[];
  /** Empty places before the first bar, so that a bar has the same width from the first digest on. */
  readonly blanks: readonly null[];
  /** Range and last value in words, for readers that show no bars. */
  readonly summary: string;
  readonly from: string;
  readonly to: string;
  readonly values: string;
}

const MAX_BAR_PIXELS = 36;
const MIN_BAR_PLACES = 14;

export function buildSparkline({ trend: column, label }: Metric, trend: readonly Row[]): readonly Sparkline[] {
  if (column === null || trend.length < 2) return [];
  const days = trend.map((day) => (day[column] === null ? null : Number(day[column])));
  const values = days.filter((value) => value !== null);
  const gaps = days.length - values.length;
  const highest = Math.max(1, ...values);
  const toDate = (row: Row | undefined) => String(row?.as_of ?? '').slice(0, 10);
  const [min, max, last] = [Math.min(...values), Math.max(...values), values.at(-1) ?? 0].map(formatNumber);
  return [
    {
      label,
      bars: days.map((value, index) => ({
        height: value === null ? null : Math.max(1, Math.round((value / highest) * MAX_BAR_PIXELS)),
        isLast: index === days.length - 1,
      })),
      blanks: Array.from({ length: Math.max(0, MIN_BAR_PLACES - days.length) }, () => null),
      summary: `${min} to ${max} over ${plural(values.length, 'day')}, ${last} now${gaps > 0 ? `; ${plural(gaps, 'day')} not assessed (×)` : ''}`,
      from: toDate(trend[0]),
      to: toDate(trend.at(-1)),
      values: days.map((value) => (value === null ? '×' : formatNumber(value))).join(' '),
    },
  ];
}

export interface SourceStatus {
  readonly complete: number;
  readonly total: number;
  /** One line for the stale sources of a target that have the same state. */
  readonly stale: readonly StaleSources[];
  /** Number of such lines that are left out. */
  readonly omitted: number;
}

interface StaleSources {
  /** `acme: agents, workspaces` */
  readonly sources: string;
  readonly state: string;
  readonly error: string;
}

export function buildSourceStatus(rows: readonly Row[], asOf: Date, maxLines: number): SourceStatus {
  const stale = rows.filter((row) => row.stale === true);
  const groups = new Map<string, Row[]>();
  for (const row of stale) {
    const key = JSON.stringify([row.target, row.status, row.as_of]);
    groups.set(key, [...(groups.get(key) ?? []), row]);
  }
  return {
    total: rows.length,
    complete: rows.length - stale.length,
    stale: [...groups.values()].slice(0, maxLines).map((group) => toStaleSources(group, asOf)),
    omitted: Math.max(0, groups.size - maxLines),
  };
}

function toStaleSources(group: readonly Row[], asOf: Date): StaleSources {
  const [{ target, status, as_of } = {}] = group;
  const names = group.flatMap(({ source }) => (source === null ? [] : [String(source)]));
  const errors = new Set(group.flatMap(({ error }) => (typeof error === 'string' ? [error] : [])));
  const [error = ''] = errors;
  return {
    sources: sanitizeHeader(names.length === 0 ? String(target) : `${target}: ${names.join(', ')}`, 200),
    state:
      typeof as_of === 'string'
        ? `${status}; data as of ${formatTime(as_of)} UTC, ${formatAge(asOf.getTime() - Date.parse(as_of))} old`
        : String(status),
    error: sanitizeHeader(`${error}${errors.size > 1 ? '; …' : ''}`, 200),
  };
}

export interface UnassessedStatus {
  /** One line for the rules of a target that cannot be assessed for the same reason. */
  readonly lines: readonly { readonly rules: string; readonly since: string; readonly reason: string }[];
  /** Number of such lines that are left out. */
  readonly omitted: number;
}

/** What the digest cannot tell: findings of these rules are as they were, and others may be missing. */
export function buildUnassessedStatus(rows: readonly Row[], maxLines: number): UnassessedStatus {
  const lines = rows.slice(0, maxLines).map(({ target, rules, reason, since }) => ({
    rules: sanitizeHeader(`${target}: ${(rules as readonly string[]).join(', ')}`, 200),
    since: formatTime(String(since)),
    reason: sanitizeHeader(String(reason), 200),
  }));
  return { lines, omitted: rows.length - lines.length };
}

/** What changed in the rows of a table, and who changed it: `2 by plans, 12 by others`. */
export interface ChangedTable {
  readonly name: string;
  readonly changes: string;
  readonly actors: string;
}

export function listChanges({ changes: rows }: Pick<DigestData, 'changes'>): readonly ChangedTable[] {
  return rows.map(({ table, changes, subjects, by_plans }) => {
    const others = Number(subjects) - Number(by_plans);
    const actors = [Number(by_plans) > 0 ? `${by_plans} by plans` : '', others > 0 ? `${others} by others` : ''];
    return { name: String(table), changes: String(changes), actors: actors.filter(Boolean).join(', ') };
  });
}

/** What ends within two weeks. */
export interface Deadlines {
  readonly lines: readonly { readonly at: string; readonly title: string; readonly step: string }[];
  readonly omitted: number;
}

export function listDeadlines({ deadlines: rows }: Pick<DigestData, 'deadlines'>): Deadlines {
  const lines = rows.map(({ target, kind, name, ends_at, what_to_do }) => ({
    at: formatTime(String(ends_at)),
    title: sanitizeHeader(`${kind} ${name} (${target})`, 200),
    step: sanitizeHeader(String(what_to_do ?? ''), 200),
  }));
  return { lines, omitted: Number(rows[0]?.total ?? 0) - lines.length };
}
