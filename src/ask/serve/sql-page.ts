import { randomUUID } from 'node:crypto';
import { TidemarkError } from '../../core/errors.ts';
import { quoteIdent } from '../../warehouse/sql-files.ts';
import { readNames } from '../query/completion.ts';
import { loadSavedQueries } from '../query/saved.ts';
import { loadCatalogue } from './catalogue.ts';
import { pageHref, renderPage } from './page.ts';
import { BusyError } from './pool.ts';
import { findErrorPosition } from './query-error.ts';
import { viewResult } from './result-view.ts';
import { readPage, readParams, toRequest } from './results.ts';
import type { Exchange, PageRoute } from './route.ts';
import { isOwnRequest } from './security.ts';

/** `/sql?sql=…`: a form for a query, and its result where a page of this server asked. A link from elsewhere only fills the form. */
const editorRoute: PageRoute = { pattern: /^\/sql$/u, answer: answerEditor };

/** `/sql/names.json`: what the editor completes. */
const namesRoute: PageRoute = {
  pattern: /^\/sql\/names\.json$/u,
  async answer({ files, response }) {
    const { tables } = await readNames(files);
    response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' });
    response.end(JSON.stringify(Object.fromEntries(tables)));
  },
};

export const editorRoutes: readonly PageRoute[] = [editorRoute, namesRoute];

async function answerEditor(exchange: Exchange): Promise<void> {
  const { url, nonce, request } = exchange;
  const sql = (url.searchParams.get('sql') ?? '').replaceAll('\r\n', '\n');
  const isAsked = sql.trim() !== '';
  const outcome = isAsked && isOwnRequest(request) ? await runQuery(exchange, sql) : NOTHING;
  await renderPage(
    exchange,
    'sql',
    {
      title: 'SQL',
      about: 'One SELECT, DESCRIBE, SUMMARIZE or EXPLAIN over the published warehouse, in the dialect of DuckDB.',
      sql,
      nonce,
      asOf: url.searchParams.get('as_of') ?? '',
      view: url.searchParams.get('view') ?? '',
      run: randomUUID(),
      tables: (await loadCatalogue(exchange)).map(({ name, grain }) => ({
        name,
        grain,
        href: pageHref(exchange, `/tables/${encodeURIComponent(name)}`),
        sqlHref: pageHref(exchange, '/sql', { sql: `select *\nfrom ${quoteIdent(name)}\nlimit 100` }),
      })),
      examples: await listExamples(exchange),
      parameters: listParameters(sql, url),
      error: null,
      result: null,
      isLinked: isAsked && outcome === NOTHING,
      ...outcome.data,
    },
    outcome.status,
  );
}

/** The saved queries that run as they are, with their defaults instead of parameters. */
async function listExamples(exchange: Exchange) {
  const queries = [...(await loadSavedQueries(exchange.files.roots)).values()];
  const runnable = queries.filter(({ parameters }) => parameters.every(({ defaultSql }) => defaultSql !== undefined));
  return runnable.map(({ title, description, sql, parameters }) => {
    const statement = sql.replaceAll(/^--.*\n/gmu, '').trim();
    const text = parameters.reduce(
      (rest, { name, defaultSql }) => rest.replaceAll(new RegExp(`\\$${name}\\b`, 'gu'), () => `(${defaultSql})`),
      statement,
    );
    return { title, description, sqlHref: pageHref(exchange, '/sql', { sql: text }) };
  });
}

interface Outcome {
  readonly data: object;
  readonly status: number;
}

const NOTHING: Outcome = { data: {}, status: 200 };

/** An error of the query is shown beside it, so that it can be corrected. */
async function runQuery(exchange: Exchange, sql: string): Promise<Outcome> {
  const given = listParameters(sql, exchange.url).filter(({ value }) => value !== '');
  const params = Object.fromEntries(given.map(({ name, value }) => [name, value]));
  const began = performance.now();
  try {
    const page = await readPage(exchange, toRequest(exchange, { query: sql, params, format: 'rows' }), {
      reader: exchange.reader,
    });
    const seconds = (performance.now() - began) / 1000;
    const address = { page: '/sql', files: '/query', params: { sql, ...params } };
    return { data: { result: await viewResult(exchange, page, address, seconds) }, status: 200 };
  } catch (error) {
    if (exchange.signal.aborted || !(error instanceof TidemarkError) || error.code === 'INTERRUPTED') throw error;
    return { data: { error: describeError(error, sql) }, status: isPassing(error) ? 503 : 400 };
  }
}

/** The same request may succeed later. */
function isPassing(error: TidemarkError): boolean {
  return error instanceof BusyError || error.code === 'UNREACHABLE';
}

function describeError(error: TidemarkError, sql: string) {
  const [message, excerpt = ''] = error.message.split(/\n+(?=LINE \d+: )/u);
  return { message, excerpt, hint: error.hint ?? '', position: findErrorPosition(error.message, sql) ?? null };
}

/** A field for each `$name` of the text. A name in quotes has a field too, which may stay empty. */
function listParameters(sql: string, url: URL) {
  const names = [...sql.matchAll(/(?<![\w$])\$(\w+)(?![\w$])/gu)].map(([, name = '']) => name);
  const given = readParams(url);
  return [...new Set(names)].map((name) => ({ name, value: given[name] ?? '' }));
}
