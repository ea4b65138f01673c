import { formatTimestamp } from '../core/clock.ts';
import type { Colors } from '../core/color.ts';
import { type DiffLine, diffValues } from '../core/diff.ts';
import { stripControls } from '../core/log.ts';
import { plural } from '../core/plural.ts';
import { parseLossless } from '../http/json.ts';
import type { Table } from '../warehouse/tables.ts';
import { formatTable, type TableStyle } from './output.ts';

/** A row of the view `changes`. */
export interface ChangeRow {
  readonly at: string;
  readonly target: string;
  readonly table: string;
  readonly key: string;
  readonly name: string | null;
  readonly change: string;
  readonly column: string | null;
  readonly old: string | null;
  readonly new: string | null;
  /** The action in the ledger that made the change; null for what others did. */
  readonly action: { readonly plan_id: string; readonly action_id: string; readonly approved_by: string | null } | null;
}

/** What changed between two times, by table, target and subject, and what is not known of it. */
export interface Difference {
  readonly from: Date;
  readonly to: Date;
  readonly tables: readonly Table[];
  readonly counts: readonly Counts[];
  /** Those of one subject follow each other. They can be read once. */
  readonly rows: AsyncIterable<ChangeRow> | readonly ChangeRow[];
  readonly gaps: readonly { readonly target: string; readonly sources: string; readonly problem: string }[];
}

/** How many rows of a table and target changed, and how many things in which way. */
export type Counts = Readonly<Record<'table' | 'target', string> & Record<'changes' | 'ours' | Kind, number>>;

const KINDS = ['new', 'gone', 'back', 'renamed', 'moved', 'changed'] as const;
type Kind = (typeof KINDS)[number];

/** What changed in one row of a table. */
export interface SubjectChange {
  readonly table: Table;
  readonly rows: readonly [ChangeRow, ...ChangeRow[]];
}

/** Lines of one value. */
const MAX_LINES = 80;

export async function* groupSubjects({ rows, tables }: Difference): AsyncGenerator<SubjectChange> {
  const byName = new Map(tables.map((table) => [table.name, table]));
  const toSubject = (group: [ChangeRow, ...ChangeRow[]]) => ({
    table: byName.get(group[0].table) as Table,
    rows: group,
  });
  let group: [ChangeRow, ...ChangeRow[]] | undefined;
  for await (const row of rows) {
    const [first] = group ?? [];
    const isSame = first?.table === row.table && first.target === row.target && first.key === row.key;
    if (group && isSame) group.push(row);
    else {
      if (group) yield toSubject(group);
      group = [row];
    }
  }
  if (group) yield toSubject(group);
}

/** As `terraform plan` shows a plan. */
export async function* formatText(difference: Difference, colors: Colors): AsyncGenerator<string> {
  let heading = '';
  yield `${describeTimes(difference)}\n`;
  for await (const subject of groupSubjects(difference)) {
    const [{ table, target }] = subject.rows;
    const next = `${clean(table)}, ${clean(target)}`;
    if (next !== heading) yield `\n${colors.bold(next)}\n`;
    heading = next;
    yield formatSubject(subject, colors);
  }
  yield `\n${formatTotals(difference)}\n`;
  for (const gap of describeGaps(difference)) yield `${colors.yellow(`? ${gap}`)}\n`;
}

export function describeTimes({ from, to }: Difference): string {
  return `${formatTimestamp(from)} to ${formatTimestamp(to)}`;
}

/** What has no answer, or not a whole one. */
export function describeGaps({ gaps }: Difference): readonly string[] {
  return gaps.map(({ target, sources, problem }) => clean(`${target}: ${sources}: ${problem}`));
}

const SIGNS: Readonly<Record<string, '+' | '-' | '~'>> = { new: '+', back: '+', gone: '-' };

function formatSubject(subject: SubjectChange, colors: Colors): string {
  const whole = subject.rows.filter(({ column }) => column === null);
  const columns = subject.rows.filter(({ column }) => column !== null);
  const titles = whole.map((row) => ({
    sign: SIGNS[row.change] ?? '~',
    text: `${describeSubject(row)}${describeWhole(row)}${describeActor([row])}`,
  }));
  const [changed] = columns;
  if (changed)
    titles.push({ sign: '~', text: `${describeSubject(changed)}${describeMove(columns)}${describeActor(columns)}` });
  const lines = columns.flatMap((row) => diffColumn(row, subject.table));
  return [
    ...titles.map((line) => formatLine(line, 2, colors)),
    ...lines.map((line) => formatLine(line, 6, colors)),
  ].join('');
}

/** `payments-prod (ws-123)` */
export function describeSubject({ name, key }: ChangeRow): string {
  return clean(name === null || name === key ? key : `${name} (${key})`);
}

/** What is particular about a row that is new, gone or back. */
export function describeWhole({ change, old, new: current }: ChangeRow): string {
  if (change === 'back') return ' is back';
  return change === 'new' && old !== null ? clean(` is another one: ${current}, after ${old} was gone`) : '';
}

/** That a row has another name, or is in another place. */
export function describeMove(rows: readonly ChangeRow[]): string {
  const renamed = rows.find(({ change }) => change === 'renamed');
  const moved = rows.findLast(({ change }) => change === 'moved');
  return clean(
    [renamed && ` was ${renamed.old}`, moved && ` moved from ${moved.old} to ${moved.new}`].filter(Boolean).join(','),
  );
}

/** Which plans made changes; nothing for those of others. */
export function describeActor(rows: readonly ChangeRow[]): string {
  const plans = new Set(rows.flatMap(({ action }) => action?.plan_id ?? []));
  if (plans.size === 0) return '';
  const isPart = rows.some(({ action }) => action === null);
  return clean(`, ${isPart ? 'in part ' : ''}by plan ${[...plans].join(', ')}`);
}

/** The lines that show the change of a column. */
export function diffColumn({ column, old, new: current }: ChangeRow, table: Table): readonly DiffLine[] {
  const name = column ?? '';
  const type = name === table.members ? 'list' : (table.columns.find((each) => each.name === name)?.type ?? '');
  const value = (text: string | null): unknown => {
    if (text === null) return type === 'list' ? [] : null;
    if (type === 'json' || type === 'list' || type.endsWith('[]')) return parseLossless(text);
    return table.changes.encoded.includes(name) ? decode(text) : text;
  };
  const [before, after] = [value(old), value(current)];
  const isPlain = type !== 'varchar' && typeof (before ?? after) === 'string';
  if (isPlain) return [{ sign: '~', text: clean(`${name}: ${old} -> ${current}`) }];
  // An object that is there on one side only has each of its fields added or removed.
  const wrap = (side: unknown) => (side === null && type === 'json' ? null : { [name]: side });
  return bounded(diffValues(wrap(before), wrap(after)));
}

/** What is no text in base64 is shown as it is. */
function decode(text: string): string {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes.toString('utf8') : text;
}

function bounded(lines: readonly DiffLine[]): readonly DiffLine[] {
  if (lines.length <= MAX_LINES) return lines;
  return [...lines.slice(0, MAX_LINES), { sign: ' ', text: `… ${lines.length - MAX_LINES} more lines` }];
}

function formatLine(line: DiffLine, indent: number, colors: Colors): string {
  return `${' '.repeat(indent)}${paintLine(line, colors)}\n`;
}

export function paintLine({ sign, text }: DiffLine, colors: Colors): string {
  const paint = { '-': colors.red, '+': colors.green, '~': colors.yellow, ' ': String }[sign];
  return paint(`${sign} ${clean(text)}`);
}

/** `3 new, 1 gone, 12 changed`; that nothing changed is said only of what is known. */
export function formatTotals({ counts, gaps }: Difference): string {
  const sum = (name: 'changes' | 'ours' | Kind) => counts.reduce((total, count) => total + count[name], 0);
  const parts = KINDS.flatMap((kind) => (sum(kind) > 0 ? [`${sum(kind)} ${kind}`] : []));
  const ours = sum('ours');
  if (parts.length > 0)
    return `${parts.join(', ')}${ours > 0 ? `; ${ours} of ${plural(sum('changes'), 'change')} by plans` : ''}`;
  return gaps.length === 0 ? 'no differences' : `no differences are known; ${plural(gaps.length, 'gap')}`;
}

/** The numbers of each table and target. */
export function formatStat(difference: Difference, style: TableStyle): string {
  const lines = difference.counts.map((count) => [
    count.table,
    count.target,
    ...KINDS.map((kind) => String(count[kind] || '')),
  ]);
  const table = lines.length > 0 ? formatTable(['table', 'target', ...KINDS], lines, style) : '';
  const gaps = describeGaps(difference).map((gap) => `${style.colors.yellow(`? ${gap}`)}\n`);
  return `${describeTimes(difference)}: ${formatTotals(difference)}\n${table}${gaps.join('')}`;
}

/** One line without control characters. */
export function clean(text: string): string {
  return stripControls(text.replaceAll(/[\r\n\t]+/gu, ' '));
}
