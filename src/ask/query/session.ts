import { rm } from 'node:fs/promises';
import type {
  DuckDBConnection,
  DuckDBDataChunk,
  DuckDBInstance,
  DuckDBPreparedStatement,
  DuckDBValue,
} from '@duckdb/node-api';
import type { Config } from '../../config/config.ts';
import { type LinkedSignal, linkSignals } from '../../core/abort.ts';
import { TidemarkError } from '../../core/errors.ts';
import { overlayRoots } from '../../core/paths.ts';
import { createStatements, interruptible, isQueryError, openInstance } from '../../warehouse/database.ts';
import { defineMissing } from '../../warehouse/migrate.ts';
import { beforeFirstPull, readHistoryStart } from '../../warehouse/moment.ts';
import { warehouseFiles } from '../../warehouse/publish.ts';
import { ADD_MISSING, assertReadable } from '../../warehouse/session.ts';
import { createSqlFiles, quoteIdent, quoteLiteral, type SqlFiles, type SqlParts } from '../../warehouse/sql-files.ts';
import { lacksColumns, loadTables, loadViews } from '../../warehouse/tables.ts';
import { createTemporaryFolder } from '../../warehouse/temporary-folder.ts';
import { listValue, toRow, toRows } from '../../warehouse/values.ts';
import { type QueryLimits, queryError, stopError, timeoutError } from './errors.ts';
import { type ResultColumn, textSql } from './sql-text.ts';
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
 * One connection to the published warehouse for queries that people write. They have no access to files or the network, cannot
 * change settings, and end at the limits of the configuration (docs/decisions.md#queries-that-people-write-run-in-a-process-of-their-own).
 */
export class QuerySession {
  readonly #connection: DuckDBConnection;
  readonly #instance: DuckDBInstance;
  readonly #temporary: string;
  readonly #options: QuerySessionOptions;
  readonly #files: SqlFiles;
  /** Ends a query that runs: the caller, or the limit of time. */
  readonly #stop: LinkedSignal;
  readonly #timer: NodeJS.Timeout;
  /** The SQL of what has a past, by its name, and is not hidden yet. */
  readonly #past = new Map<string, string>();

  private constructor(
    connection: DuckDBConnection,
    instance: DuckDBInstance,
    temporary: string,
    options: QuerySessionOptions,
  ) {
    this.#connection = connection;
    this.#instance = instance;
    this.#temporary = temporary;
    this.#options = options;
    this.#files = createSqlFiles(overlayRoots(options.config.directory));
    const { sql } = options.config;
    this.#stop = linkSignals(options.signal);
    this.#timer = setTimeout(() => this.#stop.abort(timeoutError(sql)), sql.timeout * 1000);
  }

  /** @throws TidemarkError UNREACHABLE if there is no warehouse, DATA if it cannot be opened. */
  static async open(options: QuerySessionOptions): Promise<QuerySession> {
    const { published } = warehouseFiles(options.config.data);
    await assertReadable(published);
    const temporary = await createTemporaryFolder();
    let session: QuerySession | undefined;
    try {
      const instance = await openInstance(published, createSettings(options.config.sql, temporary));
      session = new QuerySession(await instance.connect(), instance, temporary, options);
      await session.#prepareConnection();
      return session;
    } catch (error) {
      await (session ? session.close() : rm(temporary, { recursive: true, force: true }));
      throw error;
    }
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    this.#stop.release();
    this.#connection.closeSync();
    this.#instance.closeSync();
    await rm(this.#temporary, { recursive: true, force: true });
  }

  /**
   * Checks a query and finds its columns.
   * @throws TidemarkError DATA with DuckDB's message if it is not one SELECT, DESCRIBE, SUMMARIZE or EXPLAIN; USAGE if a parameter
   * is missing or unknown.
   * @param maxRows ends the result
   * @param isOwn a query of ours is not checked: that takes more time and memory than a long one itself
   */
  async prepare(query: string, params: QueryParams = {}, maxRows?: number, isOwn = false) {
    return this.#run(async () => {
      const text = `\n${query}`; // its lines are whole wherever it stands, and `queryError` counts them
      const statement = isOwn ? asOwn(text) : await readStatement(this.#connection, this.#files, text);
      await this.#assertKnown(statement);
      await this.#showPast(query);
      const prepared = await this.#plan(statement.text);
      const values = bindValues(prepared, params);
      const whole = await this.#asSubquery(statement, prepared, values);
      const source = maxRows === undefined ? whole : `(from ${whole} limit ${maxRows})`;
      const known = isOwn ? describeColumns(prepared) : await this.#probe(source, values);
      const columns = known.map((column, index) => ({ ...column, sql: `c${index}` }));
      const from = `${source} as result(${columns.map(({ sql }) => sql).join(', ')})`;
      const chunks = (expressions: string) => this.#chunks({ expressions, source: from }, values);
      return {
        columns,
        /** Runs `select expressions` over it. Each item is one chunk of rows, which the caller decodes. */
        chunks,
        /** Its rows, a part at a time. */
        rows: () => decodeRows(chunks('*'), columns),
        /** Writes `select expressions` over it to the output file by DuckDB's COPY with `options`. Returns the number of rows. */
        copy: (output: string, expressions: string, options: string) =>
          this.#copy({ expressions, source: from, target: quoteLiteral(output), options }, values),
        /** The text of a SQL expression of ours without tables. */
        evaluate: (expression: string) => this.#evaluate(expression),
      };
    });
  }

  /** Hides each table and view that a query may name behind a temporary view of its past: to make all takes longer than most queries. */
  async #showPast(query: string): Promise<void> {
    const text = query.toLowerCase();
    for (const [name, past] of this.#past) {
      if (!text.includes(name.toLowerCase())) continue;
      await this.#connection.run(this.#files.render('warehouse/as_of_view', { table: quoteIdent(name), past }));
      this.#past.delete(name);
    }
  }

  /** Plans a statement. Where the warehouse is of an earlier version, it may lack what saved queries and the SQL of reports call. */
  async #plan(text: string) {
    return this.#connection.prepare(text).catch(async (error: unknown) => {
      if (!isQueryError(error)) throw error;
      const database = createStatements(this.#connection);
      // It may be too old for that.
      const defined = defineMissing([database], this.#files).catch(() => Promise.reject(error));
      return defined
        .then(() => this.#connection.prepare(text))
        .catch(async (cause: unknown) => {
          const isEarlier = await lacksColumns({ database, files: this.#files });
          throw this.#explain(
            cause,
            isEarlier ? `if the query is right, the warehouse is of an earlier version: ${ADD_MISSING}` : undefined,
          );
        });
    });
  }

  /** Columns of the same name get numbers. */
  async #probe(source: string, values: QueryParams) {
    const probe = await this.#stream(this.#files.render('query/columns', { source }), values);
    return probe.deduplicatedColumnNames().map((name, index) => ({ name, type: probe.columnType(index) }));
  }

  async *#chunks(parts: SqlParts, values: QueryParams): AsyncGenerator<DuckDBDataChunk, void, undefined> {
    const result = await this.#run(() => this.#stream(this.#files.render('query/rows', parts), values));
    for (;;) {
      const chunk = await this.#run(() => result.fetchChunk());
      if (!chunk || chunk.rowCount === 0) return;
      yield chunk;
    }
  }

  async #copy(parts: SqlParts, values: QueryParams): Promise<number> {
    return this.#run(async () => {
      const prepared = await this.#connection.prepare(this.#files.render('query/copy', parts).trimStart());
      prepared.bind({ ...values });
      return (await prepared.run()).rowsChanged;
    });
  }

  async #evaluate(expression: string): Promise<string> {
    const { columns, chunks } = await this.prepare(`values (${expression})`, {}, undefined, true);
    for await (const chunk of chunks(columns.map(textSql).join(', '))) return String(chunk.getColumnValues(0)[0] ?? '');
    return '';
  }

  /** The order matters: allow the one path, close access, lock the settings. */
  async #prepareConnection(): Promise<void> {
    const { asOf, output } = this.#options;
    await this.#connection.run("set TimeZone = 'UTC'");
    // the published warehouse is read-only, and may be of an earlier version
    for (const name of ['semver_key', 'interrupted_runs', 'previous_run_at', 'finding_states_at', 'findings_at']) {
      await this.#connection.run(this.#files.render(`warehouse/${name}`, { scope: 'temp ' }));
    }
    if (asOf)
      for (const [name, past] of await listPast(this.#connection, this.#files, asOf)) this.#past.set(name, past);
    if (output !== undefined) await this.#connection.run(`set allowed_paths = [${quoteLiteral(output)}]`);
    await this.#connection.run('set enable_external_access = false');
    await this.#connection.run('set lock_configuration = true');
  }

  /** An empty table would say that there was nothing. @throws TidemarkError USAGE for a time before the first pull, as `--as-of` does */
  async #assertKnown(statement: Statement): Promise<void> {
    const { asOf } = this.#options;
    const moments = [...statement.moments, ...(asOf ? [asOf.toISOString()] : [])];
    if (moments.length === 0) return;
    const read = async (sql: string, values: Record<string, DuckDBValue> = {}) =>
      toRows(await this.#connection.run(sql, values));
    const start = (await readHistoryStart(read, this.#files)) ?? '-infinity';
    const sql = this.#files.read('query/before_first_pull');
    const [early] = await read(sql, { moments: listValue(moments), start });
    if (early) throw beforeFirstPull(String(early.moment), new Date(String(early.first_pull)));
  }

  /** The query in parentheses. EXPLAIN is not valid there: it runs now, and its few rows, which are texts, replace it. */
  async #asSubquery(statement: Statement, prepared: DuckDBPreparedStatement, values: QueryParams): Promise<string> {
    if (statement.showsTables) return `(${this.#files.render('query/tables', {})})`;
    if (!statement.isExplain) return `(${statement.text}\n)`;
    prepared.bind(values);
    const reader = await prepared.runAndReadAll();
    const names = reader.deduplicatedColumnNames().map(quoteIdent);
    const rows = reader.getRows().map((row) => `(${row.map((text) => quoteLiteral(String(text))).join(', ')})`);
    return `(from (values ${rows.join(', ')}) as literal(${names.join(', ')}))`;
  }

  async #stream(sql: string, values: QueryParams) {
    const prepared = await this.#connection.prepare(sql.trimStart());
    prepared.bind({ ...values });
    return prepared.stream();
  }

  /** Runs a step of the query, and says which limit it met. */
  async #run<T>(step: () => Promise<T>): Promise<T> {
    const { signal } = this.#stop;
    try {
      const result = await interruptible({ connection: this.#connection }, signal, step);
      signal.throwIfAborted(); // DuckDB may end an interrupted result as if it were complete
      return result;
    } catch (error) {
      if (signal.aborted) throw stopError(signal.reason);
      throw this.#explain(error);
    }
  }

  #explain(error: unknown, hint?: string): TidemarkError {
    return queryError(error, this.#options.config.sql, this.#temporary, hint);
  }
}

/** A query that `prepare` accepted. */
export type PreparedQuery = Awaited<ReturnType<QuerySession['prepare']>>;

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
