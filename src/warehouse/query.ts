import { existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import type { DuckDBConnection } from '@duckdb/node-api';
import type { Config } from '../config/config.ts';
import { errorMessage, TidemarkError } from '../core/errors.ts';
import { overlayRoots } from '../core/paths.ts';
import { openInstance } from './database.ts';
import { warehouseFiles } from './publish.ts';
import { noWarehouseError } from './session.ts';
import { createSqlFiles, quoteIdent, quoteLiteral } from './sql-files.ts';
import { loadTables } from './tables.ts';
import { type Row, StatementType, toRows } from './values.ts';

export interface QueryOptions {
  readonly config: Config;
  readonly query: string;
  /** Values of `$name`; DuckDB casts the text to what the query compares it with. */
  readonly params: Readonly<Record<string, string>>;
  /** Shows every table as of this time. */
  readonly asOf?: Date;
  /** Writes the result to this Parquet file instead of returning rows. */
  readonly parquet?: string;
  /** Interrupts a query that runs long. */
  readonly signal: AbortSignal;
}

export interface QueryResult {
  readonly columns: readonly string[];
  readonly rows: readonly Row[];
}

/**
 * Runs one SELECT over the published warehouse. The query has no access to files or the network and cannot change settings.
 * @throws TidemarkError DATA with DuckDB's message if the query fails; UNREACHABLE if there is no warehouse.
 */
export async function runQuery(options: QueryOptions): Promise<QueryResult> {
  const { published } = warehouseFiles(options.config.data);
  if (!existsSync(published)) throw noWarehouseError(published);
  const instance = await openInstance(published, {
    access_mode: 'READ_ONLY',
    memory_limit: options.config.memoryLimit,
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    allow_community_extensions: 'false',
  });
  const connection = await instance.connect();
  const interrupt = () => connection.interrupt();
  options.signal.addEventListener('abort', interrupt, { once: true });
  try {
    if (options.asOf) await showPast(connection, options.config, options.asOf);
    await lockDown(connection, options.parquet);
    return await runSelect(connection, options);
  } catch (error) {
    if (error instanceof TidemarkError) throw error;
    throw new TidemarkError('DATA', `the query failed: ${errorMessage(error)}`, { cause: error });
  } finally {
    options.signal.removeEventListener('abort', interrupt);
    connection.closeSync();
    instance.closeSync();
  }
}

/** Hides each table behind a temporary view of its past. */
async function showPast(connection: DuckDBConnection, config: Config, asOf: Date): Promise<void> {
  const files = createSqlFiles(overlayRoots(config.directory));
  for (const table of (await loadTables(files)).values()) {
    if (!table.source) continue;
    const parts = {
      table: quoteIdent(table.name),
      macro: quoteIdent(`${table.name}_at`),
      asOf: quoteLiteral(asOf.toISOString()),
    };
    await connection.run(await files.render('warehouse/as_of_view', parts));
  }
}

/** Written first, and renamed when complete. */
const partialPath = (parquet: string) => `${parquet}.part`;

/** The order matters: allow the one path, then close access, then lock the settings. */
async function lockDown(connection: DuckDBConnection, parquet: string | undefined): Promise<void> {
  await connection.run("set TimeZone = 'UTC'");
  if (parquet !== undefined) await connection.run(`set allowed_paths = [${quoteLiteral(partialPath(parquet))}]`);
  await connection.run('set enable_external_access = false');
  await connection.run('set lock_configuration = true');
}

async function runSelect(connection: DuckDBConnection, { query, params, parquet }: QueryOptions): Promise<QueryResult> {
  const statements = await connection.extractStatements(query);
  if (statements.count !== 1) throw new TidemarkError('DATA', `expected one statement, got ${statements.count}`);
  const prepared = await statements.prepare(0);
  if (prepared.statementType !== StatementType.SELECT && prepared.statementType !== StatementType.EXPLAIN) {
    throw new TidemarkError('DATA', 'the warehouse is read-only: give a SELECT, DESCRIBE, SUMMARIZE or EXPLAIN');
  }
  if (parquet !== undefined) {
    await writeParquet(connection, query, params, parquet);
    return { columns: [], rows: [] };
  }
  prepared.bind(bindValues(prepared, params));
  const reader = await prepared.runAndReadAll();
  return {
    columns: reader.deduplicatedColumnNames(),
    rows: toRows(reader),
  };
}

async function writeParquet(
  connection: DuckDBConnection,
  query: string,
  params: QueryOptions['params'],
  parquet: string,
): Promise<void> {
  const bare = query.trim().replace(/;\s*$/u, '');
  const part = partialPath(parquet);
  try {
    const copy = await connection.prepare(
      `copy (${bare}\n) to ${quoteLiteral(part)} (format parquet, use_tmp_file false)`,
    );
    copy.bind(bindValues(copy, params));
    await copy.run();
    await rename(part, parquet);
  } finally {
    await rm(part, { force: true });
  }
}

function bindValues(
  prepared: { readonly parameterCount: number; parameterName(index: number): string },
  params: Readonly<Record<string, string>>,
): Record<string, string> {
  const used = Array.from({ length: prepared.parameterCount }, (_, index) => prepared.parameterName(index + 1));
  const missing = used.find((name) => params[name] === undefined);
  if (missing !== undefined)
    throw new TidemarkError('USAGE', `the query uses $${missing}`, { hint: `give --param ${missing}=VALUE` });
  const unused = Object.keys(params).find((name) => !used.includes(name));
  if (unused !== undefined) throw new TidemarkError('USAGE', `--param ${unused}: the query does not use $${unused}`);
  return Object.fromEntries(used.map((name) => [name, params[name] as string]));
}
