import { groupBy } from '../../core/group-by.ts';
import { printJson } from '../../core/json.ts';
import { shortenText, stripControls } from '../../core/log.ts';
import { quoteIdent, quoteLiteral } from '../../warehouse/sql-files.ts';
import type { Column } from '../../warehouse/tables.ts';
import type { Row, Value } from '../../warehouse/values.ts';
import { explainFinding, type Guide, shownSince } from '../findings/guide.ts';
import { cleanTexts, EMPTY_CELL, formatTime, formatValue, inferKind, truncate } from './format.ts';
import type { ProductLinker } from './links.ts';
import type { SubjectKind, SubjectOptions, SubjectPage, SubjectSelection } from './subjects.ts';
import { querySubjects, subjectKey, subjectPath } from './subjects.ts';

/** The statements for all kinds, and most rows of each that a page shows; 0 where it has all of them. */
const SHARED = { page_findings: 0, finding_events: 0, actions: 0, related: 50, gaps: 20 } as const;
/** Times of the history that a page shows. */
const MAX_TIMES = 50;
/** Characters of a value on the page of its subject. The table has all of it. */
const MAX_VALUE_LENGTH = 10_000;
/** Characters of a column that are read for all pages. */
const MAX_LENGTH = 10_000_000;

/** The rows of each subject; those of a source by target and source. */
type RowsByKey = ReadonlyMap<string, readonly Row[]>;

/** All that the page of one subject shows, as rows of `queries/subjects/`. */
type SubjectData = Readonly<ReturnType<typeof toSubjectData>>;

/** Reads what the selected subjects' pages show, kind by kind: a fixed number of statements, whatever the number of subjects. */
export async function* readSubjects(options: SubjectOptions, pages: readonly SubjectPage[]) {
  if (pages.length === 0) return;
  const shared = new Map<string, RowsByKey>();
  for (const [name, limit] of Object.entries(SHARED)) {
    const sql = options.files.read(`subjects/${name}`);
    shared.set(name, groupRows(await querySubjects(options, name, sql, { limit })));
  }
  const maxLength = Math.max(MAX_VALUE_LENGTH, Math.floor(MAX_LENGTH / pages.length));
  for (const [kind, members] of groupBy(pages, (page) => page.kind)) {
    const own = await readKind(options, kind, maxLength);
    for (const page of members) yield toSubjectData(page, own, shared);
  }
}

type KindRows = Readonly<Record<'present' | 'timeline', RowsByKey>>;

async function readKind(options: SubjectOptions, { slug, type, versions, table }: SubjectKind, maxLength: number) {
  const long = table.columns.filter((column) => column.type === 'varchar' || column.type === 'json');
  const columns = versions.includes('version.*') ? long : [];
  const cut = columns.map(({ name, type: columnType }) => {
    const convert = columnType === 'json' ? 'to_json' : '';
    return options.files.render('subjects/cut_text', { name: quoteIdent(name), convert });
  });
  const parts = {
    subject: quoteLiteral(type),
    versions,
    source: quoteLiteral(table.source ?? ''),
    texts: cut.join(',\n') || 'subject_name as subject_name',
  };
  const read = async (file: string) => {
    const sql = options.files.render(`subjects/${file}`, parts);
    return groupRows(await querySubjects(options, slug, sql, { limit: MAX_TIMES, max_length: maxLength }), type);
  };
  return { present: await read('present'), timeline: await read('timeline') };
}

function groupRows(rows: readonly Row[], type?: string): RowsByKey {
  return groupBy(rows, (row) => subjectKey(type ?? row.subject_type, row.target, row.subject_id ?? row.source));
}

function toSubjectData(page: SubjectPage, own: KindRows, shared: ReadonlyMap<string, RowsByKey>) {
  const { type, target, id, kind } = page;
  const take = (rows: RowsByKey | undefined, name?: string) =>
    rows?.get(name === 'gaps' ? subjectKey(undefined, target, kind.table.source) : subjectKey(type, target, id)) ?? [];
  const rows = Object.fromEntries([...shared].map(([name, groups]) => [name, take(groups, name)]));
  return {
    ...(rows as Record<keyof typeof SHARED, readonly Row[]>),
    page,
    /** The last version of its row. */
    present: take(own.present)[0] ?? {},
    timeline: take(own.timeline),
  };
}

/** What changed in a column of a subject's row. */
type Change = Readonly<Record<'field' | 'before' | 'after', string>>;

/** A subject as its page and its text show it. Every text is free of control characters. */
export type SubjectView = ReturnType<typeof toSubjectView>;

interface SubjectViewOptions {
  readonly guide: readonly Guide[];
  readonly linker: ProductLinker;
  readonly selection: Pick<SubjectSelection, 'has'>;
}

export function toSubjectView(data: SubjectData, options: SubjectViewOptions) {
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
    summary: page.summary,
    product: url === undefined ? null : { url, host: new URL(url).host },
    /** Why the data is older than the page; empty if it is not. */
    stale: stripControls(String(gaps[0]?.stale ?? '')),
    findings: data.page_findings.map((row) => toFindingView(row, options.guide)),
    timeline: buildTimeline(data),
    /** Times of the history that are not shown. */
    earlier: Number(timeline[0]?.times ?? 0) - shownTimes,
    present: toPresentView(data, options.linker),
    related: data.related.map((row) => toRelation(row, options)),
    actions: data.actions.map(toActionView),
  };
}

export function toFindingView(row: Row, guide: readonly Guide[]) {
  const text = (name: string) => (typeof row[name] === 'string' ? truncate(row[name]) : '');
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
    since: formatTime(shownSince(row)),
    first_seen: formatTime(String(row.first_seen)),
    times_reopened: Number(row.times_reopened ?? 0),
    /** Since when it is not known whether it is still so; empty where it is. */
    unassessed: typeof row.unassessed_since === 'string' ? formatTime(row.unassessed_since) : '',
    accepted:
      row.accepted_owner === null
        ? ''
        : `by ${text('accepted_owner')} until ${formatTime(text('accepted_until'))}: ${text('accepted_reason')}`,
    repair,
    command,
    about,
    ...explanation,
    saw: saw.map(({ name, value }) => ({ name: truncate(name), value: truncate(value) })),
  };
}

/** History, findings, actions and gaps, the newest first. */
function buildTimeline({ page, timeline, finding_events: events, actions, gaps }: SubjectData) {
  const oldest = String(timeline.at(-1)?.happened_at ?? '');
  const others = [
    ...events.filter(({ happened_at }) => String(happened_at) >= oldest),
    ...actions,
    ...gaps.filter(({ ended_at }) => ended_at === null || (oldest && String(ended_at) > oldest)),
  ];
  const history = toHistoryEntries(timeline, page.kind.table.columns);
  const entries = [...history, ...others.map((row) => toEntry(row))];
  return entries.sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0)); // stable: kinds stay in this order
}

const MAX_NOTE_LENGTH = 600;

/** One time in the life of a subject: its `kind` is `history`, `finding`, `action` or `gap`. */
function toEntry({ happened_at, kind, title, note }: Row, changes: readonly Change[] = []) {
  return {
    at: String(happened_at),
    kind: String(kind),
    title: truncate(String(title)),
    note: truncate(String(note ?? ''), MAX_NOTE_LENGTH),
    changes,
  };
}

/** The rows of `queries/subjects/timeline.sql` as entries, the newest first. */
export function toHistoryEntries(rows: readonly Row[], columns: readonly Column[]) {
  const types = new Map(columns.map(({ name, type }) => [name, type]));
  return [...groupBy(rows, ({ happened_at }) => happened_at).values()].map((group) => {
    const changes = group.flatMap(({ field, before = null, after = null }) => {
      const format = (value: Value) => formatText(value, String(field), types.get(String(field)));
      return field === null ? [] : [{ field: String(field), before: format(before), after: format(after) }];
    });
    return toEntry(group[0], changes);
  });
}

/** A value that the database converted to text. */
function formatText(value: Value, field: string, type: string | undefined): string {
  if (value === null) return EMPTY_CELL;
  const text = String(value);
  if (type === 'timestamptz') return text.slice(0, 16);
  if (type === 'boolean') return text === 'true' ? 'yes' : 'no';
  if (type === 'bigint') return formatValue(BigInt(text), inferKind(field, [0]));
  return truncate(text);
}

/** The columns of `queries/subjects/actions.sql` that are not of the timeline. */
function toActionView({ at, status, operation, playbook, plan, approved_by, reason }: Row) {
  return cleanTexts({ at, status, operation, playbook, plan, approved_by, reason });
}

/** Every column of the table that the subject's row has, with its value and its meaning. */
function toPresentView({ present, page }: SubjectData, linker: ProductLinker) {
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
  const text = typeof value === 'string' ? value : printJson(value);
  return shortenText(text.split('\n').map(stripControls).join('\n'), MAX_VALUE_LENGTH);
}

function toRelation({ relation, total, subjects }: Row, { linker, selection }: SubjectViewOptions) {
  const shown = (subjects as readonly Row[]).map((row) => {
    const ref = { target: String(row.target), type: String(row.type), id: String(row.id) };
    const name = typeof row.name === 'string' ? row.name : null;
    const hasPage = selection.has(ref.type, ref.target, ref.id);
    const href = hasPage ? subjectPath(ref).replace('subjects/', '') : (linker({ ...ref, name }) ?? null);
    return { name: truncate(name ?? ref.id), href };
  });
  return { relation: String(relation), more: Number(total) - shown.length, subjects: shown };
}
