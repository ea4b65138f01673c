import { statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { errorMessage, TidemarkError } from '../../core/errors.ts';
import { explainSystemError } from '../../core/fs.ts';
import { readSize } from '../../core/size.ts';
import { createTemporaryFolder } from '../../warehouse/temporary-folder.ts';
import { limitError, type QueryLimits } from './errors.ts';
import type { FromChild, QueryRequest, ResultSummary, ToChild } from './protocol.ts';
import { openQuerySession } from './session.ts';
import { isNumber } from './sql-text.ts';
import { writeResult, writeResultFile } from './write-result.ts';

/**
 * The program that runs what people write, one query at a time, in a process that may be killed at any time (`QueryProcess`). A new
 * session for each query reads the file that is published then. Usage: node query-child.js MAX_RESIDENT_BYTES
 */

let resume: (() => void) | undefined;
/** Of the query that runs, or ran last. */
let limits: QueryLimits | undefined;

process.on('message', (message: ToChild) => {
  if (message.kind === 'run') void answer(message.request);
  resume?.();
});
// An exit would wait for the thread that computes.
const kill = () => process.kill(process.pid, 'SIGKILL');
process.on('disconnect', kill);
// Ctrl-C and a stop of the service reach all processes. The one that asks decides what becomes of a query.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});

/** DuckDB's limit does not cover a single value. Where the system does not bound the address space, this does. */
const WATCH_MS = 100;
const maxResidentBytes = Number(process.argv[2]);
setInterval(() => {
  if (!limits || process.memoryUsage.rss() <= maxResidentBytes) return;
  process.send?.(toMessage(limitError(limits, 'memoryLimit')), kill);
}, WATCH_MS);

async function answer(request: QueryRequest): Promise<void> {
  limits = request.config.sql;
  send({ kind: 'started' });
  try {
    send({ kind: 'done', summary: await runQuery(request) });
  } catch (error) {
    send(toMessage(error));
  }
}

function toMessage(error: unknown): FromChild {
  const known = error instanceof TidemarkError ? error : undefined;
  const lack = explainSystemError(error);
  return {
    kind: 'error',
    code: known?.code ?? (lack === undefined ? 'DATA' : 'INCOMPLETE'),
    message: known?.message ?? lack ?? errorMessage(error),
    hint: known?.hint,
  };
}

async function runQuery(request: QueryRequest): Promise<ResultSummary> {
  const { format, output, config } = request;
  const stop = new AbortController();
  if (output !== undefined || (format !== 'parquet' && format !== 'xlsx')) return runInSession(request, stop.signal);
  const folder = await createTemporaryFolder();
  const file = join(folder, `result.${format}`);
  // DuckDB's limit of temporary space does not cover what COPY writes.
  const watch = setInterval(() => {
    const { size = 0 } = statSync(file, { throwIfNoEntry: false }) ?? {};
    if (size > readSize(config.sql.temporaryLimit)) stop.abort(limitError(config.sql, 'temporaryLimit'));
  }, WATCH_MS);
  try {
    return { ...(await runInSession({ ...request, output: file }, stop.signal)), file };
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  } finally {
    clearInterval(watch);
  }
}

async function runInSession(request: QueryRequest, signal: AbortSignal): Promise<ResultSummary> {
  const { config, asOf, output, params, format, maxRows, isOwn } = request;
  const session = await openQuerySession({ config, signal, asOf, output });
  try {
    const query = await session.prepare(request.query, params, maxRows === undefined ? undefined : maxRows + 1, isOwn);
    const columns = query.columns.map(({ name, type }) => ({ name, type: type.toString(), isNumber: isNumber(type) }));
    if (output !== undefined) return { columns, rows: await writeResultFile(query, output, format), isCut: false };
    const rows = await writeResult(query, request, sendText);
    return { columns, rows, isCut: maxRows !== undefined && rows > maxRows };
  } finally {
    await session.close();
  }
}

/** Sends a part, and waits until its reader takes the next: a slow reader holds the query, not the memory. */
async function sendText(text: string): Promise<void> {
  const next = new Promise<void>((resolve) => {
    resume = resolve;
  });
  send({ kind: 'text', text });
  await next;
}

function send(message: FromChild): void {
  process.send?.(message);
}
