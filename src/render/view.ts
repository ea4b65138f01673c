import type { Params } from '../warehouse/database.ts';
import { literal } from '../warehouse/sql-files.ts';
import type { Plain, Row } from '../warehouse/values.ts';
import { type Dataset, headingOf } from './definitions.ts';
import { formatValue, type Kind, kindOf, shortened } from './format.ts';

export interface ColumnView {
  readonly name: string;
  readonly label: string;
  readonly kind: Kind;
  readonly numeric: boolean;
}

export interface CellView {
  readonly text: string;
  readonly kind: Kind;
  readonly numeric: boolean;
  /** What the column is sorted by in the browser, where the text would sort wrong; null where it does. */
  readonly sort: string | null;
  /** `#dataset` with the rows behind a number; null where there is none. */
  readonly href: string | null;
  /** The words by which the linked table is narrowed to this row. */
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
  /** File with all rows, where the page does not show them all. */
  readonly csv: string | null;
  readonly sql: string;
  /** `name = value` of each parameter that the SQL mentions. */
  readonly parameters: readonly string[];
  readonly stale: boolean;
}

export interface ViewOptions {
  readonly report: string;
  readonly params: Params;
  readonly staleSources: ReadonlySet<string>;
  /** Names of reports whose pages are not there to be linked to. */
  readonly absent: ReadonlySet<string>;
  /** Whether there is more than one target to tell apart. */
  readonly severalTargets: boolean;
}

export function tableView(dataset: Dataset, rows: readonly Row[], options: ViewOptions): TableView {
  const shown = rows.slice(0, dataset.limit);
  const columns = columnsOf(dataset, shown, options.severalTargets);
  const cut = rows.length > shown.length;
  return {
    id: dataset.name,
    title: dataset.title,
    about: dataset.about,
    empty: dataset.empty,
    columns,
    rows: shown.map((row) => cellsOf(row, columns, dataset, options.absent)),
    total: rows.length,
    shown: shown.length,
    cut,
    csv: cut ? csvName(options.report, dataset.name) : null,
    sql: dataset.sql,
    parameters: parametersIn(dataset.sql, options.params),
    stale: dataset.sources.some((source) => options.staleSources.has(source)),
  };
}

export function csvName(report: string, dataset: string): string {
  return `${report}.${dataset}.csv`;
}

export function parametersIn(sql: string, params: Params): readonly string[] {
  const statement = sql.replaceAll(/^\s*--.*$/gmu, '');
  const mentioned = new Set([...statement.matchAll(/\$(\w+)/gu)].map(([, name = '']) => name));
  return Object.entries(params)
    .filter(([name]) => mentioned.has(name))
    .map(([name, value]) => `${name} = ${typeof value === 'string' ? shortened(literal(value)) : String(value)}`);
}

function columnsOf(dataset: Dataset, rows: readonly Row[], severalTargets: boolean): readonly ColumnView[] {
  const names = Object.keys(rows[0] ?? {}).filter(
    (name) => !dataset.hidden.includes(name) && (severalTargets || name !== 'target'),
  );
  return names.map((name) => {
    const kind = kindOf(
      name,
      rows.map((row) => row[name] ?? null),
    );
    const label = dataset.labels[name] ?? headingOf(name.replace(/_(?:at|percent)$/u, ''));
    return { name, label, kind, numeric: kind === 'number' || kind === 'bytes' || kind === 'percent' };
  });
}

function cellsOf(
  row: Row,
  columns: readonly ColumnView[],
  { links, pages }: Dataset,
  absent: ReadonlySet<string>,
): readonly CellView[] {
  const first = columns.find(({ kind, name }) => kind === 'text' && name !== 'target') ?? columns[0];
  return columns.map(({ name, kind, numeric }) => {
    const value = row[name] ?? null;
    const text = formatValue(value, kind);
    const cell = { text, kind, numeric, sort: sortKey(value, kind, numeric) };
    const page = row[pages[name] ?? ''];
    if (typeof page === 'string' && absent.has(page)) return { ...cell, href: null, filter: null };
    if (typeof page === 'string') return { ...cell, href: `${page}.html`, filter: null };
    const linked = links[name] !== undefined && value !== null && value !== 0;
    const filter = linked && first ? formatValue(row[first.name] ?? null, first.kind) : null;
    return { ...cell, href: linked ? `#${links[name]}` : null, filter };
  });
}

function sortKey(value: Plain, kind: Kind, numeric: boolean): string | null {
  if (value === null) return '';
  return numeric || kind === 'time' ? String(value) : null;
}
