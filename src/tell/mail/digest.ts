import type { Config } from '../../config/config.ts';
import { sanitizeHeader } from '../../config/mail.ts';
import { HOUR_MS } from '../../core/clock.ts';
import { plural } from '../../core/plural.ts';
import type { Row, Value } from '../../warehouse/values.ts';
import { formatNumber, formatTime } from '../reports/format.ts';
import { createProductLinker, findingSubject, type SubjectRef } from '../reports/links.ts';
import { MAX_OUTAGES } from '../reports/renderer.ts';
import { runPath } from '../reports/run-page.ts';
import type { SubjectLinker } from '../reports/subjects.ts';
import type { ComposeOptions, DigestData } from './digest-data.ts';
import { type Audience, formatRoute } from './recipients.ts';

/** The options, and the path of a subject's page below the folder of the reports. */
type DigestOptions = Pick<ComposeOptions, 'config' | 'job' | 'run' | 'notes'> & {
  readonly linkSubject: SubjectLinker | undefined;
};

/** The context of `reports/digest.hbs` and `reports/digest.txt.hbs`; its texts are clean and short, but not escaped. */
export type Digest = ReturnType<typeof buildDigest>;

export const CSV_NAME = 'findings.csv';
const MAX_RESOLVED = 10;
/** From this interval between digests on, the digest lists the oldest findings. */
const LONG_INTERVAL_MS = 48 * HOUR_MS;

/** @param maxLines lines of each list */
export function buildDigest(options: DigestOptions, audience: Audience, data: DigestData, maxLines: number) {
  const { config, job, run, notes = [] } = options;
  const { reportsUrl } = config;
  const { asOf } = run;
  const link = createLinker(options);
  const list = (section: string, max: number) => buildList(data.causes, section, max, link);
  const lists = {
    critical: list('critical', maxLines),
    new: list('new', maxLines),
    resolved: list('resolved', Math.min(maxLines, MAX_RESOLVED)),
    deleted: list('deleted', Math.min(maxLines, MAX_RESOLVED)),
    open: list('open', maxLines),
  };
  const isLongInterval = data.since !== null && asOf.getTime() - Date.parse(data.since) > LONG_INTERVAL_MS;
  const [scope, headline] = [formatScope(config, audience, data), formatHeadline(audience, data)];
  return {
    lists,
    subject: sanitizeHeader(`Tidemark ${scope}: ${headline}`, MAX_SUBJECT_LENGTH),
    scope,
    headline,
    job: job.name,
    as_of: formatTime(asOf.toISOString()),
    /** Until when it is current. */
    until: formatTime(new Date(asOf.getTime() + config.thresholds.staleHours * HOUR_MS).toISOString()),
    since: data.since === null ? null : formatTime(data.since),
    metrics: data.numbers.map((row) => ({ ...cleanRow(row), href: linkReport(options, row.report ?? null) })),
    sparklines: data.trend.map(cleanRow),
    oldest: cutRows(isLongInterval ? data.oldest : [], maxLines),
    counts: data.counts,
    stale: cutRows(data.stale, Math.min(maxLines, MAX_OUTAGES)),
    unassessed: cutRows(data.unassessed, Math.min(maxLines, MAX_OUTAGES)),
    changes: data.changes.map(cleanRow),
    deadlines: cutRows(data.deadlines, maxLines),
    links: reportsUrl === undefined ? [] : listLinks(options, reportsUrl),
    /** Reports whose pages are attached. */
    pages: reportsUrl === undefined && audience.isUnfiltered ? job.reports : [],
    notes: (audience.isUnfiltered ? notes : []).map((note) => sanitizeHeader(note, 300)),
    /** Name of the attached CSV with every finding; null where the lists name them all. */
    csv: Object.values(lists).every(({ isComplete }) => isComplete) ? null : CSV_NAME,
    /** Rows of that CSV where it is cut; otherwise null. */
    csvRows: data.attached.length < data.counts.told ? data.attached.length : null,
    /** The routes in words; null for the unfiltered digest. */
    route: audience.isUnfiltered ? null : audience.routes.map(formatRoute).join('; '),
    isEmptyRoute: isEmptyRoute(audience, data),
    reason: audience.reason,
  };
}

const MAX_SUBJECT_NAMES = 3;
const MAX_SUBJECT_PHRASES = 4;
const MAX_SUBJECT_LENGTH = 150;

/** The platform targets, or all targets where there is no platform, and the projects of the routes. */
function formatScope({ targets }: Pick<Config, 'targets'>, { routes }: Audience, { counts }: DigestData): string {
  const covered = targets.filter(({ name }) => counts.targets.includes(name));
  const platforms = covered.filter(({ kind }) => kind === 'platform');
  const names = (platforms.length > 0 ? platforms : covered).map(({ name }) => name);
  const scope = names.length <= MAX_SUBJECT_NAMES ? names.join(', ') : `${names.length} targets`;
  const projects = [...new Set(routes.flatMap((route) => route.projects ?? []))];
  const part = projects.length <= MAX_SUBJECT_NAMES ? projects.join(', ') : `${projects.length} projects`;
  return [scope || 'no target', part && `(${sanitizeHeader(part, 60)})`].filter(Boolean).join(' ');
}

/** `14 drifting (+3 −1), 2 pools down`: what is not zero or changed; `all quiet` where nothing is and the routes match something. */
function formatHeadline(audience: Audience, data: DigestData): string {
  const { numbers, counts, unassessed, failed } = data;
  const phrases = numbers
    .toSorted((a, b) => Number(a.subject_order) - Number(b.subject_order))
    .flatMap(({ phrase }) => (typeof phrase === 'string' ? [phrase] : []))
    .slice(0, MAX_SUBJECT_PHRASES);
  if (failed > 0) phrases.push(`${plural(failed, 'number')} not known`);
  if (counts.pulled_sources === counts.stale_sources) return ['no fresh data', ...phrases].join(', ');
  // Where a source is stale, its rules are not assessed either.
  const rules = new Set(unassessed.flatMap((row) => row.rules as readonly string[])).size;
  if (counts.stale_sources > 0) phrases.push(plural(counts.stale_sources, 'stale source'));
  else if (rules > 0) phrases.push(`${plural(rules, 'rule')} not assessed`);
  if (phrases.length > 0) return phrases.join(', ');
  return isEmptyRoute(audience, data) ? 'no matching workspaces' : 'all quiet';
}

/** Whether the routes match no target, or no workspace where all of them name projects and every workspace is known. */
function isEmptyRoute({ isUnfiltered, routes }: Audience, { counts }: DigestData): boolean {
  if (isUnfiltered) return false;
  if (counts.targets.length === 0) return true;
  return counts.workspaces + counts.stale_sources === 0 && routes.every(({ projects }) => projects !== null);
}

/** @returns null where the page of the report is not one of the job's */
function linkReport({ config: { reportsUrl }, job }: DigestOptions, report: Value): string | null {
  const name = String(report);
  return reportsUrl !== undefined && job.reports.includes(name) ? pageUrl(reportsUrl, name) : null;
}

const MAX_TITLE_LENGTH = 160;
const MAX_TEXT_LENGTH = 200;

/** A row whose texts are single lines of limited length. */
function cleanRow(row: Row): Row {
  const maxLength = (name: string) => (name === 'title' || name === 'location' ? MAX_TITLE_LENGTH : MAX_TEXT_LENGTH);
  const clean = (name: string, value: Value) =>
    typeof value === 'string' ? sanitizeHeader(value, maxLength(name)) : value;
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, clean(name, value)]));
}

/** The first rows, and how many are left out. */
function cutRows(rows: readonly Row[], maxLines: number) {
  const lines = rows.slice(0, maxLines).map(cleanRow);
  return { lines, omitted: Number(rows[0]?.total ?? rows.length) - lines.length };
}

type Linker = (subject: SubjectRef) => { readonly href: string | null; readonly history: string | null };

/** Mail readers break longer links, and they would push lines out of the digest. */
const MAX_LINK_LENGTH = 500;

/** The page of the product, and that of the reports with the history, where there are both. */
function createLinker({ config, linkSubject }: DigestOptions): Linker {
  const product = createProductLinker(config.targets);
  const keep = (url: string | undefined) => (url !== undefined && url.length <= MAX_LINK_LENGTH ? url : null);
  return (subject) => {
    const name = subject.name ?? subject.id;
    // A note about a part of a workspace has an ID that only its name leads from.
    const path = linkSubject?.({ ...subject, name }) ?? linkSubject?.({ ...subject, id: name, name });
    const [href, page] = [keep(product(subject)), keep(path && joinUrl(config.reportsUrl, path))];
    return { href: href ?? page, history: href === null ? null : page };
  };
}

/** Subjects of a common cause that its line names. */
const MAX_GROUP_NAMES = 3;

/** A line is one finding, several of one subject, or several with the same cause. */
function buildList(causes: readonly Row[], section: string, maxLines: number, link: Linker) {
  const rows = causes.filter((row) => row.section === section);
  const [lines, total] = [Number(rows[0]?.lines ?? 0), Number(rows[0]?.findings ?? 0)];
  const shown = rows.slice(0, maxLines);
  const isCut = lines > shown.length;
  return {
    lines: shown.map((row) => toLine(row, link)),
    count: isCut ? `${formatNumber(total)} (${shown.length} of ${formatNumber(lines)} lines)` : formatNumber(total),
    /** Whether the list names every finding. */
    isComplete: !isCut && rows.every(({ size, is_cause }) => Number(size) <= (is_cause ? MAX_GROUP_NAMES : 1)),
  };
}

function toLine(row: Row, link: Linker) {
  const { is_cause, size } = row;
  const subjects = (row.subjects as readonly Row[]).map((one) => {
    const subject = findingSubject({ ...row, ...one });
    return { name: sanitizeHeader(subject.name ?? subject.id, 40), ...link(subject) };
  });
  const [first] = is_cause ? [] : subjects;
  return {
    ...cleanRow(row),
    href: first?.href ?? null,
    history: first?.history ?? null,
    subjects: is_cause ? subjects : [],
    hasMore: Number(size) > subjects.length,
  };
}

function listLinks({ job: { reports }, run }: DigestOptions, reportsUrl: string) {
  // Reports are what a run writes its page with.
  const own = reports.length > 0 ? [{ title: 'This run', href: joinUrl(reportsUrl, runPath(run.runId)) }] : [];
  const pages = reports.map((name) => ({ title: name, href: pageUrl(reportsUrl, name) }));
  return [...own, { title: 'All reports', href: pageUrl(reportsUrl, 'index') }, ...pages];
}

function pageUrl(base: string, name: string): string {
  return joinUrl(base, `${encodeURIComponent(name)}.html`);
}

function joinUrl(base = '', path: string): string {
  return `${base.replace(/\/+$/u, '')}/${path}`;
}
