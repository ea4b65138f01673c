import { plural } from '../../core/plural.ts';
import { quoteIdent, quoteLiteral } from '../../warehouse/sql-files.ts';
import type { Table } from '../../warehouse/tables.ts';
import { findTable, readSources, rowKey, selectSources } from './catalogue.ts';
import { type AddressParams, pageHref, renderPage } from './page.ts';
import { viewTable } from './result-view.ts';
import { readPage, readRows, toRequest } from './results.ts';
import type { Exchange } from './route.ts';
import {
  type Filter,
  filterSql,
  OPERATORS,
  readAddedFilter,
  readAddress,
  type TableAddress,
  writeAddress,
} from './table-address.ts';

const PAGE_ROWS = 100;

/** A table as the published file has it, and what the address wants of it. */
interface View {
  readonly table: Table;
  readonly path: string;
  /** DuckDB's types by column, in the order of the table. */
  readonly types: ReadonlyMap<string, string>;
  readonly address: TableAddress;
  /** SQL of the rows that the filters leave, as a reader may copy it. */
  readonly rows: string;
}

export async function sendTable(exchange: Exchange): Promise<void> {
  const added = readAddedFilter(exchange.url);
  if (added) return redirectToFilter(exchange, added);
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
    filters: view.address.filters.map((filter) => viewFilter(exchange, view, filter)),
    form: viewForm(exchange, view),
    facets: viewFacets(exchange, view, values),
    table: page
      ? viewTable(page, (column) => viewSort(exchange, view, column), rowLinker(exchange, table, page))
      : null,
    ...viewPlace(exchange, view, count),
    sql: view.rows,
    limitedSql: `${view.rows}\nlimit 100`,
  });
}

/** Whether `as_of` shows other rows. */
function hasPast({ files }: Exchange, { source, loggedAt, name }: Table): boolean {
  return source !== undefined || loggedAt !== undefined || files.has(`warehouse/${name}_at`);
}

async function readView(exchange: Exchange): Promise<View> {
  const { files, moment, name } = exchange;
  const table = await findTable(exchange, name);
  const found = await readRows(exchange, files.read('serve/columns'), { name: table.name });
  const types = new Map(found.map(({ name: column, type }) => [column ?? '', type ?? '']));
  const address = readAddress(exchange.url, [...types.keys()]);
  const conditions = address.filters.map((filter) => filterSql(filter, types));
  if (moment && table.loggedAt) {
    const filter: Filter = { column: table.loggedAt, operator: 'lte', value: moment.at.toISOString() };
    conditions.push(filterSql(filter, types));
  }
  const where = conditions.length > 0 ? `\nwhere ${conditions.join('\n  and ')}` : '';
  return { table, path: tablePath(table), types, address, rows: `select *\nfrom ${quoteIdent(table.name)}${where}` };
}

function tablePath({ name }: Pick<Table, 'name'>): string {
  return `/tables/${encodeURIComponent(name)}`;
}

/** The form adds its filter to those of the address, so that what it shows has an address without the form. */
async function redirectToFilter({ url, response }: Exchange, [name, value]: readonly [string, string]): Promise<void> {
  const params = new URLSearchParams(url.search);
  for (const field of ['_column', '_op', '_value', '_page']) params.delete(field);
  params.append(name, value);
  response.writeHead(303, { location: `${url.pathname}?${params}` }).end();
}

/** Names first, then what identifies a row, then the rest in the order of the table. */
function orderColumns({ table, types }: View): readonly string[] {
  const first = [table.changes.name, ...(table.source ? table.key : [])].filter((name) => name !== undefined);
  return [...new Set([...first, ...types.keys()])].filter((name) => types.has(name));
}

async function readTablePage(exchange: Exchange, view: View) {
  const { address, rows } = view;
  const query = exchange.files.render('serve/page', {
    columns: orderColumns(view).map(quoteIdent).join(', '),
    rows,
    order: orderSql(view),
    limit: String(PAGE_ROWS),
    offset: String((address.page - 1) * PAGE_ROWS),
  });
  return readPage(exchange, toRequest(exchange, { query, format: 'rows' }), { maxRows: PAGE_ROWS });
}

/** A log is read from its end. The rest of the columns makes the order complete, so that no row is on two pages. */
function orderSql({ table, types, address: { sort } }: View): string {
  const first = sort ? [`${quoteIdent(sort.column)}${sort.isDescending ? ' desc' : ''} nulls last`] : [];
  const log = sort || !table.loggedAt ? [] : [`${quoteIdent(table.loggedAt)} desc`];
  const identity = [table.changes.name, ...table.key, ...table.identity].filter((name) => name !== undefined);
  const others = [...new Set([...identity, ...types.keys()])].filter((name) => types.has(name));
  return [...first, ...log, ...others.map(quoteIdent)].join(', ');
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

function href(exchange: Exchange, { path, address }: View, change: Partial<TableAddress>): string {
  return pageHref(exchange, path, writeAddress({ ...address, page: 1, ...change }));
}

function viewFilter(exchange: Exchange, view: View, filter: Filter) {
  const { column, operator, value } = filter;
  const filters = view.address.filters.filter((one) => one !== filter);
  const hasValue = operator !== 'isnull' && operator !== 'notnull';
  return {
    column,
    operator: OPERATORS[operator].label,
    value: hasValue ? value : '',
    removeHref: href(exchange, view, { filters }),
  };
}

function viewForm({ url }: Exchange, view: View) {
  const { path, address } = view;
  const asOf = url.searchParams.get('as_of') ?? '';
  const kept: AddressParams = [...writeAddress({ ...address, page: 1 }), ...(asOf ? [['as_of', asOf] as const] : [])];
  return {
    path,
    kept: kept.map(([name, value]) => ({ name, value })),
    columns: orderColumns(view),
    operators: Object.entries(OPERATORS).map(([name, { label }]) => ({ name, label })),
  };
}

/** Columns whose values a page lists. */
const MAX_FACETS = 8;

function viewFacets(exchange: Exchange, view: View, values: Awaited<ReturnType<typeof readValues>>) {
  const names = [...new Set(values.flatMap(({ name }) => name ?? []))];
  const { filters } = view.address;
  return names.slice(0, MAX_FACETS).map((column) => ({
    column,
    values: values
      .filter(({ name }) => name === column)
      .map(({ value = null, row_count }) => {
        const filter: Filter =
          value === null ? { column, operator: 'isnull', value: '1' } : { column, operator: 'exact', value };
        return {
          value: value ?? '',
          isNull: value === null,
          count: row_count,
          href: href(exchange, view, { filters: [...filters, filter] }),
        };
      }),
  }));
}

function viewSort(exchange: Exchange, view: View, column: string) {
  const { sort } = view.address;
  const isSorted = sort?.column === column;
  const isDescending = isSorted && !sort.isDescending;
  return {
    href: href(exchange, view, { sort: { column, isDescending } }),
    sorted: isSorted ? (sort.isDescending ? 'descending' : 'ascending') : '',
  };
}

/** Which rows the page has, and its neighbours. */
function viewPlace(exchange: Exchange, view: View, count: number) {
  const { page } = view.address;
  const first = (page - 1) * PAGE_ROWS + 1;
  const last = Math.min(count, page * PAGE_ROWS);
  const number = (value: number) => value.toLocaleString('en-US');
  const whole = plural(count, 'row');
  return {
    place:
      first === 1 && last === count
        ? whole
        : first > count
          ? `no row on this page, of ${whole}`
          : `rows ${number(first)} to ${number(last)} of ${number(count)}`,
    previousHref: page > 1 ? href(exchange, view, { page: page - 1 }) : '',
    nextHref: last < count ? href(exchange, view, { page: page + 1 }) : '',
  };
}

/** The address of a row's page, from its name, or else from the last column of its key. */
function rowLinker(
  exchange: Exchange,
  table: Table,
  { columns }: { readonly columns: readonly { readonly name: string }[] },
) {
  const names = columns.map(({ name }) => name);
  const key = rowKey(table).map((name) => ({ name, index: names.indexOf(name) }));
  const shown = names.indexOf(table.changes.name ?? '');
  if (key.length === 0 || key.some(({ index }) => index < 0)) return () => undefined;
  return (row: readonly (string | null)[], column: number) => {
    const linked = shown >= 0 && row[shown] ? shown : (key.at(-1)?.index ?? -1);
    if (column !== linked) return undefined;
    const params = key.map(({ name, index }) => [name, row[index] ?? ''] as const);
    return pageHref(exchange, `${tablePath(table)}/row`, params);
  };
}
