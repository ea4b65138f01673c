import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { parseTimestamp } from '../core/clock.ts';
import { TidemarkError } from '../core/errors.ts';
import { overlayRoots } from '../core/paths.ts';
import { findSavedQuery, loadSavedQueries } from '../query/saved.ts';
import type { ColumnInfo, ResultFormat, WorkerRequest } from './protocol.ts';
import type { Exchange, Route } from './route.ts';

const MIME: Readonly<Record<ResultFormat, string>> = {
  csv: 'text/csv; charset=utf-8; header=present',
  json: 'application/json; charset=utf-8',
  ndjson: 'application/x-ndjson; charset=utf-8',
  parquet: 'application/vnd.apache.parquet',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
};

/** Query parameters that are not parameters of the query. */
const RESERVED = new Set(['sql', 'as_of', 'view']);

/** The request that an address means: `sql` or a saved query, `as_of`, and every other name as a parameter. */
export async function readRequest(exchange: Exchange, format: ResultFormat, maxRows?: number): Promise<WorkerRequest> {
  const { config, url, name } = exchange;
  const asOf = readAsOf(url);
  const params = Object.fromEntries([...url.searchParams].filter(([key, value]) => !RESERVED.has(key) && value !== ''));
  const saved = name === '' ? undefined : findSavedQuery(await loadSavedQueries(overlayRoots(config.directory)), name);
  const query = saved ? saved.sql : url.searchParams.get('sql');
  if (query === null || query.trim() === '') throw new TidemarkError('USAGE', 'the parameter sql is missing');
  return {
    config: config.file,
    query,
    params,
    format,
    ...(saved && { saved: saved.name }),
    ...(asOf && { asOf: asOf.toISOString() }),
    ...(maxRows !== undefined && { maxRows }),
  };
}

/** @throws TidemarkError USAGE if `as_of` is not a time. */
export function readAsOf(url: URL): Date | undefined {
  const text = url.searchParams.get('as_of') ?? '';
  if (text === '') return undefined;
  const time = parseTimestamp(text);
  if (!time) throw new TidemarkError('USAGE', `as_of=${text} is not a time such as 2026-11-20 or 2026-11-20T02:15:00Z`);
  return time;
}

/** Sends a result as it grows. */
async function sendResult(exchange: Exchange, format: ResultFormat): Promise<void> {
  const { pool, response, signal, name } = exchange;
  const request = await readRequest(exchange, format);
  const begin = (headers: Readonly<Record<string, string | number>>) => {
    const file = `${(name || 'query').replaceAll(/[^\w.-]/gu, '_')}.${format}`;
    response.writeHead(200, {
      'content-type': MIME[format],
      'content-disposition': `${format === 'json' || format === 'ndjson' ? 'inline' : 'attachment'}; filename="${file}"`,
      ...headers,
    });
  };
  await pool.run(
    request,
    {
      columns: () => (format === 'parquet' || format === 'xlsx' ? undefined : begin({})),
      async text(text) {
        if (!response.write(text)) await once(response, 'drain', { signal });
      },
      async file(path) {
        try {
          begin({ 'content-length': (await stat(path)).size });
          await pipeline(createReadStream(path), response);
        } finally {
          await rm(dirname(path), { recursive: true, force: true });
        }
      },
    },
    signal,
  );
  response.end();
}

/** A beginning of a result, for a page. */
export interface ResultPage {
  readonly columns: readonly ColumnInfo[];
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  /** More rows would follow. */
  readonly isCut: boolean;
}

/** Reads at most `maxRows` rows. */
export async function readPage(
  { pool, signal }: Pick<Exchange, 'pool' | 'signal'>,
  request: WorkerRequest & { readonly maxRows: number },
): Promise<ResultPage> {
  let columns: readonly ColumnInfo[] = [];
  let text = '';
  const { isCut } = await pool.run(
    { ...request, format: 'json' },
    {
      columns: (found) => {
        columns = found;
      },
      text: async (part) => {
        text += part;
      },
    },
    signal,
  );
  const rows = JSON.parse(text) as ResultPage['rows'];
  return { columns, rows: rows.slice(0, request.maxRows), isCut };
}

const FORMATS: readonly ResultFormat[] = ['csv', 'json', 'ndjson', 'parquet', 'xlsx'];

/** `/query.FORMAT?sql=…` and `/saved/NAME.FORMAT?PARAMETER=…`. */
export const resultRoutes: readonly Route[] = FORMATS.flatMap((format) => [
  { pattern: new RegExp(`^/query\\.${format}()$`, 'u'), answer: (exchange) => sendResult(exchange, format) },
  { pattern: new RegExp(`^/saved/([^/]+)\\.${format}$`, 'u'), answer: (exchange) => sendResult(exchange, format) },
]);
