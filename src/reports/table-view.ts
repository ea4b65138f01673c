import type { SqlParams } from '../warehouse/database.ts';
import { quoteLiteral } from '../warehouse/sql-files.ts';
import type { Row, Value } from '../warehouse/values.ts';
import type { Dataset } from './definitions.ts';
import { formatValue, inferKind, toHeading, truncate, type ValueKind } from './format.ts';

export interface ColumnView {
  readonly name: string;
  readonly label: string;
  readonly kind: ValueKind;
  readonly numeric: boolean;
}

export interface CellView {
  readonly text: string;
  readonly kind: ValueKind;
  readonly numeric: boolean;
  /** Sort key in the browser where the text would sort wrongly; otherwise null. */
  readonly sort: string | null;
  /** `#dataset` with the rows behind a number, or the page of a report; otherwise null. */
  readonly href: string | null;
  /** Filter that limits the linked table to the rows of this number; otherwise null. */
  readonly filter: string | null;
}

/** A dataset as a page shows it. */
export interface TableView {
  readonly id: string;
  readonly title: string;
  readonly about: string;
  readonly empty: string;
  readonly columns: readonly ColumnView[];
  readonly rows: readonly (readonly CellView[])[];
  readonly total: number;
  readonly shown: number;
  readonly cut: boolean;
  /** File with all rows, where the page does not show them all; otherwise null. */
  readonly csv: string | null;
  readonly sql: string;
  /** `name = value` of each parameter that the SQL uses. */
  readonly parameters: readonly string[];
  readonly stale: boolean;
  /** Whether no target has its sources, so that the page leaves it out. */
  readonly absent?: boolean;
}

export interface ViewOptions {
  readonly report: string;
  readonly params: SqlParams;
  readonly staleSources: ReadonlySet<string>;
  /** Names of reports whose pages must not be linked, because they are not rendered. */
  readonly unlinked: ReadonlySet<string>;
  /** Whether the rows have more than one target, so that the column `target` is shown. */
  readonly hasSeveralTargets: boolean;
}

export function toTableView(dataset: Dataset, rows: readonly Row[], options: ViewOptions): TableView {
  const shown = rows.slice(0, dataset.limit);
  const columns = toColumns(dataset, shown, options.hasSeveralTargets);
  const cut = rows.length > shown.length;
  return {
    id: dataset.name,
    title: dataset.title,
    about: dataset.about,
    empty: dataset.empty,
    columns,
    rows: shown.map((row) => toCells(row, columns, dataset, options.unlinked)),
    total: rows.length,
    shown: shown.length,
    cut,
    csv: cut ? csvName(options.report, dataset.name) : null,
    sql: dataset.sql,
    parameters: listUsedParams(dataset.sql, options.params),
    stale: dataset.sources.some((source) => options.staleSources.has(source)),
  };
}

export function csvName(report: string, dataset: string): string {
  return `${report}.${dataset}.csv`;
}

function listUsedParams(sql: string, params: SqlParams): readonly string[] {
  const statement = sql.replaceAll(/^\s*--.*$/gmu, '');
  const used = new Set([...statement.matchAll(/\$(\w+)/gu)].map(([, name = '']) => name));
  return Object.entries(params)
    .filter(([name]) => used.has(name))
    .map(([name, value]) => `${name} = ${typeof value === 'string' ? truncate(quoteLiteral(value)) : String(value)}`);
}

function toColumns(dataset: Dataset, rows: readonly Row[], hasSeveralTargets: boolean): readonly ColumnView[] {
  const names = Object.keys(rows[0] ?? {}).filter(
    (name) => !dataset.hidden.includes(name) && (hasSeveralTargets || name !== 'target'),
  );
  return names.map((name) => {
    const kind = inferKind(
      name,
      rows.map((row) => row[name] ?? null),
    );
    const label = dataset.labels[name] ?? toHeading(name.replace(/(?<=.)_(?:at|percent)$/u, ''));
    return { name, label, kind, numeric: kind === 'number' || kind === 'bytes' || kind === 'percent' };
  });
}

function toCells(
  row: Row,
  columns: readonly ColumnView[],
  { links, pages }: Dataset,
  unlinked: ReadonlySet<string>,
): readonly CellView[] {
  const first = columns.find(({ kind, name }) => kind === 'text' && name !== 'target') ?? columns[0];
  return columns.map(({ name, kind, numeric }) => {
    const value = row[name] ?? null;
    const text = formatValue(value, kind);
    const cell = { text, kind, numeric, sort: sortKey(value, kind, numeric) };
    const page = row[pages[name] ?? ''];
    if (typeof page === 'string' && unlinked.has(page)) return { ...cell, href: null, filter: null };
    if (typeof page === 'string') return { ...cell, href: `${page}.html`, filter: null };
    const isLinked = links[name] !== undefined && value !== null && value !== 0;
    const filter = isLinked && first ? formatValue(row[first.name] ?? null, first.kind) : null;
    return { ...cell, href: isLinked ? `#${links[name]}` : null, filter };
  });
}

function sortKey(value: Value, kind: ValueKind, numeric: boolean): string | null {
  if (value === null) return '';
  return numeric || kind === 'time' ? String(value) : null;
}
