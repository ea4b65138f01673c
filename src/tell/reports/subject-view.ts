import { stringify } from 'lossless-json';
import { stripControls } from '../../core/log.ts';
import type { Column } from '../../warehouse/tables.ts';
import type { Row, Value } from '../../warehouse/values.ts';
import { explainFinding } from '../findings/explanation.ts';
import type { Guide } from '../findings/guide.ts';
import { EMPTY_CELL, formatNumber, formatTime, formatValue, inferKind, truncate } from './format.ts';
import type { ProductLinker } from './links.ts';
import type { SubjectData } from './subject-data.ts';
import { type SubjectSelection, subjectPath } from './subjects.ts';

/** What changed in one column, or why an entry exists. */
interface ChangeView {
  readonly field: string;
  readonly before: string;
  readonly after: string;
}

/** One time in the life of a subject. */
export interface TimelineEntry {
  /** ISO 8601. */
  readonly at: string;
  /** `history`, `finding`, `action` or `gap`. */
  readonly kind: string;
  readonly title: string;
  readonly note: string;
  readonly changes: readonly ChangeView[];
}

/** A subject as its page and its text show it. Every text is free of control characters. */
export interface SubjectView {
  readonly title: string;
  readonly kind: string;
  readonly kindTitle: string;
  readonly kindSlug: string;
  readonly id: string;
  readonly target: string;
  readonly place: string;
  readonly summary: string;
  readonly product: { readonly url: string; readonly host: string } | null;
  /** Why the data is older than the page; empty if it is not. */
  readonly stale: string;
  readonly findings: readonly object[];
  readonly timeline: readonly TimelineEntry[];
  /** Times of the history that are not shown. */
  readonly earlier: number;
  readonly present: readonly object[];
  readonly related: readonly object[];
  readonly actions: readonly object[];
}

export interface SubjectViewOptions {
  /** What to do about the findings of each rule. */
  readonly guide: readonly Guide[];
  readonly linker: ProductLinker;
  readonly selection: Pick<SubjectSelection, 'has'>;
}

/** Characters of a value on the page of its subject. The table has all of it. */
const MAX_VALUE_LENGTH = 10_000;

export function toSubjectView(data: SubjectData, options: SubjectViewOptions): SubjectView {
  const { page, present, timeline, gaps } = data;
  const url = options.linker({ ...page, fields: present });
  const shownTimes = new Set(timeline.map(({ happened_at }) => happened_at)).size;
  return {
    title: truncate(page.name),
    kind: page.type,
    kindTitle: page.kind.title,
    kindSlug: page.kind.slug,
    id: truncate(page.id),
    target: page.target,
    place: truncate(page.place ?? ''),
    summary: formatSummary(data),
    product: url === undefined ? null : { url, host: new URL(url).host },
    stale: formatStale(gaps[0]),
    findings: data.findings.map((row) => toFindingView(row, options.guide)),
    timeline: buildTimeline(data),
    earlier: Number(timeline[0]?.times ?? 0) - shownTimes,
    present: toPresentView(data, options.linker),
    related: toRelatedView(data.related, options),
    actions: data.actions.map(toActionView),
  };
}

function formatSummary({ page: { openFindings, critical, accepted, isPresent, goneAt } }: SubjectData): string {
  const count = openFindings === 1 ? '1 open finding' : `${formatNumber(openFindings)} open findings`;
  const worst =
    critical > 0 ? `, ${critical === openFindings ? '' : `${formatNumber(critical)} of them `}critical` : '';
  const findings = openFindings === 0 ? 'No open finding' : `${count}${worst}`;
  const gone = isPresent ? '' : `Not reported since ${formatTime(goneAt ?? '')}. `;
  return `${gone}${findings}${accepted > 0 ? `, ${formatNumber(accepted)} accepted` : ''}.`;
}

/** The last pull of the source was not complete, so that what the page shows is older than the page. */
function formatStale(gap: Row | undefined): string {
  if (!gap || gap.ended_at !== null) return '';
  return `The last complete pull of ${gap.source} is older than ${formatTime(String(gap.happened_at))}; the last pull ${describePull(gap)}.`;
}

function describePull({ status, error }: Row): string {
  const reason = typeof error === 'string' ? `: ${truncate(error)}` : '';
  return `${status === 'failed' ? 'failed' : `is ${status}`}${reason}`;
}

export function toFindingView(row: Row, guide: readonly Guide[]): object {
  const text = (name: string) => (typeof row[name] === 'string' ? truncate(String(row[name])) : '');
  const accepted =
    row.accepted_owner === null
      ? ''
      : `by ${text('accepted_owner')} until ${formatTime(text('accepted_until'))}: ${text('accepted_reason')}`;
  const explained = guide.find((entry) => entry.rule === row.rule);
  const isOpen = row.state === 'new' || row.state === 'open';
  const { repair, command, about } = (isOpen && explained) || { repair: '', command: '', about: null };
  const { saw, ...explanation } = explainFinding(row, explained);
  return {
    id: text('finding_id'),
    is_open: isOpen,
    state: text('state'),
    severity: text('severity'),
    title: text('title'),
    rule: text('rule'),
    since: formatTime(String(row.opened_at ?? row.state_since)),
    first_seen: formatTime(String(row.first_seen)),
    times_reopened: Number(row.times_reopened ?? 0),
    accepted,
    repair,
    command,
    about,
    ...explanation,
    saw: saw.map(({ name, value }) => ({ name: truncate(name), value: truncate(value) })),
  };
}

/** History, findings, actions and gaps, the newest first. */
function buildTimeline({ page, timeline, findingEvents, actions, gaps }: SubjectData): readonly TimelineEntry[] {
  const oldest = timeline.at(-1)?.happened_at;
  const isShown = ({ happened_at }: Row) => typeof oldest !== 'string' || String(happened_at) >= oldest;
  const entries = [
    ...toHistoryEntries(timeline, page.kind.table.columns),
    ...findingEvents.filter(isShown).map(toFindingEntry),
    ...actions.map(toActionEntry),
    ...gaps
      .filter((gap) => gap.ended_at === null || (typeof oldest === 'string' && String(gap.ended_at) > oldest))
      .map(toGapEntry),
  ];
  return entries.sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0)); // stable: kinds stay in this order
}

const EVENT_TITLES: Readonly<Record<string, string>> = {
  'first pull': 'Present in the first pull',
  appeared: 'Appeared',
  changed: 'Changed',
  gone: 'No longer reported',
  back: 'Reported again',
};

/** The rows of `queries/subjects/timeline.sql` as entries, the newest first. */
export function toHistoryEntries(rows: readonly Row[], columns: readonly Column[]): readonly TimelineEntry[] {
  const types = new Map(columns.map(({ name, type }) => [name, type]));
  const byTime = new Map<string, Row[]>();
  for (const row of rows) byTime.set(String(row.happened_at), [...(byTime.get(String(row.happened_at)) ?? []), row]);
  return [...byTime].map(([at, group]) => {
    const event = group.find((row) => row.event !== 'changed') ?? group[0];
    const changes = group.filter(({ field }) => field !== null);
    return {
      at,
      kind: 'history',
      title: EVENT_TITLES[String(event?.event)] ?? '',
      note: '',
      changes: changes.map(({ field, before, after }) => ({
        field: String(field),
        before: formatText(before ?? null, String(field), types),
        after: formatText(after ?? null, String(field), types),
      })),
    };
  });
}

/** A value that the database converted to text. */
function formatText(value: Value, field: string, types: ReadonlyMap<string, string>): string {
  if (value === null) return EMPTY_CELL;
  const text = String(value);
  const type = types.get(field);
  if (type === 'timestamptz') return text.slice(0, 16);
  if (type === 'boolean') return text === 'true' ? 'yes' : 'no';
  if (type === 'bigint') return formatValue(BigInt(text), inferKind(field, [0]));
  return truncate(text);
}

const REASONS: Readonly<Record<string, string>> = {
  baseline: 'Finding in the first assessment',
  found: 'New finding',
  gone: 'Finding resolved',
  deleted: 'Finding ended with its subject, which was deleted',
  reopened: 'Finding reopened',
  'severity changed': 'Severity of a finding changed',
  accepted: 'Finding accepted',
  'acceptance ended': 'Acceptance of a finding ended',
  'got worse': 'Accepted finding got worse',
};

function toFindingEntry(row: Row): TimelineEntry {
  const note = [row.title, row.note].filter((text) => typeof text === 'string').join('; ');
  return {
    at: String(row.happened_at),
    kind: 'finding',
    title: `${REASONS[String(row.reason)] ?? truncate(String(row.reason))}: ${truncate(String(row.rule))} (${row.severity})`,
    note: truncate(note),
    changes: [],
  };
}

function toActionEntry(row: Row): TimelineEntry {
  const { playbook, operation, approved_by } = row;
  return {
    at: String(row.happened_at),
    kind: 'action',
    title: `Action ${truncate(String(row.status))}: ${truncate(String(operation))}`,
    note: truncate(
      `Playbook ${playbook}${approved_by === null ? '' : `, approved by ${approved_by}`}${row.reason === null ? '' : `: ${row.reason}`}`,
    ),
    changes: [],
  };
}

function toGapEntry(row: Row): TimelineEntry {
  const { happened_at, ended_at, pulls, source } = row;
  const until = ended_at === null ? 'to now' : `to ${formatTime(String(ended_at))}`;
  return {
    at: String(happened_at),
    kind: 'gap',
    title: `No complete pull of ${source} ${until}`,
    note: `${pulls === 1 ? '1 pull' : `${formatNumber(Number(pulls))} pulls`} without a complete one; the last ${describePull(row)}. Changes in this time are shown at the next complete pull.`,
    changes: [],
  };
}

function toActionView(row: Row): object {
  const text = (name: string) => (row[name] === null ? EMPTY_CELL : truncate(String(row[name])));
  return {
    at: formatTime(String(row.happened_at)),
    status: text('status'),
    operation: text('operation'),
    playbook: text('playbook'),
    plan: text('plan_id'),
    approved_by: text('approved_by'),
    reason: text('reason'),
  };
}

/** Every column of the table that the subject's row has, with its value and its meaning. */
function toPresentView({ present, page }: SubjectData, linker: ProductLinker): readonly object[] {
  return page.kind.table.columns
    .filter(({ name }) => name in present && name !== 'target')
    .map(({ name, type, comment }) => {
      const value = present[name] ?? null;
      const isBlock = value !== null && (type === 'json' || (typeof value === 'string' && value.includes('\n')));
      const text = isBlock ? formatBlock(value) : formatValue(value, inferKind(name, [value]));
      const href = name === RUN_COLUMN ? linkRun(present, page.target, linker) : null;
      return { name, meaning: comment, value: text, block: isBlock, href };
    });
}

const RUN_COLUMN = 'current_run_external_id';

/** A run has no page of its own, but one in the product. */
function linkRun(present: Row, target: string, linker: ProductLinker): string | null {
  const id = present[RUN_COLUMN];
  const fields = { ...present, workspace_id: present.external_id ?? null };
  return typeof id === 'string' ? (linker({ target, type: 'run', id, name: null, fields }) ?? null) : null;
}

function formatBlock(value: Value): string {
  const text = typeof value === 'string' ? value : (stringify(value, undefined, 2) ?? '');
  const clean = text.split('\n').map(stripControls).join('\n');
  return clean.length > MAX_VALUE_LENGTH ? `${clean.slice(0, MAX_VALUE_LENGTH)}…` : clean;
}

function toRelatedView(rows: readonly Row[], { linker, selection }: SubjectViewOptions): readonly object[] {
  const relations = new Map<string, Row[]>();
  for (const row of rows) relations.set(String(row.relation), [...(relations.get(String(row.relation)) ?? []), row]);
  return [...relations].map(([relation, group]) => ({
    relation,
    more: Number(group[0]?.total ?? 0) - group.length,
    subjects: group.map((row) => {
      const ref = { target: String(row.target), type: String(row.related_type), id: String(row.related_id) };
      const name = typeof row.related_name === 'string' ? row.related_name : null;
      const hasPage = selection.has(ref.type, ref.target, ref.id);
      const href = hasPage ? subjectPath(ref).replace('subjects/', '') : (linker({ ...ref, name }) ?? null);
      return { name: truncate(name ?? ref.id), href };
    }),
  }));
}
