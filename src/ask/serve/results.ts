import { once } from 'node:events';
import { open, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { TidemarkError } from '../../core/errors.ts';
import { type Moment, resolveMoment } from '../../warehouse/moment.ts';
import { fillParams, type SqlParams } from '../../warehouse/sql-params.ts';
import { type QueryRequest, queryConfig } from '../query/protocol.ts';
import { fillSavedQuery, findSavedQuery, loadSavedQueries, type SavedQuery } from '../query/saved.ts';
import { type Exchange, NotFoundError, type TextRow } from './page.ts';
import { PAGES } from './pool.ts';
import { isLedByOtherSite } from './security.ts';

/** Formats of a result that the server sends: text in parts, or a file. */
const MIME = {
  csv: 'text/csv; charset=utf-8; header=present',
  json: 'application/json; charset=utf-8',
  ndjson: 'application/x-ndjson; charset=utf-8',
  parquet: 'application/vnd.apache.parquet',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
} as const;

type ResultFormat = keyof typeof MIME;
export const RESULT_FORMATS = Object.keys(MIME) as readonly ResultFormat[];

/** Query parameters that are not parameters of the query. */
const RESERVED = new Set(['sql', 'as_of', 'view']);

/** Parameters of a query in an address: every name that is not reserved. Empty ones have their default. */
export function readParams(url: URL): Readonly<Record<string, string>> {
  const given = [...url.searchParams].filter(([key, value]) => !RESERVED.has(key) && value !== '');
  return Object.assign(Object.create(null), Object.fromEntries(given)); // without what every object has, such as `constructor`
}

/** What a request says besides the time of the address. @default format rows */
type PartialRequest = Pick<QueryRequest, 'query'> & Partial<QueryRequest>;

function toRequest({ config, moment }: Exchange, more: PartialRequest): QueryRequest {
  return { config: queryConfig(config), params: {}, asOf: moment?.at, format: 'rows', ...more };
}

export function findSaved({ files, name, url }: Exchange): SavedQuery {
  const queries = loadSavedQueries(files.roots);
  if (!queries.has(name)) throw new NotFoundError(url.pathname, 'the page of the saved queries lists them');
  return findSavedQuery(queries, name);
}

/** The query that an address means: `sql`, or a saved one, with the parameters that follow. */
function readRequest(exchange: Exchange, format: ResultFormat): QueryRequest {
  const { url, name } = exchange;
  const params = readParams(url);
  if (name !== '') return toRequest(exchange, { ...fillSavedQuery(findSaved(exchange), params), format });
  const query = url.searchParams.get('sql') ?? '';
  if (query.trim() === '') throw new TidemarkError('USAGE', 'the parameter sql is missing');
  return toRequest(exchange, { query, params, format });
}

type Begin = (headers: Readonly<Record<string, string | number>>) => void;

/** Sends a result as it grows. */
export async function sendResult(exchange: Exchange, format: ResultFormat): Promise<void> {
  const { pool, request, response, signal, name, reader } = exchange;
  if (isLedByOtherSite(request)) {
    const hint = 'copy the address into a new tab, or open it from a page of this server';
    throw new TidemarkError('REFUSED', 'a page of another site runs no query', { hint });
  }
  const queryRequest = readRequest(exchange, format);
  const begin: Begin = (headers) => {
    const file = `${(name || 'query').replaceAll(/[^\w.-]/gu, '_')}.${format}`;
    response.writeHead(200, {
      'content-type': MIME[format],
      'content-disposition': `${format === 'json' || format === 'ndjson' ? 'inline' : 'attachment'}; filename="${file}"`,
      ...headers,
    });
  };
  if (request.method === 'HEAD') {
    begin({});
    response.end();
    return;
  }
  const { file } = await pool.run(
    queryRequest,
    async (text) => {
      if (!response.headersSent) begin({}); // an error before the first row has a status of its own
      if (!response.write(text)) await once(response, 'drain', { signal });
    },
    signal,
    reader,
  );
  if (file === undefined) response.end();
  else await sendFile(file, begin, exchange);
}

/** The worker is free meanwhile. The folder of the file goes at once, so that nothing remains when the server is killed. */
async function sendFile(file: string, begin: Begin, { response, signal }: Exchange): Promise<void> {
  const handle = await open(file);
  try {
    await rm(dirname(file), { recursive: true, force: true });
    begin({ 'content-length': (await handle.stat()).size });
    await pipeline(handle.createReadStream({ autoClose: false }), response, { signal });
  } finally {
    await handle.close();
  }
}

/** A beginning of a result, for a page: its values are as in CSV, and cut after 1,000 characters. */
export type ResultPage = Awaited<ReturnType<typeof readPage>>;

const MAX_PAGE_ROWS = 1_000;

const MAX_PAGE_CHARACTERS = 8_000_000;

/**
 * Reads at most `maxRows` rows.
 * @param reader who wrote the query; a query of ours is a part of its page
 * @throws TidemarkError as the query; DATA if the rows are too large for a page.
 */
export async function readPage(
  exchange: Exchange,
  query: PartialRequest,
  { maxRows = MAX_PAGE_ROWS, reader = PAGES }: { readonly maxRows?: number; readonly reader?: string },
) {
  let json = '';
  const collect = async (part: string) => {
    json += part;
    if (json.length > MAX_PAGE_CHARACTERS) {
      const hint = 'select fewer columns, or take the result as a file';
      throw new TidemarkError('DATA', 'the rows are too large for a page', { hint });
    }
  };
  const request = toRequest(exchange, { ...query, maxRows });
  const { columns, isCut } = await exchange.pool.run(request, collect, exchange.signal, reader);
  const rows = JSON.parse(json) as readonly (readonly (string | null)[])[];
  return { columns, rows: rows.slice(0, maxRows), isCut };
}

/** Rows of a query below `queries/` that a page reads. */
const MAX_OWN_ROWS = 2_000;

/** Runs a query of ours in a worker, with its texts as they are. Parameters that it does not use are left out. */
export async function readRows(exchange: Exchange, query: string, params: SqlParams = {}, maxRows = MAX_OWN_ROWS) {
  const { columns, rows } = await readPage(exchange, { query: fillParams(query, params), isOwn: true }, { maxRows });
  return rows.map((row): TextRow => Object.fromEntries(columns.map(({ name }, index) => [name, row[index] ?? null])));
}

/** A number that is known, for templates. */
export function toCount(text: string | null | undefined): number | null {
  return text == null ? null : Number(text);
}

/** The time that a page shows: `as_of`, or now. */
export function shownTime({ moment, clock }: Pick<Exchange, 'moment' | 'clock'>): Date {
  return moment?.at ?? clock.now();
}

/** The moment that the parameter `as_of` of an address names. @throws TidemarkError USAGE as `resolveMoment` */
export async function readMoment(exchange: Exchange): Promise<Moment | undefined> {
  const { url, files, clock, readTimeZone } = exchange;
  const text = url.searchParams.get('as_of') ?? '';
  if (text === '') return undefined;
  const rows = (sql: string, params?: SqlParams) => readRows(exchange, sql, params);
  return resolveMoment(text, { rows, files, now: clock.now(), timeZone: await readTimeZone() });
}
