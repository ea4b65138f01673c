import { MINUTE_MS } from '../../core/clock.ts';
import type { Row, Value } from '../../warehouse/values.ts';
import type { ReportData, ReportState } from './data.ts';
import { formatAge, formatNumber, formatTime, truncate } from './format.ts';
import type { ProductLinker } from './links.ts';
import type { SubjectLinker } from './subjects.ts';

/** Lines and names that a page shows at once. The others open. */
const MAX_LINES = 12;
const MAX_NAMES = 4;

/** What a page says first: what is wrong, by name, with the next step of each. */
export interface Lead {
  readonly state: ReportState;
  /** `4 critical`, `70 warnings`: the number behind the state. */
  readonly badge: string;
  readonly total: number;
  readonly lines: readonly LeadLine[];
  readonly others: readonly LeadLine[];
  /** `14 open = 18 before + 3 new − 7 resolved`; null in the first run. */
  readonly equation: string | null;
  readonly accepted: number;
  /** Rules that could not be assessed. */
  readonly unassessed: number;
}

interface LeadLine {
  readonly severity: string;
  readonly title: string;
  readonly href: string | null;
  readonly since: string;
  /** `2 new, 1 returned`; empty where nothing changed. */
  readonly changes: string;
  readonly repair: string;
  readonly command: string;
  readonly about: string;
  /** The page that the product has for the subject. */
  readonly product: string | null;
  readonly names: readonly LeadName[];
  readonly otherNames: readonly LeadName[];
  /** Subjects that are not listed. */
  readonly unlisted: number;
}

interface LeadName {
  readonly name: string;
  readonly href: string | null;
  readonly since: string;
  readonly change: string;
}

export interface LeadOptions {
  readonly linkSubject?: SubjectLinker | undefined;
  readonly linkProduct?: ProductLinker | undefined;
}

/** Null for a report without `-- rules:`. */
export function buildLead(data: ReportData, links: LeadOptions): Lead | null {
  const [counts] = readRows(data, 'finding_counts');
  if (data.state === null || !counts) return null;
  const lines = readRows(data, 'open_findings').map((row) => toLine(row, Date.parse(data.as_of), links));
  return {
    state: data.state,
    badge: formatBadge(data.state, counts),
    total: Number(counts.open_findings ?? 0),
    lines: lines.slice(0, MAX_LINES),
    others: lines.slice(MAX_LINES),
    equation: typeof counts.equation === 'string' ? counts.equation : null,
    accepted: Number(counts.accepted ?? 0),
    unassessed: Number(counts.unassessed ?? 0),
  };
}

function formatBadge(state: ReportState, { critical, warning }: Row): string {
  if (state === 'critical') return `${formatNumber(Number(critical))} critical`;
  if (state === 'warning') return `${formatNumber(Number(warning))} ${warning === 1 ? 'warning' : 'warnings'}`;
  return state;
}

function readRows(data: ReportData, name: string): readonly Row[] {
  const rows = data[name];
  return Array.isArray(rows) ? (rows as Row[]) : [];
}

function toLine(row: Row, now: number, links: LeadOptions): LeadLine {
  const who = (Array.isArray(row.who) ? row.who : []) as readonly Row[];
  const names = who.map((entry) => toName(row.target, entry, links));
  const own = row.subject_id === null ? null : toSubject(row.target, row);
  return {
    severity: toText(row.severity),
    title: truncate(toText(row.title)),
    href: (own && links.linkSubject?.(own)) ?? null,
    since: formatSince(toText(row.since), now),
    changes: toText(row.changes),
    repair: toText(row.repair),
    command: toText(row.command),
    about: toText(row.about),
    product: (own && links.linkProduct?.(own)) ?? null,
    names: names.slice(0, MAX_NAMES),
    otherNames: names.slice(MAX_NAMES),
    unlisted: Math.max(0, Number(row.findings) - Math.max(1, who.length)),
  };
}

function toName(target: Value | undefined, row: Row, { linkSubject }: LeadOptions): LeadName {
  const subject = toSubject(target, row);
  return {
    name: truncate(subject.name),
    href: linkSubject?.(subject) ?? linkSubject?.({ ...subject, id: subject.name }) ?? null,
    since: formatTime(toText(row.since)).slice(0, 10),
    change: toText(row.change),
  };
}

function toSubject(target: Value | undefined, { subject_type, subject_id, subject }: Row) {
  const id = toText(subject_id);
  return { target: toText(target), type: toText(subject_type), id, name: toText(subject) || id };
}

/** `2026-11-14, 9 days` */
export function formatSince(iso: string, now: number): string {
  const ms = now - Date.parse(iso);
  return `${formatTime(iso).slice(0, 10)}${ms >= MINUTE_MS ? `, ${formatAge(ms)}` : ''}`;
}

const toText = (value: Value | undefined): string => (typeof value === 'string' ? value : '');
