import { unknownName } from '../../config/suggest.ts';
import { quoteIdent, quoteLiteral } from '../../warehouse/sql-files.ts';
import { loadTables, loadViews, type Table } from '../../warehouse/tables.ts';
import { readSources, type SourceFreshness } from './freshness.ts';
import { pageHref, renderPage } from './page.ts';
import { type Exchange, NotFoundError, type PageRoute } from './route.ts';
import { readRows, shownTime } from './rows.ts';

/** The tables and views that people query, by name. */
export async function loadCatalogue({ files }: Pick<Exchange, 'files'>): Promise<readonly Table[]> {
  const all = [...(await loadTables(files)).values(), ...(await loadViews(files))];
  return all.filter(({ internal }) => !internal).sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** @throws NotFoundError naming the closest match */
export async function findTable(exchange: Exchange, name: string): Promise<Table> {
  const tables = await loadCatalogue(exchange);
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
  const tables = await loadCatalogue(exchange);
  const [counts, sources] = await Promise.all([readCounts(exchange, tables), readSources(exchange)]);
  await renderPage(exchange, 'tables', {
    title: 'Tables',
    about: 'What the warehouse contains. A table that a source fills also has its history.',
    tables: tables.map((table) => ({
      name: table.name,
      grain: table.grain,
      href: pageHref(exchange, `/tables/${encodeURIComponent(table.name)}`),
      sources: table.sources.join(', '),
      targets: freshnessByTarget(sources, table),
      rows: counts.get(table.name)?.rows ?? null,
      versions: counts.get(table.name)?.versions ?? null,
    })),
  });
}

/** The state of a table's sources, target by target; empty for a log. */
export function freshnessByTarget(sources: readonly SourceFreshness[], table: Table) {
  return sources.filter(({ source }) => table.sources.includes(source));
}

interface Counts {
  readonly rows: number;
  /** Null for a log. */
  readonly versions: number | null;
}

/** The tables, without views, that the published file has. */
async function loadPresentTables(exchange: Exchange): Promise<readonly Table[]> {
  const { files } = exchange;
  const present = new Set((await readRows(exchange, await files.read('serve/relations'))).map(({ name }) => name));
  return [...(await loadTables(files)).values()].filter(({ name }) => present.has(name));
}

/** A table that the published file does not have yet has no entry; nor has a view, which would be computed to be counted. */
async function readCounts(exchange: Exchange, tables: readonly Table[]): Promise<ReadonlyMap<string, Counts>> {
  const { files } = exchange;
  const present = new Set((await loadPresentTables(exchange)).map(({ name }) => name));
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

/** The columns that identify a row: the target and the key, or what identifies it in a log or a view; none if only the whole row does. */
export function rowKey({ source, key, identity }: Table): readonly string[] {
  return source === undefined ? identity : [...new Set(['target', ...key])];
}

export const catalogueRoute: PageRoute = { pattern: /^\/tables\/?$/u, answer: sendTables };
