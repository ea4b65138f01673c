import { unknownName } from '../../config/suggest.ts';
import { TidemarkError } from '../../core/errors.ts';
import { quoteIdent, quoteLiteral } from '../../warehouse/sql-files.ts';

/** What the address of a table's page says after the path: `state__exact=open&since__gte=2026-11-01&_sort_desc=since&_page=2`. */
export interface TableAddress {
  readonly filters: readonly Filter[];
  readonly sort: { readonly column: string; readonly isDescending: boolean } | undefined;
  /** From 1. */
  readonly page: number;
}

export interface Filter {
  readonly column: string;
  readonly operator: Operator;
  readonly value: string;
}

type Operator = keyof typeof OPERATORS;

interface OperatorRule {
  readonly label: string;
  /** @param column SQL @param type DuckDB's name of its type @param value a literal */
  readonly sql: (column: string, type: string, value: string) => string;
}

/** The words of Datasette, which says them in addresses as well. */
export const OPERATORS = {
  exact: { label: '=', sql: (column, type, value) => `${column} = ${value}::${type}` },
  not: { label: '≠', sql: (column, type, value) => `${column} is distinct from ${value}::${type}` },
  contains: { label: 'contains', sql: (column, _, value) => `contains(lower(${column}::varchar), lower(${value}))` },
  gte: { label: '≥', sql: (column, type, value) => `${column} >= ${value}::${type}` },
  lte: { label: '≤', sql: (column, type, value) => `${column} <= ${value}::${type}` },
  isnull: { label: 'is empty', sql: (column) => `${column} is null` },
  notnull: { label: 'is not empty', sql: (column) => `${column} is not null` },
} as const satisfies Readonly<Record<string, OperatorRule>>;

const PARAMETER = /^(?<column>.+)__(?<operator>[a-z]+)$/u;

/** @throws TidemarkError USAGE for a column or an operator that there is not: a filter that is left out would show too much */
export function readAddress({ searchParams }: URL, columns: readonly string[]): TableAddress {
  const filters = [...searchParams].flatMap(([name, value]) => {
    if (name === 'as_of' || name.startsWith('_')) return [];
    const { column = name, operator = 'exact' } = PARAMETER.exec(name)?.groups ?? {};
    assertKnown('column', column, columns);
    assertKnown('operator', operator, Object.keys(OPERATORS));
    return [{ column, operator: operator as Operator, value }];
  });
  const descending = searchParams.get('_sort_desc');
  const column = descending ?? searchParams.get('_sort');
  if (column) assertKnown('column', column, columns);
  return {
    filters,
    sort: column ? { column, isDescending: descending !== null } : undefined,
    page: readPageNumber(searchParams),
  };
}

function assertKnown(what: string, name: string, known: readonly string[]): void {
  if (!known.includes(name)) throw unknownName(what, name, known);
}

const MAX_PAGE = 1_000_000;

function readPageNumber(params: URLSearchParams): number {
  const text = params.get('_page') ?? '1';
  if (/^[1-9]\d*$/u.test(text) && Number(text) <= MAX_PAGE) return Number(text);
  throw new TidemarkError('USAGE', `_page=${text} is not a page`, { hint: `give a number from 1 to ${MAX_PAGE}` });
}

/** The filter that the form of a page adds, if its fields are filled. */
export function readAddedFilter({ searchParams }: URL): readonly [string, string] | undefined {
  const column = searchParams.get('_column');
  if (!column) return undefined;
  return [`${column}__${searchParams.get('_op') || 'exact'}`, searchParams.get('_value') ?? ''];
}

/** Parameters of an address, the ones that are not the usual. */
export function writeAddress({ filters, sort, page }: TableAddress): readonly (readonly [string, string])[] {
  return [
    ...filters.map(({ column, operator, value }) => [`${column}__${operator}`, value] as const),
    ...(sort ? [[sort.isDescending ? '_sort_desc' : '_sort', sort.column] as const] : []),
    ...(page > 1 ? [['_page', String(page)] as const] : []),
  ];
}

/** @param types DuckDB's types by column */
export function filterSql({ column, operator, value }: Filter, types: ReadonlyMap<string, string>): string {
  const rule: OperatorRule = OPERATORS[operator];
  return rule.sql(quoteIdent(column), types.get(column) ?? 'VARCHAR', quoteLiteral(value));
}
