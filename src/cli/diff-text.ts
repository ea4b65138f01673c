import { formatTimestamp } from '../core/clock.ts';
import type { Colors } from '../core/color.ts';
import { type DiffLine, diffValues } from '../core/diff.ts';
import { parseLossless } from '../core/json.ts';
import { stripControls } from '../core/log.ts';
import { plural } from '../core/plural.ts';
import type { Table } from '../warehouse/tables.ts';
import { formatTable, type TableStyle } from './output.ts';

/** A row of the view `attributed_changes`. `action`: that of the ledger that made the change; null for what others did. */
type ChangeRow = Readonly<
  Record<'target' | 'table' | 'key' | 'change', string> &
    Record<'name' | 'column' | 'old' | 'new', string | null> & { action: { readonly plan_id: string } | null }
>;

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

/** Lines of one value, of a body or of a difference. JSON and plan files have the rest. */
const MAX_LINES = 80;

interface Title extends Pick<DiffLine, 'sign'> {
  readonly change: string;
  readonly subject: string;
  /** May be empty. */
  readonly remark: string;
}

/** The changes of each subject, whose rows follow each other: a title for each way in which it changed, and the lines of each column. */
async function* tellSubjects({ rows, tables }: Difference) {
  const byName = new Map(tables.map((table) => [table.name, table]));
  let last: ChangeRow | undefined;
  const tell = (group: readonly ChangeRow[]) => {
    const [first] = group as [ChangeRow];
    /** Whether the one before was of the same table and target. */
    const isSame = last?.table === first.table && last.target === first.target;
    last = first;
    const columns = group.filter(({ column }) => column !== null);
    const titles = group.filter(({ column }) => column === null).map(describeWhole);
    return {
      table: first.table,
      target: first.target,
      isSame,
      titles: [...titles, ...describeColumns(columns)],
      values: columns.map((row) => diffColumn(row, byName.get(row.table) as Table)),
    };
  };
  let group: ChangeRow[] = [];
  for await (const row of rows) {
    const [first = row] = group;
    if (first.table !== row.table || first.target !== row.target || first.key !== row.key) {
      yield tell(group);
      group = [];
    }
    group.push(row);
  }
  if (group.length > 0) yield tell(group);
}

/** As `terraform plan` shows a plan. */
export async function* formatText(difference: Difference, colors: Colors): AsyncGenerator<string> {
  yield `${describeTimes(difference)}\n`;
  for await (const { table, target, isSame, titles, values } of tellSubjects(difference)) {
    if (!isSame) yield `\n${colors.bold(`${clean(table)}, ${clean(target)}`)}\n`;
    for (const { sign, subject, remark } of titles) yield `  ${paintLine({ sign, text: subject + remark }, colors)}\n`;
    for (const line of values.flat()) yield `      ${paintLine(line, colors)}\n`;
  }
  yield `\n${formatTotals(difference)}\n`;
  for (const gap of describeGaps(difference)) yield `${colors.yellow(`? ${gap}`)}\n`;
}

/** For a ticket: a heading for each table, and an item for each subject. Texts of a service are in code spans, so that they are no markup. */
export async function* formatMarkdown(difference: Difference): AsyncGenerator<string> {
  yield `## ${describeTimes(difference)}\n\n${formatTotals(difference)}\n`;
  for await (const { table, target, isSame, titles, values } of tellSubjects(difference)) {
    if (!isSame) yield `\n### ${code(table)}, ${code(target)}\n\n`;
    for (const { change, subject, remark } of titles) {
      yield `- **${change}** ${code(subject)}${remark === '' ? '' : ` ${code(remark.replace(/^[ ,]+/u, ''))}`}\n`;
    }
    for (const lines of values) yield formatColumn(lines);
  }
  const gaps = describeGaps(difference).map((gap) => `- ${code(gap)}\n`);
  if (gaps.length > 0) yield `\n### Not known\n\n${gaps.join('')}`;
}

/** One line in the list; several as a block. */
function formatColumn(lines: readonly DiffLine[]): string {
  const [line] = lines;
  if (line && lines.length === 1) return `  - ${code(line.text)}\n`;
  const texts = lines.map(({ sign, text }) => `${sign} ${stripControls(text)}`);
  const fence = fenceFor(texts.join('\n'), 3);
  return ['', `${fence}diff`, ...texts, fence, ''].map((text) => (text === '' ? '\n' : `  ${text}\n`)).join('');
}

function code(text: string): string {
  const plain = stripControls(text.replaceAll(/\s+/gu, ' '));
  const fence = fenceFor(plain, 1);
  return fence === '`' ? `\`${plain}\`` : `${fence} ${plain} ${fence}`;
}

/** More backticks than the text has in a row. */
function fenceFor(text: string, least: number): string {
  const longest = [...text.matchAll(/`+/gu)].reduce((most, [run]) => Math.max(most, run.length), 0);
  return '`'.repeat(Math.max(least, longest + 1));
}

function describeTimes({ from, to }: Difference): string {
  return `${formatTimestamp(from)} to ${formatTimestamp(to)}`;
}

/** What has no answer, or not a whole one. */
function describeGaps({ gaps }: Difference): readonly string[] {
  return gaps.map(({ target, sources, problem }) => clean(`${target}: ${sources}: ${problem}`));
}

const SIGNS: Readonly<Record<string, '+' | '-' | '~'>> = { new: '+', back: '+', gone: '-' };

/** That a row is new, gone or back. */
function describeWhole(row: ChangeRow): Title {
  const { change, old, new: current } = row;
  const isOther = change === 'new' && old !== null;
  const what = isOther ? clean(` is another one: ${current}, after ${old} was gone`) : '';
  return { change, sign: SIGNS[change] ?? '~', ...toTitle(change === 'back' ? ' is back' : what, [row]) };
}

/** That columns of a row changed, it has another name, or is in another place. */
function describeColumns(rows: readonly ChangeRow[]): readonly Title[] {
  if (rows.length === 0) return [];
  const renamed = rows.find(({ change }) => change === 'renamed');
  const moved = rows.findLast(({ change }) => change === 'moved');
  const moves = [renamed && ` was ${renamed.old}`, moved && ` moved from ${moved.old} to ${moved.new}`];
  return [{ change: 'changed', sign: '~', ...toTitle(clean(moves.filter(Boolean).join(',')), rows) }];
}

/** `payments-prod (ws-123)`, and what is remarkable about it. */
function toTitle(what: string, rows: readonly ChangeRow[]): Pick<Title, 'subject' | 'remark'> {
  const [{ name, key }] = rows as [ChangeRow];
  const subject = clean(name === null || name === key ? key : `${name} (${key})`);
  return { subject, remark: `${what}${describeActor(rows)}` };
}

/** Which plans made changes; nothing for those of others. */
function describeActor(rows: readonly ChangeRow[]): string {
  const plans = new Set(rows.flatMap(({ action }) => action?.plan_id ?? []));
  if (plans.size === 0) return '';
  const isPart = rows.some(({ action }) => action === null);
  return clean(`, ${isPart ? 'in part ' : ''}by plan ${[...plans].join(', ')}`);
}

/** The lines that show the change of a column. */
function diffColumn({ column, old, new: current }: ChangeRow, table: Table): readonly DiffLine[] {
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
  return bounded(diffValues(wrap(before), wrap(after)), (text) => ({ sign: ' ', text }));
}

/** What is no text in base64 is shown as it is. */
function decode(text: string): string {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes.toString('utf8') : text;
}

/** @param toLine makes a line of a text */
export function bounded<T>(lines: readonly T[], toLine: (text: string) => T): readonly T[] {
  if (lines.length <= MAX_LINES) return lines;
  return [...lines.slice(0, MAX_LINES), toLine(`… ${lines.length - MAX_LINES} more lines`)];
}

export function paintLine({ sign, text }: DiffLine, colors: Colors): string {
  const paint = { '-': colors.red, '+': colors.green, '~': colors.yellow, ' ': String }[sign];
  return paint(`${sign} ${clean(text)}`);
}

/** `3 new, 1 gone, 12 changed`; that nothing changed is said only of what is known. */
function formatTotals({ counts, gaps }: Difference): string {
  const sum = (name: 'changes' | 'ours' | Kind) => counts.reduce((total, count) => total + count[name], 0);
  const parts = KINDS.flatMap((kind) => (sum(kind) > 0 ? [`${sum(kind)} ${kind}`] : []));
  const ours = sum('ours');
  if (parts.length > 0)
    return `${parts.join(', ')}${ours > 0 ? `; ${ours} of ${plural(sum('changes'), 'change')} by plans` : ''}`;
  return gaps.length === 0 ? 'no differences' : `no differences are known; ${plural(gaps.length, 'gap')}`;
}

/** The numbers of each table and target. */
export function formatStat(difference: Difference, style: TableStyle): string {
  const toCells = (count: Counts) => [count.table, count.target, ...KINDS.map((kind) => String(count[kind] || ''))];
  const lines = difference.counts.map(toCells);
  const table = lines.length > 0 ? formatTable(['table', 'target', ...KINDS], lines, style) : '';
  const gaps = describeGaps(difference).map((gap) => `${style.colors.yellow(`? ${gap}`)}\n`);
  return `${describeTimes(difference)}: ${formatTotals(difference)}\n${table}${gaps.join('')}`;
}

/** One line without control characters. */
export function clean(text: string): string {
  return stripControls(text.replaceAll(/[\r\n\t]+/gu, ' '));
}
