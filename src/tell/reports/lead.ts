import type { Row, Value } from '../../warehouse/values.ts';
import type { ReportData, ReportState } from './data.ts';
import { formatNumber, formatTime, truncate } from './format.ts';

/** Lines of a list that leads a page. Its table has all of them. */
const MAX_LINES = 5;

/** What a page says first: what got worse, who is affected, and what to do. */
export interface Lead {
  readonly state: ReportState;
  /** Time of the previous run; null where there was none. */
  readonly since: string | null;
  /** `14 open = 18 before + 3 new − 7 resolved`; null in the first run. */
  readonly equation: string | null;
  readonly accepted: number;
  readonly worse: LeadList;
  readonly affected: LeadList;
  readonly steps: LeadList;
}

interface LeadList {
  readonly lines: readonly LeadLine[];
  /** Number of rows that are not among the lines. */
  readonly more: number;
}

interface LeadLine {
  readonly severity: string;
  readonly text: string;
  readonly note: string;
}

/** Null for a report without `-- rules:`. */
export function buildLead(data: ReportData): Lead | null {
  const [counts] = readRows(data, 'finding_counts');
  if (data.state === null || !counts) return null;
  return {
    state: data.state,
    since: typeof counts.compared_with === 'string' && counts.assessed ? formatTime(counts.compared_with) : null,
    equation: typeof counts.equation === 'string' ? counts.equation : null,
    accepted: Number(counts.accepted ?? 0),
    worse: toList(readRows(data, 'got_worse'), toWorse),
    affected: toList(readRows(data, 'affected'), toAffected),
    steps: toList(readRows(data, 'next_steps'), toStep),
  };
}

function readRows(data: ReportData, name: string): readonly Row[] {
  const rows = data[name];
  return Array.isArray(rows) ? (rows as Row[]) : [];
}

function toList(rows: readonly Row[], toLine: (row: Row) => LeadLine): LeadList {
  return { lines: rows.slice(0, MAX_LINES).map(toLine), more: Math.max(0, rows.length - MAX_LINES) };
}

function toWorse({ severity, title, change, findings, subjects, more_subjects }: Row): LeadLine {
  const names = Array.isArray(subjects) ? subjects.map(String).join(', ') : '';
  const others = Number(more_subjects) > 0 ? ` and ${formatNumber(Number(more_subjects))} more` : '';
  const note = Number(findings) > 1 ? `${toText(change)}: ${names}${others}` : toText(change);
  return { severity: toText(severity), text: truncate(toText(title)), note: truncate(note) };
}

function toAffected({ name, kind, workspaces, critical, warning, info }: Row): LeadLine {
  const counts = [
    [workspaces, 'workspace', 'workspaces'],
    [critical, 'critical', 'critical'],
    [warning, 'warning', 'warnings'],
    [info, 'note', 'notes'],
  ] as const;
  const known = counts.filter(([count]) => Number(count ?? 0) > 0);
  const note = known.map(([count, one, many]) => `${formatNumber(Number(count))} ${Number(count) === 1 ? one : many}`);
  const severity = Number(critical) > 0 ? 'critical' : Number(warning) > 0 ? 'warning' : 'info';
  return { severity, text: truncate(`${toText(kind)} ${toText(name ?? 'without a name')}`), note: note.join(', ') };
}

function toStep({ severity, command, findings, what }: Row): LeadLine {
  const count = Number(findings);
  const note = `${toText(what)} (${formatNumber(count)} ${count === 1 ? 'finding' : 'findings'})`;
  return { severity: toText(severity), text: truncate(toText(command)), note: truncate(note) };
}

const toText = (value: Value | undefined): string => (typeof value === 'string' ? value : '');
