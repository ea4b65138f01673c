import { join } from 'node:path';
import { errorMessage, TidemarkError } from '../core/errors.ts';
import { overlayRoots } from '../core/paths.ts';
import { TEXT_FORMATS, type TextFormat } from '../query/formats.ts';
import { findSavedQuery, loadSavedQueries, resolveParameters } from '../query/saved.ts';
import { type PreparedQuery, QuerySession } from '../query/session.ts';
import { isNumber, textSql } from '../query/sql-text.ts';
import { copyParquet, writeText } from '../query/write-text.ts';
import { writeXlsx } from '../query/write-xlsx.ts';
import { createTemporaryFolder } from '../warehouse/temporary-folder.ts';
import type { FromWorker, ResultSummary, ToWorker, WorkerRequest } from './protocol.ts';

/**
 * The main file of a worker of `tidemark serve`: it runs one query at a time in a process that the server may kill. A new session for
 * each query reads the file that is published then.
 */

let resume: (() => void) | undefined;
const stop = new AbortController();

process.on('message', (message: ToWorker) => {
  if (message.kind === 'next') resume?.();
  else void answer(message.request);
});
process.on('disconnect', () => {
  stop.abort(new TidemarkError('INTERRUPTED', 'the server ended'));
  process.exit();
});
// Ctrl-C and a stop of the service reach all processes. The server ends its workers when their queries had time to end.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});

async function answer(request: WorkerRequest): Promise<void> {
  try {
    send({ kind: 'done', summary: await runQuery(request) });
  } catch (error) {
    const known = error instanceof TidemarkError ? error : undefined;
    send({
      kind: 'error',
      code: known?.code ?? 'DATA',
      message: errorMessage(error),
      ...(known?.hint !== undefined && { hint: known.hint }),
    });
  }
}

async function runQuery(request: WorkerRequest): Promise<ResultSummary> {
  const { config, format, asOf } = request;
  const isFile = format === 'parquet' || format === 'xlsx';
  const output = isFile ? join(await createTemporaryFolder(), `result.${format}`) : undefined;
  const session = await QuerySession.open({
    config,
    signal: stop.signal,
    ...(asOf !== undefined && { asOf: new Date(asOf) }),
    ...(output !== undefined && { output }),
  });
  try {
    return await sendResult(session, request, await readParameters(session, request, overlayRoots(config.directory)));
  } finally {
    await session.close();
  }
}

async function readParameters(
  session: QuerySession,
  { saved, params }: WorkerRequest,
  roots: readonly string[],
): Promise<WorkerRequest['params']> {
  if (saved === undefined) return params;
  return resolveParameters(findSavedQuery(await loadSavedQueries(roots), saved), params, session);
}

async function sendResult(
  session: QuerySession,
  { query: text, format, maxRows }: WorkerRequest,
  params: WorkerRequest['params'],
): Promise<ResultSummary> {
  const query = await session.prepare(text, params, maxRows === undefined ? undefined : maxRows + 1);
  const columns = query.columns.map(({ name, type }) => ({ name, type: type.toString(), isNumber: isNumber(type) }));
  send({ kind: 'columns', columns });
  if (format === 'parquet' || format === 'xlsx') {
    const rows = await (format === 'parquet' ? copyParquet : writeXlsx)(session, query);
    return { rows, isCut: false, file: session.output };
  }
  const rows = await writeText(session, query, format === 'rows' ? ROWS : TEXT_FORMATS[format], sendText);
  return { rows, isCut: maxRows !== undefined && rows > maxRows };
}

/** Characters of a value on a page. */
const MAX_CELL_LENGTH = 1_000;

/** A JSON list of lists. Its texts are those of CSV: JSON numbers would lose digits. */
const ROWS: TextFormat = {
  mime: 'application/json',
  rowSql: (columns: PreparedQuery['columns']) =>
    `json_array(${columns.map((column) => `left(${textSql(column)}, ${MAX_CELL_LENGTH})`).join(', ')})::varchar`,
  begin: () => '[',
  separator: ',',
  end: ']',
  empty: () => '[]',
};

/** Sends a part, and waits until the server takes the next: a slow reader holds the query, not the memory. */
async function sendText(text: string): Promise<void> {
  const next = new Promise<void>((resolve) => {
    resume = resolve;
  });
  send({ kind: 'text', text });
  await next;
}

function send(message: FromWorker): void {
  process.send?.(message);
}
