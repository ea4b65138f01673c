import { unknownName } from '../../config/suggest.ts';
import { quoteIdent, quoteLiteral } from '../../warehouse/sql-files.ts';
import { loadTables, type Table } from '../../warehouse/tables.ts';
import { readSources, type SourceFreshness, worstState } from './freshness.ts';
import { pageHref, renderPage } from './page.ts';
import { readPage, toRequest } from './results.ts';
import { type Exchange, NotFoundError, type PageRoute } from './route.ts';
import { readRows, shownTime } from './rows.ts';
import { toGrid } from './sample-grid.ts';

/** The tables that people query. */
async function loadPublicTables({ files }: Pick<Exchange, 'files'>): Promise<readonly Table[]> {
  return [...(await loadTables(files)).values()].filter(({ internal }) => !internal);
}

/** @throws NotFoundError naming the closest match */
export async function findTable(exchange: Exchange, name: string): Promise<Table> {
  const tables = await loadPublicTables(exchange);
  const table = tables.find((one) => one.name === name);
  if (table) return table;
  const { message, hint } = unknownName(
    'table',
    name,
    tables.map((one) => one.name),
  );
  throw new NotFoundError(message, hint);
}

async function sendTables(exchange: Exchange): Promise<void> {
  const tables = await loadPublicTables(exchange);
  const [counts, sources] = await Promise.all([readCounts(exchange, tables), readSources(exchange)]);
  await renderPage(exchange, 'tables', {
    title: 'Tables',
    about: 'What the warehouse contains. A table that a source fills also has its history.',
    tables: tables.map((table) => ({
      name: table.name,
      grain: table.grain,
      href: pageHref(exchange, `/tables/${encodeURIComponent(table.name)}`),
      source: table.source ?? '',
      targets: freshnessByTarget(sources, table),
      rows: counts.get(table.name)?.rows ?? null,
      versions: counts.get(table.name)?.versions ?? null,
    })),
  });
}

/** The state of a table's source, target by target; empty for a log. */
export function freshnessByTarget(sources: readonly SourceFreshness[], { source }: Table) {
  if (source === undefined) return [];
  return sources.filter((one) => one.source === source);
}

interface Counts {
  readonly rows: number;
  /** Null for a log. */
  readonly versions: number | null;
}

/** A table that the published file does not have yet has no entry. */
async function readCounts(exchange: Exchange, tables: readonly Table[]): Promise<ReadonlyMap<string, Counts>> {
  const { files } = exchange;
  const present = new Set((await readRows(exchange, await files.read('serve/relations'))).map(({ name }) => name));
  const counted = tables.filter(({ name }) => present.has(name));
  const selects = await Promise.all(
    counted.map(async ({ name, source }) =>
      files.render('serve/count', {
        name: quoteLiteral(name),
        table: quoteIdent(name),
        versions: source
          ? await files.render('serve/count_versions', { history: quoteIdent(`${name}_history`) })
          : 'null::bigint',
      }),
    ),
  );
  if (selects.length === 0) return new Map();
  const params = { as_of: shownTime(exchange).toISOString() };
  const rows = await readRows(exchange, selects.join('\nunion all\n'), params);
  return new Map(
    rows.map(({ name, row_count, versions }) => [
      name ?? '',
      { rows: Number(row_count), versions: versions == null ? null : Number(versions) },
    ]),
  );
}

const SAMPLE_ROWS = 20;

async function sendTable(exchange: Exchange): Promise<void> {
  const table = await findTable(exchange, exchange.name);
  const [sources, sample, counts] = await Promise.all([
    readSources(exchange),
    readSample(exchange, table),
    readCounts(exchange, [table]),
  ]);
  const query = `select *\nfrom ${quoteIdent(table.name)}\nlimit 100`;
  await renderPage(exchange, 'table', {
    title: table.name,
    about: `Each row is ${table.grain.replace(/^one row per /u, 'a ').replace(/^one row, which/u, 'what')}.`,
    table: { ...table, source: table.source ?? '' },
    targets: freshnessByTarget(sources, table),
    state: worstState(freshnessByTarget(sources, table)),
    rows: counts.get(table.name)?.rows ?? null,
    versions: counts.get(table.name)?.versions ?? null,
    columns: table.columns,
    keys: table.source ? rowKey(table) : [],
    rowPath: `/tables/${encodeURIComponent(table.name)}/row`,
    asOf: exchange.url.searchParams.get('as_of') ?? '',
    sample,
    sqlHref: pageHref(exchange, '/sql', { sql: query }),
    csvHref: pageHref(exchange, '/query.csv', { sql: `from ${quoteIdent(table.name)}` }),
  });
}

/** The columns that identify a row: the target and the key. */
export function rowKey({ key }: Table): readonly string[] {
  return [...new Set(['target', ...key])];
}

async function readSample(exchange: Exchange, table: Table) {
  const key = table.source === undefined ? [] : rowKey(table);
  const query = await exchange.files.render('serve/sample', {
    table: quoteIdent(table.name),
    first: key.map((name) => `${quoteIdent(name)}, `).join(''),
    rest: key.length > 0 ? ` exclude (${key.map(quoteIdent).join(', ')})` : '',
  });
  const page = await readPage(exchange, toRequest(exchange, { query, format: 'rows' }), { maxRows: SAMPLE_ROWS });
  const path = `/tables/${encodeURIComponent(table.name)}/row`;
  return toGrid(page, 'sample', `Sample rows of ${table.name}`, (row, column) =>
    column === key.length - 1
      ? pageHref(exchange, path, Object.fromEntries(key.map((name, index) => [name, row[index] ?? ''])))
      : null,
  );
}

export const catalogueRoutes: readonly PageRoute[] = [
  { pattern: /^\/tables\/?$/u, answer: sendTables },
  { pattern: /^\/tables\/([^/]+)$/u, answer: sendTable },
];
