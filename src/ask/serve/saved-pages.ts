import { randomUUID } from 'node:crypto';
import { quoteIdent } from '../../warehouse/sql-files.ts';
import { loadSavedQueries, type Parameter, type SavedQuery } from '../query/saved.ts';
import { pageHref, renderPage } from './page.ts';
import { viewResult } from './result-view.ts';
import { readPage, readParams, toRequest } from './results.ts';
import { type Exchange, NotFoundError, type PageRoute } from './route.ts';
import { readRows, type TextRow } from './rows.ts';
import { isLedByOtherSite } from './security.ts';

async function sendList(exchange: Exchange): Promise<void> {
  const queries = [...(await loadSavedQueries(exchange.files.roots)).values()];
  await renderPage(exchange, 'saved', {
    title: 'Saved queries',
    about: 'Each is a file in queries/saved/, beside the configuration or in the package.',
    queries: queries.map(({ name, title, description }) => ({
      title,
      description,
      href: pageHref(exchange, `/saved/${encodeURIComponent(name)}`),
    })),
  });
}

/** The form of a query, and its result as soon as every parameter has a value and no other site led here. */
async function sendQuery(exchange: Exchange): Promise<void> {
  const { name, url, files } = exchange;
  const query = (await loadSavedQueries(files.roots)).get(name);
  if (!query) throw new NotFoundError(url.pathname, 'the page of the saved queries lists them');
  const given = readParams(url);
  const missing = query.parameters.filter(({ name: key, defaultSql }) => !defaultSql && given[key] === undefined);
  const path = `/saved/${encodeURIComponent(name)}`;
  const [defaults, result] = await Promise.all([
    readDefaults(exchange, query, given),
    missing.length > 0 || isLedByOtherSite(exchange.request) ? null : readResult(exchange, query, path, given),
  ]);
  await renderPage(exchange, 'saved-query', {
    title: query.title,
    about: query.description,
    path,
    asOf: url.searchParams.get('as_of') ?? '',
    run: randomUUID(),
    fields: query.parameters.map((parameter) => toField(parameter, given[parameter.name], defaults)),
    result,
    sql: query.sql.trim(),
  });
}

async function readResult(
  exchange: Exchange,
  query: SavedQuery,
  path: string,
  params: Readonly<Record<string, string>>,
) {
  const began = performance.now();
  const request = toRequest(exchange, { query: query.sql, saved: query.name, params, format: 'rows' });
  const page = await readPage(exchange, request, { reader: exchange.reader });
  return viewResult(exchange, page, { page: path, files: path, params }, (performance.now() - began) / 1000);
}

/** The defaults of the parameters that the address does not give, which DuckDB evaluates. */
async function readDefaults(
  exchange: Exchange,
  { parameters }: SavedQuery,
  given: Readonly<Record<string, string>>,
): Promise<TextRow> {
  const open = parameters.filter(({ name, defaultSql }) => defaultSql !== undefined && given[name] === undefined);
  if (open.length === 0) return {};
  const expressions = open.map(({ name, defaultSql }) => `${defaultSql} as ${quoteIdent(name)}`);
  const [row = {}] = await readRows(exchange, `select ${expressions.join(', ')}`, {}, 1);
  return row;
}

const INPUTS: Readonly<Record<Parameter['type'], { readonly type: string; readonly step: string }>> = {
  text: { type: 'text', step: '' },
  integer: { type: 'number', step: '1' },
  number: { type: 'number', step: 'any' },
  boolean: { type: 'boolean', step: '' },
  timestamp: { type: 'datetime-local', step: '1' },
};

function toField({ name, type, defaultSql, description }: Parameter, given: string | undefined, defaults: TextRow) {
  const value = given ?? defaults[name] ?? '';
  return {
    name,
    ...INPUTS[type],
    value: type === 'timestamp' ? value.slice(0, 19) : value,
    isRequired: defaultSql === undefined,
    description,
    defaultSql: defaultSql ?? '',
  };
}

export const savedRoutes: readonly PageRoute[] = [
  { pattern: /^\/saved\/?$/u, answer: sendList },
  { pattern: /^\/saved\/([^/]+)$/u, answer: sendQuery },
];
