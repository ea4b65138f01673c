import { join } from 'node:path';
import { loadConfig } from '../config/config.ts';
import { errorMessage, TidemarkError } from '../core/errors.ts';
import { overlayRoots } from '../core/paths.ts';
import { createRedactor } from '../core/redact/redactor.ts';
import { TEXT_FORMATS } from '../query/formats.ts';
import { createTemporaryFolder } from '../query/limits.ts';
import { findSavedQuery, loadSavedQueries, resolveParameters } from '../query/saved.ts';
import { QuerySession } from '../query/session.ts';
import { isNumber } from '../query/sql-text.ts';
import { copyParquet, writeText } from '../query/write-text.ts';
import { writeXlsx } from '../query/write-xlsx.ts';
import type { FromWorker, ToWorker, WorkerRequest } from './protocol.ts';

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

async function answer(request: WorkerRequest): Promise<void> {
  try {
    await runQuery(request);
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

async function runQuery(request: WorkerRequest): Promise<void> {
  const config = loadConfig(request.config, process.env, createRedactor(), { needsSecrets: false });
  const isFile = request.format === 'parquet' || request.format === 'xlsx';
  // The server removes the folder when it has sent the file.
  const output = isFile ? join(await createTemporaryFolder(), `result.${request.format}`) : undefined;
  const session = await QuerySession.open({
    config,
    signal: stop.signal,
    ...(request.asOf !== undefined && { asOf: new Date(request.asOf) }),
    ...(output !== undefined && { output }),
  });
  try {
    await sendResult(session, request, await readParameters(session, request, overlayRoots(config.directory)));
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
  request: WorkerRequest,
  params: WorkerRequest['params'],
): Promise<void> {
  const { format, maxRows } = request;
  const query = await session.prepare(request.query, params, maxRows === undefined ? undefined : maxRows + 1);
  const columns = query.columns.map(({ name, type }) => ({ name, type: type.toString(), isNumber: isNumber(type) }));
  send({ kind: 'columns', columns });
  if (format === 'parquet' || format === 'xlsx') {
    const rows = await (format === 'parquet' ? copyParquet : writeXlsx)(session, query);
    send({ kind: 'file', path: session.output });
    send({ kind: 'done', rows, isCut: false });
    return;
  }
  const rows = await writeText(session, query, TEXT_FORMATS[format], sendText);
  send({ kind: 'done', rows, isCut: maxRows !== undefined && rows > maxRows });
}

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
