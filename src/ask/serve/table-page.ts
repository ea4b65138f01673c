import { unknownName } from '../../config/suggest.ts';
import { TidemarkError } from '../../core/errors.ts';
import { stripControls } from '../../core/log.ts';
import { plural } from '../../core/plural.ts';
import { formatNumber } from '../../tell/reports/format.ts';
import { quoteIdent, quoteLiteral } from '../../warehouse/sql-files.ts';
import type { Table } from '../../warehouse/tables.ts';
import { findTable, readSources, rowKey, selectSources } from './catalogue.ts';
import { type Exchange, pageHref, renderPage } from './page.ts';
import { type CellLinker, viewTable } from './result-view.ts';
import { type ResultPage, readPage, readRows } from './results.ts';

const PAGE_ROWS = 100;

/** A table as the published file has it, and what its address wants: `state__exact=open&since__gte=2026-11-01&_sort_desc=since&_page=2`. */
type View = Awaited<ReturnType<typeof readView>>;

type Param = readonly [name: string, value: string];

type Filter = ReturnType<typeof readFilter>[number];

interface OperatorRule {
  readonly label: string;
  /** @param column SQL @param type DuckDB's name of its type @param value a literal */
  readonly sql: (column: string, type: string, value: string) => string;
}

/** The words of Datasette, which says them in addresses as well. */
const OPERATORS = {
  exact: { label: '=', sql: (column, type, value) => `${column} = ${value}::${type}` },
  not: { label: '≠', sql: (column, type, value) => `${column} is distinct from ${value}::${type}` },
  contains: { label: 'contains', sql: (column, _, value) => `contains(lower(${column}::varchar), lower(${value}))` },
  gte: { label: '≥', sql: (column, type, value) => `${column} >= ${value}::${type}` },
  lte: { label: '≤', sql: (column, type, value) => `${column} <= ${value}::${type}` },
  isnull: { label: 'is empty', sql: (column) => `${column} is null` },
  notnull: { label: 'is not empty', sql: (column) => `${column} is not null` },
} as const satisfies Readonly<Record<string, OperatorRule>>;

export async function sendTable(exchange: Exchange): Promise<void> {
  const view = await readView(exchange);
  const { table, types } = view;
  const isPresent = types.size > 0;
  const [sources, page, values] = isPresent
    ? await Promise.all([readSources(exchange), readTablePage(exchange, view), readValues(exchange, view)])
    : [[], undefined, []];
  const count = Number(values.find(({ name }) => name === null)?.row_count ?? 0);
  await renderPage(exchange, 'table', {
    title: table.name,
    about: `Each row is ${table.grain.replace(/^one row per /u, 'a ').replace(/^one row, which/u, 'what')}.`,
    isPresent,
    // On a phone, a row that has a page shows its first columns.
    firsts: types.size > 8 && rowKey(table).length > 0,
    hasHistory: table.source !== undefined,
    isTimeless: exchange.moment !== undefined && !hasPast(exchange, table),
    targets: selectSources(sources, table),
    count,
    columns: table.columns.filter(({ name }) => types.size === 0 || types.has(name)),
    filters: view.filters.map((filter) => ({
      ...filter,
      operator: OPERATORS[filter.operator].label,
      value: /null$/u.test(filter.operator) ? '' : stripControls(filter.value),
      removeHref: view.href((name, value) => isWrittenAs(filter, name, value)),
    })),
    form: {
      path: tablePath(table),
      kept: listKept(exchange).map(([name, value]) => ({ name, value })),
      columns: orderColumns(view),
      operators: Object.entries(OPERATORS).map(([name, { label }]) => ({ name, label })),
    },
    facets: viewFacets(view, values),
    table: page ? viewTable(page, (column) => viewSort(view, column), rowLinker(exchange, table, page)) : null,
    ...viewPlace(view, count),
    sql: view.rows,
    limitedSql: `${view.rows}\nlimit 100`,
  });
}

/** Whether `as_of` shows other rows. */
function hasPast({ files }: Exchange, { source, loggedAt, name }: Table): boolean {
  return source !== undefined || loggedAt !== undefined || files.has(`warehouse/${name}_at`);
}

/** Far more than a form makes. Each filter has a link that repeats all others. */
const MAX_PARAMS = 100;

/**
 * The parameters of the address without the page, and with the filter that the form adds as the others are.
 * @throws TidemarkError USAGE for more than a page can repeat
 */
function listKept({ url }: Exchange): readonly Param[] {
  if (url.searchParams.size > MAX_PARAMS)
    throw new TidemarkError('USAGE', `the address has ${url.searchParams.size} parameters`, {
      hint: `give ${MAX_PARAMS} at most`,
    });
  const { _column: column, _op: operator = 'exact', _value: value = '' } = Object.fromEntries(url.searchParams);
  const isForm = (name: string) => ['_column', '_op', '_value', '_page'].includes(name);
  const kept = [...url.searchParams].filter(([name, given]) => !isForm(name) && (name !== 'as_of' || given !== ''));
  return column ? [...kept, [`${column}__${operator}`, value]] : kept;
}

async function readView(exchange: Exchange) {
  const { url, files, moment, name } = exchange;
  const table = findTable(exchange, name);
  const found = await readRows(exchange, files.read('serve/columns'), { name: table.name });
  const types = new Map(found.map(({ name: column, type }) => [column ?? '', type ?? '']));
  const kept = listKept(exchange);
  const filters = kept.flatMap((param) => readFilter(param, [...types.keys()]));
  const log: readonly Filter[] =
    moment && table.loggedAt ? [{ column: table.loggedAt, operator: 'lte', value: moment.at.toISOString() }] : [];
  const conditions = [...filters, ...log].map(({ column, operator, value }) => {
    const rule: OperatorRule = OPERATORS[operator];
    return rule.sql(quoteIdent(column), types.get(column) ?? 'VARCHAR', quoteLiteral(value));
  });
  const where = conditions.length > 0 ? `\nwhere ${conditions.join('\n  and ')}` : '';
  const descending = url.searchParams.get('_sort_desc');
  const column = descending ?? url.searchParams.get('_sort');
  if (column) assertKnown('column', column, [...types.keys()]);
  return {
    table,
    /** DuckDB's types by column, in the order of the table. */
    types,
    filters,
    sort: column ? { column, isDescending: descending !== null } : undefined,
    /** From 1. */
    page: readPageNumber(url.searchParams.get('_page') ?? '1'),
    /** SQL of the rows that the filters leave, as a reader may copy it. */
    rows: `select *\nfrom ${quoteIdent(table.name)}${where}`,
    /** The address with some parameters instead of others, from the first page on. */
    href: (isReplaced: (name: string, value: string) => boolean, ...added: readonly Param[]) =>
      pageHref(exchange, tablePath(table), [...kept.filter((param) => !isReplaced(...param)), ...added]),
  };
}

/** @throws TidemarkError USAGE for a column or an operator that there is not: a filter that is left out would show too much */
function readFilter([name, value]: Param, columns: readonly string[]) {
  if (name === 'as_of' || name.startsWith('_')) return [];
  const [, column = name, operator = 'exact'] = /^(.+)__([a-z]+)$/u.exec(name) ?? [];
  assertKnown('column', column, columns);
  assertKnown('operator', operator, Object.keys(OPERATORS));
  return [{ column, operator: operator as keyof typeof OPERATORS, value }];
}

function isWrittenAs({ column, operator, value }: Filter, name: string, given: string): boolean {
  return given === value && (name === `${column}__${operator}` || (name === column && operator === 'exact'));
}

function assertKnown(what: string, name: string, known: readonly string[]): void {
  if (!known.includes(name)) throw unknownName(what, name, known);
}

const MAX_PAGE = 1_000_000;

function readPageNumber(text: string): number {
  if (/^[1-9]\d*$/u.test(text) && Number(text) <= MAX_PAGE) return Number(text);
  throw new TidemarkError('USAGE', `_page=${text} is not a page`, { hint: `give a number from 1 to ${MAX_PAGE}` });
}

function tablePath({ name }: Pick<Table, 'name'>): string {
  return `/tables/${encodeURIComponent(name)}`;
}

/** Names first, then what identifies a row, then the rest in the order of the table. */
function orderColumns({ table, types }: Pick<View, 'table' | 'types'>): readonly string[] {
  const first = [table.changes.name, ...table.key, ...table.identity].filter((name) => name !== undefined);
  return [...new Set([...first, ...types.keys()])].filter((name) => types.has(name));
}

async function readTablePage(exchange: Exchange, view: View) {
  const query = exchange.files.render('serve/page', {
    columns: orderColumns(view).map(quoteIdent).join(', '),
    rows: view.rows,
    order: orderSql(view),
    limit: String(PAGE_ROWS),
    offset: String((view.page - 1) * PAGE_ROWS),
  });
  return readPage(exchange, { query }, { maxRows: PAGE_ROWS });
}

/** A log is read from its end. The rest of the columns makes the order complete, so that no row is on two pages. */
function orderSql(view: View): string {
  const { table, sort } = view;
  const first = sort ? [`${quoteIdent(sort.column)}${sort.isDescending ? ' desc' : ''} nulls last`] : [];
  const log = sort || !table.loggedAt ? [] : [`${quoteIdent(table.loggedAt)} desc`];
  return [...first, ...log, ...orderColumns(view).map(quoteIdent)].join(', ');
}

/** The number of rows, and the values that columns have in common. */
async function readValues(exchange: Exchange, { table, types, rows }: View) {
  const { files } = exchange;
  const unique = new Set([table.changes.name, ...(table.source ? table.key : [])]);
  const columns = [...types].filter(([name, type]) => (type === 'VARCHAR' || type === 'BOOLEAN') && !unique.has(name));
  const facets = columns.map(([name]) =>
    files.render('serve/facet', { name: quoteLiteral(name), column: quoteIdent(name) }),
  );
  const query = files.render('serve/facets', { rows, facets: facets.join('\n') });
  return readRows(exchange, query);
}

const NONE = () => false;

/** Columns whose values a page lists. */
const MAX_FACETS = 8;

function viewFacets({ href }: View, values: Awaited<ReturnType<typeof readValues>>) {
  const names = [...new Set(values.flatMap(({ name }) => name ?? []))];
  return names.slice(0, MAX_FACETS).map((column) => ({
    column,
    values: values
      .filter(({ name }) => name === column)
      .map(({ value = null, row_count: count }) => ({
        ...{ value: stripControls(value ?? ''), isNull: value === null, count },
        href: href(NONE, value === null ? [`${column}__isnull`, '1'] : [`${column}__exact`, value]),
      })),
  }));
}

function viewSort({ sort, href }: View, column: string) {
  const isSorted = sort?.column === column;
  const next = isSorted && !sort.isDescending ? '_sort_desc' : '_sort';
  return {
    href: href((name) => name === '_sort' || name === '_sort_desc', [next, column]),
    sorted: isSorted ? (sort.isDescending ? 'descending' : 'ascending') : '',
  };
}

function viewPlace({ page, href }: View, count: number) {
  const first = (page - 1) * PAGE_ROWS + 1;
  const last = Math.min(count, page * PAGE_ROWS);
  const whole = plural(count, 'row');
  const some =
    first > count
      ? `no row on this page, of ${whole}`
      : `rows ${formatNumber(first)} to ${formatNumber(last)} of ${formatNumber(count)}`;
  return {
    place: first === 1 && last === count ? whole : some,
    previousHref: page > 1 ? href(NONE, ...(page > 2 ? [['_page', String(page - 1)] as const] : [])) : '',
    nextHref: last < count ? href(NONE, ['_page', String(page + 1)]) : '',
  };
}

/** The address of a row's page, from its name, or else from the last column of its key. */
function rowLinker(exchange: Exchange, table: Table, { columns }: Pick<ResultPage, 'columns'>): CellLinker {
  const names = columns.map(({ name }) => name);
  const key = rowKey(table).map((name) => ({ name, index: names.indexOf(name) }));
  const shown = names.indexOf(table.changes.name ?? '');
  if (key.length === 0 || key.some(({ index }) => index < 0)) return () => undefined;
  return (row, column) => {
    const linked = shown >= 0 && row[shown] ? shown : (key.at(-1)?.index ?? -1);
    if (column !== linked) return undefined;
    const params = key.map(({ name, index }) => [name, row[index] ?? ''] as const);
    return pageHref(exchange, `${tablePath(table)}/row`, params);
  };
}
