import { suggestName } from '../../config/suggest.ts';
import { quoteIdent, quoteLiteral } from '../../warehouse/sql-files.ts';
import { loadTables, loadViews, type Table } from '../../warehouse/tables.ts';
import { type Exchange, NotFoundError, renderPage, type TextRow } from './page.ts';
import { readRows, shownTime, toCount } from './results.ts';

/** The tables and views that people query, by name. */
export function loadCatalogue({ files }: Pick<Exchange, 'files'>): readonly Table[] {
  const all = [...loadTables(files).values(), ...loadViews(files)];
  return all.filter(({ internal }) => !internal).sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** @throws NotFoundError naming the closest match */
export function findTable(exchange: Exchange, name: string): Table {
  const tables = loadCatalogue(exchange);
  const table = tables.find((one) => one.name === name);
  if (table) return table;
  const names = tables.map((one) => one.name);
  throw new NotFoundError(`table ${name}`, suggestName(name, names));
}

/** The columns that identify a row: the target and the key, or what identifies it in a log or a view; none if only the whole row does. */
export function rowKey({ source, key, identity }: Table): readonly string[] {
  return source === undefined ? identity : [...new Set(['target', ...key])];
}

export async function sendTables(exchange: Exchange): Promise<void> {
  const tables = loadCatalogue(exchange);
  const [counts, sources] = await Promise.all([readCounts(exchange), readSources(exchange)]);
  await renderPage(exchange, 'tables', {
    title: 'Tables',
    about: 'What the warehouse contains. A table that a source fills also has its history.',
    tables: tables.map((table) => ({
      name: table.name,
      grain: table.grain,
      sources: table.sources.join(', '),
      targets: selectSources(sources, table),
      rows: toCount(counts.get(table.name)?.row_count),
      versions: toCount(counts.get(table.name)?.versions),
    })),
  });
}

/** A table that the published file does not have yet has no entry; nor has a view, which would be computed to be counted. */
async function readCounts(exchange: Exchange): Promise<ReadonlyMap<string, TextRow>> {
  const { files } = exchange;
  const present = new Set((await readRows(exchange, files.read('serve/relations'))).map(({ name }) => name));
  const tables = [...loadTables(files).values()].filter(({ name, internal }) => present.has(name) && !internal);
  const selects = tables.map(({ name, source }) => {
    const history = source && files.render('serve/count_versions', { history: quoteIdent(`${name}_history`) });
    const versions = history ?? 'null::bigint';
    return files.render('serve/count', { name: quoteLiteral(name), table: quoteIdent(name), versions });
  });
  if (selects.length === 0) return new Map();
  const query = selects.join('\nunion all\n');
  const rows = await readRows(exchange, query, { as_of: shownTime(exchange).toISOString() });
  return new Map(rows.map((row) => [row.name ?? '', row]));
}

/** More than a fleet has: where rows are left out, a table would look as if it had fewer targets. */
export const MAX_SOURCES = 20_000;

/** The states of all sources at the time of the page, the stale ones first. */
export async function readSources(exchange: Exchange): Promise<readonly TextRow[]> {
  return readRows(exchange, exchange.files.read('serve/sources'), staleParams(exchange), MAX_SOURCES);
}

/** The parameters of `serve/sources`. */
export function staleParams({ config, ...exchange }: Pick<Exchange, 'config' | 'moment' | 'clock'>) {
  const at = shownTime(exchange).toISOString();
  return { as_of: at, staleness_at: at, stale_hours: String(config.thresholds.staleHours) };
}

/** Target by target; empty for a log. */
export function selectSources(sources: readonly TextRow[], table: Table): readonly TextRow[] {
  return sources.filter(({ source }) => table.sources.includes(source ?? ''));
}
