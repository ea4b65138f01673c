import { MINUTE_MS } from '../../core/clock.ts';
import type { Row, Value } from '../../warehouse/values.ts';
import type { ReportHead } from './data.ts';
import { formatAge, formatTime, truncate } from './format.ts';
import type { SubjectLinks } from './subjects.ts';

/** Lines and names that a page shows at once. The others open. */
const MAX_LINES = 12;
const MAX_NAMES = 4;

/** What a page says first: what is wrong, by name, with the next step of each. Null for a report without `-- rules:`. */
export function buildLead(data: ReportHead, rows: Readonly<Record<string, readonly Row[]>>, links: SubjectLinks) {
  const { finding_counts = [], open_findings = [] } = rows;
  const [counts] = finding_counts;
  if (data.state === null || !counts) return null;
  const hasSeveralTargets = new Set(open_findings.map(({ target }) => target)).size > 1;
  const lines = open_findings.map((row) => {
    const line = toLeadLine(row, Date.parse(data.as_of), links);
    return hasSeveralTargets ? line : { ...line, target: '' };
  });
  return {
    state: data.state,
    /** `4 critical`, `70 warnings`: the number behind the state. */
    badge: counts.badge ?? data.state,
    total: Number(counts.open_findings ?? 0),
    lines: lines.slice(0, MAX_LINES),
    others: lines.slice(MAX_LINES),
    /** `14 open = 18 before + 3 new − 7 resolved`; null in the first run. */
    equation: counts.equation ?? null,
    accepted: Number(counts.accepted ?? 0),
    unassessed: Number(counts.unassessed ?? 0),
  };
}

/** A row of `queries/reports/lead/open_findings.sql` as the partial `lead-line` shows it. */
export function toLeadLine(row: Row, now: number, { linkSubject, linkProduct }: SubjectLinks) {
  const who = (Array.isArray(row.who) ? row.who : []) as readonly Row[];
  const names = who.map((entry) => {
    const subject = toSubject(row.target, entry);
    return {
      name: truncate(subject.name),
      href: linkSubject?.(subject) ?? linkSubject?.({ ...subject, id: subject.name }) ?? null,
      since: formatTime(toText(entry.since)).slice(0, 10),
      change: toText(entry.change),
    };
  });
  const own = row.subject_id === null ? null : toSubject(row.target, row);
  return {
    severity: toText(row.severity),
    title: truncate(toText(row.title)),
    href: (own && linkSubject?.(own)) ?? null,
    since: formatSince(toText(row.since), now),
    /** Two targets may have the same of a rule. Empty on a page with findings of one target. */
    target: toText(row.target),
    /** `2 new, 1 returned`; empty where nothing changed. */
    changes: toText(row.changes),
    repair: toText(row.repair),
    command: toText(row.command),
    about: toText(row.about),
    product: (own && linkProduct?.(own)) ?? null,
    names: names.slice(0, MAX_NAMES),
    otherNames: names.slice(MAX_NAMES),
    /** Subjects that are not listed. */
    unlisted: Math.max(0, Number(row.findings) - Math.max(1, who.length)),
  };
}

function toSubject(target: Value | undefined, { subject_type, subject_id, subject }: Row) {
  const id = toText(subject_id);
  return { target: toText(target), type: toText(subject_type), id, name: toText(subject) || id };
}

/** `2026-11-14, 9 days` */
function formatSince(iso: string, now: number): string {
  const ms = now - Date.parse(iso);
  return `${formatTime(iso).slice(0, 10)}${ms >= MINUTE_MS ? `, ${formatAge(ms)}` : ''}`;
}

const toText = (value: Value | undefined): string => (typeof value === 'string' ? value : '');
