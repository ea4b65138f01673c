import { TidemarkError } from '../../core/errors.ts';
import { quoteIdent } from '../../warehouse/sql-files.ts';
import { replaceParams } from '../../warehouse/sql-params.ts';
import { readNames } from '../query/completion.ts';
import type { QueryRequest } from '../query/protocol.ts';
import { fillSavedQuery, loadSavedQueries, type Parameter, type SavedQuery } from '../query/saved.ts';
import { loadCatalogue } from './catalogue.ts';
import { type Exchange, renderPage, sendJson, type TextRow } from './page.ts';
import { type ResultAddress, viewResult } from './result-view.ts';
import { findSaved, readPage, readParams, readRows } from './results.ts';
import { isLedByOtherSite, isOwnRequest } from './security.ts';

export async function sendList(exchange: Exchange): Promise<void> {
  await renderPage(exchange, 'saved', {
    title: 'Saved queries',
    about: 'Each is a file in queries/saved/, beside the configuration or in the package.',
    queries: [...loadSavedQueries(exchange.files.roots).values()].map(({ name, title, description }) => ({
      ...{ title, description, path: savedPath(name) },
    })),
  });
}

function savedPath(name: string): string {
  return `/saved/${encodeURIComponent(name)}`;
}

/** The form of a query, and its result as soon as every parameter has a value and no other site led here. */
export async function sendSaved(exchange: Exchange): Promise<void> {
  const { url, request } = exchange;
  const query = findSaved(exchange);
  const given = readParams(url);
  const isReady = query.parameters.every(({ name, defaultSql }) => defaultSql || given[name] !== undefined);
  const path = savedPath(query.name);
  // Before anything is asked: a refused parameter must leave no query behind that nobody waits for.
  const filled = isReady && !isLedByOtherSite(request) ? fillSavedQuery(query, given) : undefined;
  const [defaults, result = null] = await Promise.all([
    readDefaults(exchange, query, given),
    filled && runQuery(exchange, filled, { page: path, files: path, params: given }),
  ]);
  await renderPage(exchange, 'saved-query', {
    title: query.title,
    about: query.description,
    path,
    fields: query.parameters.map((parameter) => toField(parameter, given[parameter.name], defaults)),
    result,
    sql: query.sql.trim(),
  });
}

/** Runs what a person asks on a page, and views its beginning. */
async function runQuery(exchange: Exchange, query: Pick<QueryRequest, 'query' | 'params'>, address: ResultAddress) {
  const began = performance.now();
  const page = await readPage(exchange, query, { reader: exchange.reader });
  return viewResult(exchange, page, address, (performance.now() - began) / 1000);
}

/** The defaults of the parameters that the address does not give, which DuckDB evaluates. */
async function readDefaults(exchange: Exchange, { parameters }: SavedQuery, given: Readonly<Record<string, string>>) {
  const open = parameters.filter(({ name, defaultSql }) => defaultSql !== undefined && given[name] === undefined);
  if (open.length === 0) return {};
  const expressions = open.map(({ name, defaultSql }) => `${defaultSql} as ${quoteIdent(name)}`);
  const [row = {}] = await readRows(exchange, `select ${expressions.join(', ')}`, {}, 1);
  return row;
}

function toField({ name, type, defaultSql, description }: Parameter, given: string | undefined, defaults: TextRow) {
  const value = given ?? defaults[name] ?? '';
  return {
    ...{ name, description, type, isRequired: defaultSql === undefined },
    value: type === 'timestamp' ? value.slice(0, 19) : value,
  };
}

/** `/sql?sql=…`: a form for a query, and its result where a page of this server asked. A link from elsewhere only fills the form. */
export async function sendEditor(exchange: Exchange): Promise<void> {
  const { url, nonce, request } = exchange;
  const sql = (url.searchParams.get('sql') ?? '').replaceAll('\r\n', '\n');
  const isAsked = sql.trim() !== '';
  const isRun = isAsked && isOwnRequest(request);
  const parameters = listParameters(sql, url);
  const data = {
    title: 'SQL',
    about: 'One SELECT, DESCRIBE, SUMMARIZE or EXPLAIN over the published warehouse, in the dialect of DuckDB.',
    ...{ sql, nonce, parameters, error: null, result: null, isLinked: isAsked && !isRun },
    view: url.searchParams.get('view') ?? '',
    tables: loadCatalogue(exchange).map(({ name, grain }) => ({
      ...{ name, grain, sql: `select *\nfrom ${quoteIdent(name)}\nlimit 100` },
    })),
    examples: await listExamples(exchange),
  };
  if (!isRun) return renderPage(exchange, 'sql', data);
  const given = parameters.filter(({ value }) => value !== '').map(({ name, value }) => [name, value]);
  const params = Object.fromEntries(given) as QueryRequest['params'];
  try {
    const address = { page: '/sql', files: '/query', params: { sql, ...params } };
    const result = await runQuery(exchange, { query: sql, params }, address);
    await renderPage(exchange, 'sql', { ...data, result });
  } catch (error) {
    if (!(error instanceof TidemarkError) || !['DATA', 'USAGE'].includes(error.code)) throw error; // no fault of the query
    await renderPage(exchange, 'sql', { ...data, error: describeError(error, sql) }, 400);
  }
}

/** The saved queries that run as they are, with their defaults instead of parameters. */
async function listExamples({ files }: Exchange) {
  const queries = [...loadSavedQueries(files.roots).values()];
  const runnable = queries.filter(
    ({ parameters, problem }) => !problem && parameters.every(({ defaultSql }) => defaultSql !== undefined),
  );
  return runnable.map((saved) => {
    const sql = fillSavedQuery(saved, {}).query.replaceAll(/^--.*\n/gmu, '');
    return { title: saved.title, description: saved.description, sql: sql.trim() };
  });
}

/** An error of the query is shown beside it, so that it can be corrected. */
function describeError({ message, hint = '' }: TidemarkError, sql: string) {
  const [text = '', excerpt = ''] = message.split(/\n(?=LINE \d+: )/u);
  return { message: text.trimEnd(), excerpt, hint, position: findErrorPosition(message, sql) ?? null };
}

/** DuckDB's own excerpt: `LINE 2: from workspacez`, below it a caret, and `...` where the line is cut. */
const EXCERPT = /^LINE (?<line>\d+): (?<start>\.\.\.)?(?<text>.*)\n(?<indent> *)\^/mu;

/** The position, from 1, that a message of DuckDB shows with its excerpt of the query. */
export function findErrorPosition(message: string, query: string) {
  const { line = '', start = '', text = '', indent = '' } = EXCERPT.exec(message)?.groups ?? {};
  if (line === '') return undefined;
  const shown = query.split('\n')[Number(line) - 1];
  const inExcerpt = indent.length - `LINE ${line}: ${start}`.length;
  const offset = start === '' ? 0 : (shown?.indexOf(text.replace(/\.\.\.$/u, '')) ?? -1);
  if (shown === undefined || inExcerpt < 0 || offset < 0) return undefined;
  return { line: Number(line), column: offset + inExcerpt + 1 };
}

/** A field for each `$name` of the text. */
function listParameters(sql: string, url: URL) {
  const names = new Set<string>();
  replaceParams(sql, (name) => `${names.add(name)}`);
  const given = readParams(url);
  return [...names].map((name) => ({ name, value: given[name] ?? '' }));
}

/** What the editor completes. */
export async function sendNames(exchange: Exchange): Promise<void> {
  sendJson(exchange, Object.fromEntries(readNames(exchange.files)));
}
