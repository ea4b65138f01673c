import type { SqlParams } from '../../warehouse/database.ts';
import { quoteLiteral } from '../../warehouse/sql-files.ts';
import { replaceParams } from '../../warehouse/sql-params.ts';
import type { Row, Value } from '../../warehouse/values.ts';
import type { Dataset } from './definitions.ts';
import { EMPTY_CELL, formatValue, inferKind, toHeading } from './format.ts';
import { escapeMarkup, isolate } from './markup.ts';
import { describeParts, drawStrip, measureParts, toParts } from './strip.ts';
import type { NamedSubject, SubjectLinker } from './subjects.ts';

type ColumnView = Readonly<ReturnType<typeof toColumns>[number]>;

export type CellView = Readonly<ReturnType<typeof toCells>[number]>;

/** A dataset as a page shows it. `absent`: no target has its sources, so that the page leaves it out. */
export type TableView = ReturnType<typeof toTableView> & { readonly absent?: boolean };

/** Rows that a table shows without a control for the others. The stylesheet shows 15 of a longer one. */
const MAX_SHORT_ROWS = 20;
/** Characters of a table on a page, with about this much markup for each cell. */
const MAX_TABLE_LENGTH = 1_000_000;
const CELL_MARKUP_LENGTH = 16;

interface ViewOptions {
  readonly report: string;
  readonly params: SqlParams;
  readonly staleSources: ReadonlySet<string>;
  readonly unlinked: ReadonlySet<string>;
  readonly linkSubject?: SubjectLinker | undefined;
  /** Whether the rows have more than one target, so that the column `target` is shown. */
  readonly hasSeveralTargets: boolean;
}

/** A dataset with its first rows, at least as many as a page shows, and what follows from all of them. */
export interface HeldDataset extends Dataset {
  readonly rows: readonly Row[];
  readonly total: number;
  /** Of each column with bars: the length that fills one. */
  readonly longest: ReadonlyMap<string, number>;
}

/** Adds the next rows of a dataset to those before. */
export function holdRows(dataset: Dataset & Partial<HeldDataset>, more: readonly Row[]): HeldDataset {
  const { rows = [], total = 0, longest } = dataset;
  const measure = (name: string) =>
    more.reduce((most, row) => Math.max(most, measureParts(toParts(row[name] ?? null))), longest?.get(name) ?? 0);
  return {
    ...dataset,
    rows: total > dataset.limit ? rows : [...rows, ...more],
    total: total + more.length,
    longest: new Map(Object.keys(dataset.strips).map((name) => [name, measure(name)])),
  };
}

export function toTableView(dataset: HeldDataset, options: ViewOptions) {
  const { rows, total } = dataset;
  const columns = toColumns(dataset, options.hasSeveralTargets);
  const table = { ...options, dataset, columns };
  const shown = limitLength(rows.slice(0, dataset.limit).map((row) => toCells(row, table)));
  const cut = total > shown.length;
  return {
    id: dataset.name,
    title: dataset.title,
    about: dataset.about,
    empty: dataset.empty,
    columns,
    rows: shown,
    /** What the colors of its pictures mean. */
    legend: Object.entries(dataset.legend).map(([kind, meaning]) => ({ kind, meaning })),
    total,
    shown: shown.length,
    cut,
    /** File with all rows, where the page does not show them all. */
    csv: cut ? csvName(options.report, dataset.name) : null,
    /** Whether the page first shows the first rows only. */
    long: shown.length > MAX_SHORT_ROWS,
    /** The statement with the values of its parameters, as `tidemark sql` runs it. */
    sql: inlineParams(dataset.sql, options.params),
    /** Whether it is no table of the page, so that the page does not say that it is empty. */
    isQuiet: dataset.isQuiet,
    stale: dataset.sources.some((source) => options.staleSources.has(source)),
  };
}

export function csvName(report: string, dataset: string): string {
  return `${report}.${dataset}.csv`;
}

/** The first rows, up to the length that keeps a page readable by a browser. */
function limitLength(rows: readonly (readonly CellView[])[]): readonly (readonly CellView[])[] {
  let length = 0;
  const end = rows.findIndex((row) => {
    for (const { text } of row) length += text.length + CELL_MARKUP_LENGTH;
    return length > MAX_TABLE_LENGTH;
  });
  return end < 0 ? rows : rows.slice(0, Math.max(1, end));
}

/**
 * The statement with values in place of parameters, and without the comment at its start: a shell would pass that to `tidemark sql` as
 * an option.
 */
function inlineParams(sql: string, params: SqlParams): string {
  const statement = sql.replace(/^(?:--.*\n)*/u, '');
  return replaceParams(statement, (name) => (params[name] === undefined ? `$${name}` : toLiteral(params[name])));
}

/** A text that may contain control characters is JSON, where an escape sequence has the same value. */
function toLiteral(value: SqlParams[string]): string {
  if (typeof value !== 'string') return String(value);
  const escapeUnit = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return quoteLiteral(
    value.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (text) => text.split('').map(escapeUnit).join('')),
  );
}

function toColumns({ hidden, labels, limit, rows, longest }: HeldDataset, hasSeveralTargets: boolean) {
  const shown = rows.slice(0, limit);
  const names = Object.keys(rows[0] ?? {}).filter(
    (name) => !hidden.includes(name) && (hasSeveralTargets || name !== 'target'),
  );
  return names.map((name) => {
    const values = shown.map((row) => row[name] ?? null);
    const kind = inferKind(name, values);
    return {
      name,
      label: labels[name] ?? toHeading(name.replace(/(?<=.)_(?:at|percent)$/u, '')),
      kind,
      numeric: kind === 'number' || kind === 'bytes' || kind === 'percent',
      /** The length that fills a bar of its cells. */
      longest: longest.get(name) ?? 0,
    };
  });
}

interface Table extends ViewOptions {
  readonly dataset: Dataset;
  readonly columns: readonly ColumnView[];
}

/** `html`: the cell of the page, as an element. Cells are most of a page, so they are not a template. */
function toCells(row: Row, table: Table) {
  return table.columns.map((column) => {
    const { name, kind, numeric, longest } = column;
    const value = row[name] ?? null;
    const strip = table.dataset.strips[name];
    const parts = strip === undefined ? undefined : toParts(value);
    const text = parts ? describeParts(parts) || EMPTY_CELL : formatValue(value, kind);
    const style = numeric ? ' class="n"' : kind === 'time' ? ' class="t"' : '';
    // The text sorts as the value does, but for formatted numbers. The browser takes the text of NULL for an unknown value.
    const isSortedAsText = !numeric || value === null || String(value) === text;
    const sort = isSortedAsText ? '' : ` data-v="${escapeMarkup(String(value))}"`;
    const picture = parts && strip ? drawStrip(parts, strip, longest) : '';
    return { text, html: `<td${style}${sort}>${picture || drawContent(row, text, column, table)}</td>` };
  });
}

function drawContent(row: Row, text: string, { name, kind }: ColumnView, table: Table): string {
  const href = toHref(row, name, table);
  if (href !== null) {
    const filter = href.startsWith('#') ? ` data-filter="${escapeMarkup(toFilter(row, table.columns))}"` : '';
    return `<a href="${escapeMarkup(href)}"${filter}>${isolate(text)}</a>`;
  }
  const list = row[table.dataset.details[name] ?? ''];
  if (Array.isArray(list) && list.length > 0) {
    const items = list.map((item) => `<li>${isolate(formatValue(item, 'text'))}</li>`).join('');
    return `<details><summary>${isolate(text)}</summary><ul>${items}</ul></details>`;
  }
  if (kind === 'tag' && text !== EMPTY_CELL)
    return `<span class="tag" data-value="${escapeMarkup(text)}">${escapeMarkup(text)}</span>`;
  return isolate(text);
}

function toHref(row: Row, name: string, { dataset, unlinked, linkSubject }: Table): string | null {
  const { pages, links, subjects } = dataset;
  const value = row[name] ?? null;
  const report = row[pages[name] ?? ''];
  if (typeof report === 'string') return unlinked.has(report) ? null : `${report}.html`;
  if (links[name] !== undefined && value !== null && value !== 0) return `#${links[name]}`;
  const subject = subjects[name];
  if (subject === undefined || value === null) return null;
  return linkSubject?.({ ...toSubject(row, value, subject), fields: row }) ?? null;
}

function toSubject(row: Row, value: Value, subject: string): NamedSubject {
  const name = String(value);
  const [type = '', id] = subject.split(':');
  return {
    target: String(row.target ?? ''),
    type: type.startsWith('$') ? String(row[type.slice(1)] ?? '') : type,
    id: id === undefined ? name : String(row[id] ?? name),
    name,
  };
}

/** The text of the row's first column that names it: it limits the linked table to the rows of a number. */
function toFilter(row: Row, columns: readonly ColumnView[]): string {
  const first = columns.find(({ kind, name }) => kind === 'text' && name !== 'target') ?? columns[0];
  return first ? formatValue(row[first.name] ?? null, first.kind) : '';
}
