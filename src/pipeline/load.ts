import { join } from 'node:path';
import { TidemarkError } from '../core/errors.ts';
import type { Manifest } from '../core/landed.ts';
import { type Database, firstLine } from '../warehouse/database.ts';
import { compareStage, type Delta, mergeStage } from '../warehouse/history.ts';
import type { Warehouse } from '../warehouse/session.ts';
import type { SqlFiles } from '../warehouse/sql-files.ts';
import { checkStage, fillStage } from '../warehouse/stage.ts';
import { type Table, tablesOf } from '../warehouse/tables.ts';

/** Rows that would vanish at once: kept aside until a person says that it is so. */
export class ShrinkError extends TidemarkError {}

/** Fewer rows than this can go at once without being called a mass: a table of two may lose both. */
const MASS = 3;

export interface LoadOptions {
  readonly warehouse: Warehouse;
  readonly manifest: Manifest;
  /** Where the manifest's files are. */
  readonly directory: string;
  /** `valid_from` of what changes, ISO 8601; later than any before. */
  readonly asOf: string;
  readonly shrinkPercent: number;
  readonly acceptShrink: boolean;
  /** Ends a load under way; nothing of it then stays. */
  readonly signal: AbortSignal;
}

/**
 * Loads what a source landed into all its tables, in one transaction with `record`: all of it or nothing.
 * @returns what changed in the source's main table.
 * @throws TidemarkError DATA when a file, row or count is not as declared; ShrinkError on mass disappearance.
 */
export async function loadSource(options: LoadOptions, record: (main: Delta) => Promise<void>): Promise<Delta> {
  const { manifest, asOf, signal } = options;
  const { database, files, tables } = options.warehouse;
  return stoppable(options, async () => {
    const staged: Staged[] = [];
    for (const table of tablesOf(manifest.source, tables)) staged.push(await stageTable(table, options));
    const [main] = staged;
    if (!main) throw new TidemarkError('DATA', `no table is filled by the source ${manifest.source}`);
    await database.transaction(async () => {
      for (const { table, delta } of staged) {
        await mergeStage(database, files, table, manifest.target, asOf, delta);
        await dropStage(database, files, table);
      }
      await record(main.delta);
      signal.throwIfAborted();
    });
    return main.delta;
  });
}

/** Stops the statement that is under way when the signal says so; the transaction is then rolled back. */
async function stoppable<T>({ signal, warehouse: { database } }: LoadOptions, work: () => Promise<T>): Promise<T> {
  const stop = () => database.connection.interrupt();
  signal.throwIfAborted();
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await work();
  } catch (error) {
    signal.throwIfAborted(); // DuckDB's "interrupted" says nothing of why
    throw error;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** A table's rows as they came, in a temporary table, and what they change. */
interface Staged {
  readonly table: Table;
  readonly delta: Delta;
}

/** Outside of the transaction: reading back rows that the same transaction wrote costs twice as much. */
async function stageTable(table: Table, options: LoadOptions): Promise<Staged> {
  const { database, files } = options.warehouse;
  const { manifest, directory, signal } = options;
  signal.throwIfAborted();
  const landed = manifest.files.map((file) => ({ ...file, path: join(directory, file.file) }));
  await refusable(table, () => fillStage(database, files, table, landed, manifest.target));
  await checkStage(database, files, table);
  const delta = await compareStage(database, files, table, manifest.target);
  checkCount(table, manifest, delta);
  if (!options.acceptShrink) checkShrink(table, delta, options.shrinkPercent);
  return { table, delta };
}

function checkCount(table: Table, { source, expected_rows }: Manifest, { rowsAfter }: Delta): void {
  if (table.name !== source || expected_rows === null || rowsAfter === expected_rows) return;
  throw new TidemarkError('DATA', `${source}: ${rowsAfter} rows came where the service counts ${expected_rows}`);
}

function checkShrink(table: Table, { gone, rowsBefore }: Delta, shrinkPercent: number): void {
  if (table.volatile || gone < MASS || gone * 100 <= rowsBefore * shrinkPercent) return;
  const percent = Math.round((gone * 100) / rowsBefore);
  throw new ShrinkError('DATA', `${table.name}: ${gone} of ${rowsBefore} rows (${percent} %) are gone at once`, {
    hint: `if that is so, take it with \`tidemark pull --accept-shrink ${table.source}\``,
  });
}

async function dropStage(database: Database, files: SqlFiles, table: Table): Promise<void> {
  await database.run(await files.filled('warehouse/drop_stage', { table: table.name }));
}

/** DuckDB says in several lines where a file is not as declared; one line of it is told. */
async function refusable(table: Table, fill: () => Promise<void>): Promise<void> {
  try {
    await fill();
  } catch (error) {
    if (error instanceof TidemarkError) throw error;
    throw new TidemarkError('DATA', `${table.name}: ${placeAndReason(error)}`, { cause: error });
  }
}

function placeAndReason(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const line = /CSV Error on Line: (\d+)/u.exec(message)?.[1];
  if (line === undefined) return firstLine(error).replace(/^\w[\w ]* Error: /u, '');
  const reason = message
    .split('\n')
    .find((text) => /^(Error when|Expected Number|Value with|Invalid unicode|Maximum line)/u.test(text));
  return `line ${line} of the CSV is not as declared: ${reason ?? firstLine(error)}`;
}
