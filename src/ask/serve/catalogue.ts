import { unknownName } from '../../config/suggest.ts';
import { EMPTY_CELL, formatAge, formatTime, truncate } from '../../tell/reports/format.ts';
import { quoteIdent, quoteLiteral } from '../../warehouse/sql-files.ts';
import { loadTables, loadViews, type Table } from '../../warehouse/tables.ts';
import { renderPage } from './page.ts';
import { readRows, shownTime, type TextRow, toCount } from './results.ts';
import { type Exchange, NotFoundError } from './route.ts';

/** The tables and views that people query, by name. */
export function loadCatalogue({ files }: Pick<Exchange, 'files'>): readonly Table[] {
  const all = [...loadTables(files).values(), ...loadViews(files)];
  return all.filter(({ internal }) => !internal).sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** @throws NotFoundError naming the closest match */
export async function findTable(exchange: Exchange, name: string): Promise<Table> {
  const tables = loadCatalogue(exchange);
  const table = tables.find((one) => one.name === name);
  if (table) return table;
  const names = tables.map((one) => one.name);
  const { message, hint } = unknownName('table', name, names);
  throw new NotFoundError(message, hint);
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

/** `state`: `fresh`, `stale` or `unknown`, which was never pulled completely. */
export type SourceFreshness = Awaited<ReturnType<typeof readSources>>[number];

/** The states of all sources at the time of the page, the stale ones first. */
export async function readSources(exchange: Exchange) {
  const at = shownTime(exchange);
  const rows = await readRows(exchange, exchange.files.read('serve/sources'), {
    as_of: at.toISOString(),
    staleness_at: at.toISOString(),
    stale_hours: String(exchange.config.thresholds.staleHours),
  });
  return rows.map(({ target, source, status, as_of, state, error }) => ({
    target: target ?? '',
    source: source ?? '',
    state: state ?? '',
    status: status ?? '',
    asOf: as_of ? formatTime(as_of) : EMPTY_CELL,
    age: as_of ? formatAge(at.getTime() - Date.parse(as_of)) : '',
    error: truncate(error ?? ''),
  }));
}

/** Target by target; empty for a log. */
export function selectSources(sources: readonly SourceFreshness[], table: Table): readonly SourceFreshness[] {
  return sources.filter(({ source }) => table.sources.includes(source));
}

/** The worst state: what is not known to be fresh is not fresh. */
export function worstState(sources: readonly Pick<SourceFreshness, 'state'>[]): string {
  if (sources.length === 0 || sources.some(({ state }) => state === 'unknown')) return 'unknown';
  return sources.some(({ state }) => state === 'stale') ? 'stale' : 'fresh';
}
