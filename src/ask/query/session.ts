import { rm } from 'node:fs/promises';
import type {
  DuckDBConnection,
  DuckDBDataChunk,
  DuckDBInstance,
  DuckDBPreparedStatement,
  DuckDBValue,
} from '@duckdb/node-api';
import type { Config } from '../../config/config.ts';
import { linkSignals } from '../../core/abort.ts';
import { isMemoryError, TidemarkError } from '../../core/errors.ts';
import { overlayRoots } from '../../core/paths.ts';
import { createStatements, interruptible, isQueryError, openInstance, streamQuery } from '../../warehouse/database.ts';
import { defineMissing } from '../../warehouse/migrate.ts';
import { beforeFirstPull, readHistoryStart } from '../../warehouse/moment.ts';
import { warehouseFiles } from '../../warehouse/publish.ts';
import { ADD_MISSING, assertReadable } from '../../warehouse/session.ts';
import { createSqlFiles, quoteIdent, quoteLiteral, type SqlFiles, type SqlParts } from '../../warehouse/sql-files.ts';
import { lacksColumns, loadTables, loadViews } from '../../warehouse/tables.ts';
import { createTemporaryFolder } from '../../warehouse/temporary-folder.ts';
import { listValue, toRow, toRows } from '../../warehouse/values.ts';
import { type QueryLimits, queryError, stopError, timeoutError } from './errors.ts';
import type { ResultColumn } from './sql-text.ts';
import { asOwn, readStatement, type Statement } from './statement.ts';

export type SessionConfig = Pick<Config, 'data' | 'directory' | 'sql'>;

interface QuerySessionOptions {
  readonly config: SessionConfig;
  /** Shows every table as of this time. */
  readonly asOf?: Date | undefined;
  readonly signal: AbortSignal;
  /** The one file that a query may write. */
  readonly output?: string | undefined;
}

/** Values of `$name`; DuckDB casts the text to what the query compares it with. */
type QueryParams = Readonly<Record<string, string>>;

/**
 * Opens one connection to the published warehouse for queries that people write. They have no access to files or the network, cannot
 * change settings, and end at the limits of the configuration (docs/decisions.md#queries-that-people-write-run-in-a-process-of-their-own).
 * @throws TidemarkError UNREACHABLE if there is no warehouse, DATA if it cannot be opened.
 */
export async function openQuerySession({ config, asOf, signal, output }: QuerySessionOptions) {
  const { published } = warehouseFiles(config.data);
  await assertReadable(published);
  const temporary = await createTemporaryFolder();
  const stop = linkSignals(signal);
  let instance: DuckDBInstance | undefined;
  let connection: DuckDBConnection | undefined;
  let timer: NodeJS.Timeout | undefined;
  const close = async () => {
    clearTimeout(timer);
    stop.release();
    connection?.closeSync();
    instance?.closeSync();
    await rm(temporary, { recursive: true, force: true });
  };
  try {
    instance = await openInstance(published, createSettings(config.sql, temporary));
    connection = await instance.connect();
    timer = setTimeout(() => stop.abort(timeoutError(config.sql)), config.sql.timeout * 1000);
    const files = createSqlFiles(overlayRoots(config.directory));
    const past = await prepareConnection(connection, files, asOf, output);
    const session = { config, asOf, connection, files, temporary, signal: stop.signal, past };
    return { prepare: prepare.bind(undefined, session), close };
  } catch (error) {
    await close();
    throw isMemoryError(error) ? queryError(error, config.sql, temporary) : error;
  }
}

/** `signal` is aborted by that of the caller, or at the limit of time. */
interface Session extends Pick<QuerySessionOptions, 'config' | 'asOf' | 'signal'> {
  readonly connection: DuckDBConnection;
  readonly files: SqlFiles;
  readonly temporary: string;
  /** The SQL of what has a past, by its name, and is not hidden yet. */
  readonly past: Map<string, string>;
}

/**
 * Checks a query and finds its columns.
 * @throws TidemarkError DATA with DuckDB's message if it is not one SELECT, DESCRIBE, SUMMARIZE or EXPLAIN; USAGE if a parameter
 * is missing or unknown.
 * @param maxRows ends the result
 * @param isOwn a query of ours is not checked: that takes more time and memory than a long one itself
 */
async function prepare(session: Session, query: string, params: QueryParams = {}, maxRows?: number, isOwn = false) {
  const { connection, files } = session;
  return runStep(session, async () => {
    const text = `\n${query}`; // its lines are whole wherever it stands, and `queryError` counts them
    const statement = isOwn ? asOwn(text) : await readStatement(connection, files, text);
    await assertKnown(session, statement);
    await showPast(session, query);
    const prepared = await plan(session, statement.text);
    const values = bindValues(prepared, params);
    const whole = await toTable(files, statement, prepared, values);
    const source = maxRows === undefined ? whole : `(from ${whole} limit ${maxRows})`;
    const known = isOwn ? describeColumns(prepared) : await probe(session, source, values);
    const columns = known.map((column, index) => ({ ...column, sql: `c${index}` }));
    const from = `${source} as result(${columns.map(({ sql }) => sql).join(', ')})`;
    const chunks = (expressions: string) => readChunks(session, { expressions, source: from }, values);
    return {
      columns,
      /** Runs `select expressions` over it. Each item is one chunk of rows, which the caller decodes. */
      chunks,
      /** Its rows, a part at a time. */
      rows: () => decodeRows(chunks('*'), columns),
      /** Writes `select expressions` over it to the output file by DuckDB's COPY with `options`. Returns the number of rows. */
      copy: (output: string, expressions: string, options: string) =>
        copyRows(session, { expressions, source: from, target: quoteLiteral(output), options }, values),
      /** The text of a SQL expression of ours without tables. */
      evaluate: (expression: string) => evaluate(session, expression),
    };
  });
}

/** Hides each table and view that a query may name behind a temporary view of its past: to make all takes longer than most queries. */
async function showPast({ connection, files, past }: Session, query: string): Promise<void> {
  const text = query.toLowerCase();
  for (const [name, sql] of past) {
    if (!text.includes(name.toLowerCase())) continue;
    await connection.run(files.render('warehouse/as_of_view', { table: quoteIdent(name), past: sql }));
    past.delete(name);
  }
}

/** Plans a statement. Where the warehouse is of an earlier version, it may lack what saved queries and the SQL of reports call. */
async function plan(session: Session, text: string) {
  const { connection, files } = session;
  return connection.prepare(text).catch(async (error: unknown) => {
    if (!isQueryError(error)) throw error;
    const database = createStatements(connection);
    // It may be too old for that.
    const defined = defineMissing([database], files).catch(() => Promise.reject(error));
    return defined
      .then(() => connection.prepare(text))
      .catch(async (cause: unknown) => {
        const isEarlier = await lacksColumns({ database, files });
        const hint = `if the query is right, the warehouse is of an earlier version: ${ADD_MISSING}`;
        throw explain(session, cause, isEarlier ? hint : undefined);
      });
  });
}

/** Columns of the same name get numbers. */
async function probe({ connection, files }: Session, source: string, values: QueryParams) {
  const found = await connection.stream(files.render('query/columns', { source }), { ...values });
  return found.deduplicatedColumnNames().map((name, index) => ({ name, type: found.columnType(index) }));
}

async function* readChunks(session: Session, parts: SqlParts, values: QueryParams) {
  const sql = session.files.render('query/rows', parts);
  const chunks = streamQuery(session.connection, sql.trimStart(), () => (chunk) => chunk, { ...values });
  try {
    for (;;) {
      const { value: chunk } = await runStep(session, () => chunks.next());
      if (!chunk) return;
      yield chunk;
    }
  } finally {
    await chunks.return(undefined);
  }
}

async function copyRows(session: Session, parts: SqlParts, values: QueryParams): Promise<number> {
  return runStep(session, async () => {
    const prepared = await session.connection.prepare(session.files.render('query/copy', parts).trimStart());
    prepared.bind({ ...values });
    return (await prepared.run()).rowsChanged;
  });
}

async function evaluate(session: Session, expression: string): Promise<string> {
  const parts = { expressions: 'line', source: `(values (${expression})) as result(line)` };
  for await (const chunk of readChunks(session, parts, {})) return String(chunk.getColumnValues(0)[0] ?? '');
  return '';
}

/** The order matters: allow the one path, close access, lock the settings. @returns the past of what has one, by its name */
async function prepareConnection(connection: DuckDBConnection, files: SqlFiles, asOf?: Date, output?: string) {
  await connection.run("set TimeZone = 'UTC'");
  // the published warehouse is read-only, and may be of an earlier version
  for (const name of ['semver_key', 'interrupted_runs', 'previous_run_at', 'finding_states_at', 'findings_at']) {
    await connection.run(files.render(`warehouse/${name}`, { scope: 'temp ' }));
  }
  const past = new Map(asOf ? await listPast(connection, files, asOf) : []);
  if (output !== undefined) await connection.run(`set allowed_paths = [${quoteLiteral(output)}]`);
  await connection.run('set enable_external_access = false');
  await connection.run('set lock_configuration = true');
  return past;
}

/** An empty table would say that there was nothing. @throws TidemarkError USAGE for a time before the first pull, as `--as-of` does */
async function assertKnown({ connection, files, asOf }: Session, statement: Statement): Promise<void> {
  const moments = [...statement.moments, ...(asOf ? [asOf.toISOString()] : [])];
  if (moments.length === 0) return;
  const read = async (sql: string, values: Record<string, DuckDBValue> = {}) =>
    toRows(await connection.run(sql, values));
  const start = (await readHistoryStart(read, files)) ?? '-infinity';
  const [early] = await read(files.read('query/before_first_pull'), { moments: listValue(moments), start });
  if (early) throw beforeFirstPull(String(early.moment), new Date(String(early.first_pull)));
}

/** The query in parentheses, as a table. EXPLAIN is not valid there: it runs now, and its few rows, which are texts, replace it. */
async function toTable(files: SqlFiles, statement: Statement, prepared: DuckDBPreparedStatement, values: QueryParams) {
  if (statement.showsTables) return `(${files.render('query/tables', {})})`;
  if (!statement.isExplain) return `(${statement.text}\n)`;
  prepared.bind(values);
  const reader = await prepared.runAndReadAll();
  const names = reader.deduplicatedColumnNames().map(quoteIdent);
  const rows = reader.getRows().map((row) => `(${row.map((text) => quoteLiteral(String(text))).join(', ')})`);
  return `(from (values ${rows.join(', ')}) as literal(${names.join(', ')}))`;
}

/** Runs a step of the query, and says which limit it met. */
async function runStep<T>(session: Session, step: () => Promise<T>): Promise<T> {
  const { connection, signal } = session;
  try {
    return await interruptible({ connection }, signal, step);
  } catch (error) {
    throw signal.aborted ? stopError(signal.reason) : explain(session, error);
  }
}

function explain({ config, temporary }: Session, error: unknown, hint?: string): TidemarkError {
  return queryError(error, config.sql, temporary, hint);
}

/** A query that `prepare` accepted. */
export type PreparedQuery = Awaited<ReturnType<typeof prepare>>;

async function* decodeRows(chunks: AsyncIterable<DuckDBDataChunk>, columns: readonly ResultColumn[]) {
  for await (const chunk of chunks) yield chunk.getRows().map((row) => toRow(row, columns));
}

function createSettings(limits: QueryLimits, temporary: string): Readonly<Record<string, string>> {
  return {
    access_mode: 'READ_ONLY',
    memory_limit: limits.memoryLimit,
    temp_directory: temporary,
    max_temp_directory_size: limits.temporaryLimit,
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    allow_community_extensions: 'false',
  };
}

/** The past of each table and view that has one. The rows of a log that are of later are left out. */
async function listPast(connection: DuckDBConnection, files: SqlFiles, at: Date) {
  const macros = (await connection.runAndReadAll(files.read('query/past_macros'))).getColumns()[0] ?? [];
  const stored = (await connection.runAndReadAll(files.read('query/present_tables'))).getColumns()[0] ?? [];
  const [known, time] = [[...loadTables(files).values(), ...loadViews(files)], quoteLiteral(at.toISOString())];
  const logs = known.flatMap(({ name, loggedAt }) =>
    loggedAt !== undefined && stored.includes(name)
      ? [[name, `warehouse.main.${quoteIdent(name)} where ${quoteIdent(loggedAt)} <= ${time}::timestamptz`] as const]
      : [],
  );
  const held = known.filter(({ name }) => macros.includes(`${name}_at`));
  return [...logs, ...held.map(({ name }) => [name, `${quoteIdent(`${name}_at`)}(${time})`] as const)];
}

function bindValues(statement: DuckDBPreparedStatement, params: QueryParams): QueryParams {
  const used = Array.from({ length: statement.parameterCount }, (_, index) => statement.parameterName(index + 1));
  const missing = used.find((name) => !Object.hasOwn(params, name)); // `constructor` is in every object
  if (missing !== undefined)
    throw new TidemarkError('USAGE', `the query uses $${missing}`, {
      hint: `give --param ${missing}=VALUE; on a page, fill in its field`,
    });
  const unused = Object.keys(params).find((name) => !used.includes(name));
  if (unused !== undefined) throw new TidemarkError('USAGE', `--param ${unused}: the query does not use $${unused}`);
  return Object.fromEntries(used.map((name) => [name, params[name] as string]));
}

/** To plan a long query once more would take longer than to run it. */
function describeColumns(prepared: DuckDBPreparedStatement) {
  return Array.from({ length: prepared.columnCount }, (_, index) => ({
    name: prepared.columnName(index),
    type: prepared.columnType(index),
  }));
}
