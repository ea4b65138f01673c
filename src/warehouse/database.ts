import { rmSync } from 'node:fs';
import { basename } from 'node:path';
import type { DuckDBConnection, DuckDBDataChunk, DuckDBResult, DuckDBValue } from '@duckdb/node-api';
import { formatSeconds } from '../core/clock.ts';
import { errorMessage, isMemoryError, TidemarkError } from '../core/errors.ts';
import { systemLack } from '../core/fs.ts';
import { interrupts } from '../core/interrupts.ts';
import { readSize } from '../core/size.ts';
import type { SqlFiles } from './sql-files.ts';
import { fillParams, type SqlParams } from './sql-params.ts';
import { createTemporaryFolder } from './temporary-folder.ts';
import { chunkReader, DuckDBInstance, type Row, toRows } from './values.ts';

export type { SqlParam, SqlParams } from './sql-params.ts';

export type Statements = Readonly<ReturnType<typeof createStatements>>;

/** Receives some rows of a query, and the next ones once its promise is fulfilled. */
export type TakeRows = (rows: readonly Row[]) => Promise<void>;

/** One DuckDB file, opened once in this process. */
export type Database = Readonly<Awaited<ReturnType<typeof openDatabase>>>;

export interface OpenOptions {
  readonly readOnly?: boolean;
  /** @default 1GB */
  readonly memoryLimit?: string;
  /** Where DuckDB may spill. */
  readonly tempDirectory?: string;
  /**
   * Instead, DuckDB spills to a folder of its own below this one, or where that cannot be written to that of the system, which `close` removes:
   * two processes that read a file would write the same one, and for a database in memory it would be the current folder.
   */
  readonly ownFolderIn?: string;
  /** @default one for each processor */
  readonly threads?: number | undefined;
}

/** Gives `work` a database of its own in memory. */
export async function withMemory<T>(work: (database: Database) => Promise<T>, options: OpenOptions = {}): Promise<T> {
  const database = await openDatabase(':memory:', options);
  try {
    return await work(database);
  } finally {
    database.close();
  }
}

/**
 * The layout of a new file, which DuckDB 1.2 and later read. By default, each column has statistics of 3 kB, and each small table fills
 * blocks of 256 kB: the warehouse of a small estate is four times as large (docs/decisions.md#layout-of-the-file).
 */
const NEW_FILE = { storage_compatibility_version: 'v1.2.0', default_block_size: '65536' };

/** Opens `file` (or `:memory:`). Times are UTC; no extension is downloaded. @throws TidemarkError DATA if it is not a database. */
export async function openDatabase(file: string, options: OpenOptions = {}) {
  const { ownFolderIn } = options;
  const create = () => createTemporaryFolder(ownFolderIn).catch(() => createTemporaryFolder());
  // Most reads need no folder: where neither can be written to, they go on without.
  const own = ownFolderIn === undefined ? undefined : await create().catch(() => undefined);
  const removeOwn = () => {
    if (own !== undefined) rmSync(own, { recursive: true, force: true });
  };
  const tempDirectory = own ?? options.tempDirectory;
  const settings = {
    memory_limit: options.memoryLimit ?? '1GB',
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    preserve_insertion_order: 'false',
    ...(!options.readOnly && NEW_FILE),
    ...(tempDirectory && { temp_directory: tempDirectory }),
    ...(options.readOnly && { access_mode: 'READ_ONLY' }),
    ...(options.threads !== undefined && { threads: String(options.threads) }),
  };
  const instance = await openInstance(file, settings).catch((error: unknown) => {
    removeOwn();
    throw error;
  });
  const opened: Statements[] = [];
  const interrupt = () => {
    for (const { connection } of opened) connection.interrupt();
  };
  interrupts.add(interrupt);
  const connect = async (): Promise<Statements> => {
    const connection = await instance.connect();
    await connection.run("set TimeZone = 'UTC'");
    const statements = createStatements(connection);
    opened.push(statements);
    return statements;
  };
  /** Other connections to the file, for statements that run at the same time. They have no temporary tables of this one, and end with it. */
  const siblings = async (count: number): Promise<readonly Statements[]> => {
    while (opened.length <= count) await connect();
    return opened.slice(1, count + 1);
  };
  const first = await connect();
  const close = () => {
    interrupts.delete(interrupt);
    for (const { connection } of opened) connection.closeSync();
    instance.closeSync();
    removeOwn();
  };
  return { ...first, siblings, close };
}

/** What to do where the published warehouse cannot be read. */
export const PUBLISH_AGAIN =
  'the next `tidemark pull` publishes it again from the working file; without one, restore a backup';

/**
 * @throws TidemarkError DATA with DuckDB's message if the file is not a database, or corrupt; INCOMPLETE where the system lacks something, which
 * says nothing about the file; LOCKED
 */
export function openInstance(file: string, settings: Readonly<Record<string, string>>) {
  return DuckDBInstance.create(file, settings).catch((cause: unknown) => {
    if (/Could not set lock/iu.test(firstLine(cause))) {
      const hint = 'close it there; on NFS, the file system may have no locks';
      throw new TidemarkError('LOCKED', `another program has ${file} open`, { hint, cause });
    }
    if (isMemoryError(cause)) throw cause;
    const lack = systemLack(cause);
    if (lack !== undefined) throw new TidemarkError('INCOMPLETE', `${file} cannot be opened: ${lack}`, { cause });
    const hint = isOfLaterVersion(cause)
      ? 'run the later version that has written it'
      : settings.access_mode && PUBLISH_AGAIN;
    throw new TidemarkError('DATA', `${file} cannot be opened: ${firstLine(cause)}`, { cause, hint });
  });
}

/** Whether a file does not open because a later version of DuckDB has written it. */
export function isOfLaterVersion(error: unknown): boolean {
  return firstLine(error).includes('database file with version number');
}

/**
 * Runs statements on one connection, one after another. Parameters become literals (`fillParams`), since a prepared statement is often planned
 * twice; those that a statement does not use are ignored.
 */
export function createStatements(connection: DuckDBConnection) {
  /** Runs a text of several statements without parameters, which do not wait for this process. @returns the rows of the last one */
  const script = async (text: string): Promise<Row[]> => toRows(await connection.run(text));
  /** @param limitMs after which it is interrupted. @default never */
  const rows = async (sql: string, params: SqlParams = {}, limitMs?: number): Promise<Row[]> => {
    const text = fillParams(sql, params);
    return limitMs === undefined ? script(text) : bounded({ connection }, limitMs, () => script(text));
  };
  const orRollBack = <T>(work: () => Promise<T>): Promise<T> =>
    work().catch(async (error: unknown) => {
      await connection.run('rollback').catch(() => undefined); // the first error is the one to report
      throw error;
    });
  /** Runs `work` in a transaction, and rolls it back if `work` throws. */
  const transaction = <T>(work: () => Promise<T>): Promise<T> =>
    orRollBack(async () => {
      await connection.run('begin');
      const result = await work();
      await connection.run('commit');
      return result;
    });
  return {
    connection,
    rows,
    script,
    run: async (sql: string, params?: SqlParams) => {
      await rows(sql, params);
    },
    /** The rows of a query, of which a few are in memory. Another statement of the connection ends them. */
    stream: async function* (sql: string, params: SqlParams = {}): AsyncGenerator<Row> {
      for await (const some of streamQuery(connection, fillParams(sql, params), chunkReader)) yield* some;
    },
    /** Gives `take` the rows of a query, of which a few are in memory, in their order. @param limitMs after which it is interrupted, what `take` needs included */
    each: (sql: string, params: SqlParams, limitMs: number, take: TakeRows): Promise<void> =>
      bounded({ connection }, limitMs, async () => {
        for await (const some of streamQuery(connection, fillParams(sql, params), chunkReader)) await take(some);
      }),
    /** Runs a statement that writes rows, such as `insert` or `create table as`. @returns how many */
    write: async (sql: string, params?: SqlParams) => Number((await rows(sql, params))[0]?.Count),
    /** Runs statements with filled parameters in a transaction, as one text. */
    transact: async (statements: readonly string[]) => {
      await orRollBack(() => connection.run(['begin;', ...statements, 'commit;'].join('\n')));
    },
    transaction,
  };
}

/**
 * Interrupts the statements of `work` when the signal aborts; a transaction is then rolled back.
 * @throws the reason of the signal: DuckDB's own error does not say why
 */
export async function interruptible<T>(
  { connection }: Pick<Statements, 'connection'>,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  let again: NodeJS.Timeout | undefined;
  const interrupt = () => {
    connection.interrupt();
    again = setInterval(() => connection.interrupt(), 1000); // an interrupt between two statements is lost
  };
  signal.throwIfAborted();
  signal.addEventListener('abort', interrupt, { once: true });
  try {
    return await work();
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener('abort', interrupt);
    clearInterval(again);
  }
}

/**
 * Reads the result of a query, of which a few chunks are in memory. The binding ends a result that fails, or is interrupted, as if it were whole:
 * only its transaction shows it, in which no other statement runs then.
 * @throws what DuckDB throws when the query runs once more: the first error is lost
 */
export async function* streamQuery<T>(
  connection: DuckDBConnection,
  sql: string,
  readerOf: (result: DuckDBResult) => (chunk: DuckDBDataChunk) => T,
  values?: Record<string, DuckDBValue>,
): AsyncGenerator<T, undefined> {
  await connection.run('begin');
  let isWhole: boolean;
  try {
    const result = await connection.stream(sql, values);
    const read = readerOf(result);
    for await (const chunk of result) yield read(chunk);
    isWhole = await connection.run('select 1').then(
      () => true,
      () => false,
    );
  } finally {
    await connection.run('rollback');
  }
  if (isWhole) return;
  await connection.run(`explain analyze ${sql}`, values);
  throw new Error('the result broke off, and a second attempt did not');
}

/** A query of a file that a user may write has this time: one that never ends would hold the warehouse for ever. */
export const MAX_QUERY_MS = 3_600_000;

/** Interrupts the statements of `work` after a time. @throws TidemarkError DATA */
async function bounded<T>(statements: Pick<Statements, 'connection'>, limitMs: number, work: () => Promise<T>) {
  const limit = new AbortController();
  const late = new TidemarkError('DATA', `it was stopped after ${formatSeconds(limitMs)}`);
  const timer = setTimeout(() => limit.abort(late), limitMs);
  return interruptible(statements, limit.signal, work).finally(() => clearTimeout(timer));
}

export function firstLine(error: unknown): string {
  return errorMessage(error).split('\n', 1)[0] ?? '';
}

/**
 * `queries/findings/own.sql:5: Binder Error: …`: the file of a user whose query fails, with the line where DuckDB names it.
 * @param linesBefore lines of the statement before those of the file
 */
export function describeQueryError(file: string, error: unknown, linesBefore = 0): string {
  const line = Number(/^LINE (\d+):/mu.exec(errorMessage(error))?.[1]) - linesBefore;
  return `queries/${file}.sql${line > 0 ? `:${line}` : ''}: ${firstLine(error)}`;
}

/** Whether a query failed because of its text, or of what the database has. */
export function isQueryError(error: unknown): boolean {
  return /^(?:Binder|Catalog|Parser) Error/u.test(firstLine(error));
}

/**
 * The error of a query, as that of the file of a user that is to blame; another error stays as it is.
 * @param sql the query that failed; where it has the name of a file, that one is to blame. @default unknown
 */
export function blameOwn(files: SqlFiles, cause: unknown, sql = ''): unknown {
  if (!isQueryError(cause)) return cause;
  const own = files.own();
  const named = own.filter((name) => sql.includes(basename(name)));
  const [file, ...others] = named.length > 0 ? named : own;
  if (file === undefined) return cause;
  const all = [file, ...others].map((name) => `queries/${name}.sql`).join(', ');
  const message = others.length === 0 ? describeQueryError(file, cause) : `one of ${all}: ${firstLine(cause)}`;
  return new TidemarkError('DATA', message, { hint: 'correct your file, or remove it', cause });
}

/** What DuckDB gets of `memoryLimit`: Node, the readers of CSV and JSON, and what DuckDB does not count need the rest. */
export function halveMemory(memoryLimit: string): string {
  return `${Math.round(readSize(memoryLimit) / 2000)}KB`;
}
