import { join } from 'node:path';
import { TidemarkError } from '../core/errors.ts';
import type { Manifest } from '../landing/manifest.ts';
import { compareStage, type Delta, mergeStage } from '../warehouse/history.ts';
import type { Warehouse } from '../warehouse/session.ts';
import { checkKeys, countCurrent, loadFiles } from '../warehouse/stage.ts';
import { type Table, tablesForSource } from '../warehouse/tables.ts';
import { withKeyLocation, withLoadErrors } from './load-errors.ts';

/** Rows that would vanish at once: kept aside until a person says that it is so. */
export class RowDropError extends TidemarkError {}

/** Fewer rows than this can go at once without being called a mass: a table of two may lose both. */
const MIN_DROPPED_ROWS = 3;

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
  const { manifest, signal } = options;
  const { database, tables } = options.warehouse;
  return stoppable(options, async () => {
    const writes: Write[] = [];
    for (const table of tablesForSource(manifest.source, tables)) writes.push(await prepareTable(table, options));
    return database.transaction(async () => {
      const deltas: Delta[] = [];
      for (const write of writes) deltas.push(await write());
      const [main] = deltas;
      if (!main) throw new TidemarkError('DATA', `no table is filled by the source ${manifest.source}`);
      await record(main);
      signal.throwIfAborted();
      return main;
    });
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

/** What is left to do for a table within the transaction. */
type Write = () => Promise<Delta>;

/** Where nothing stands yet there is nothing to compare with; lists are always taken apart in a stage. */
async function prepareTable(table: Table, options: LoadOptions): Promise<Write> {
  const { database, files } = options.warehouse;
  options.signal.throwIfAborted();
  const rowsBefore = await countCurrent(database, files, table, options.manifest.target);
  return rowsBefore === 0 && !table.members ? () => loadFirst(table, options) : stageNext(table, options);
}

/** Loads rows straight into the history: a stage would be written and read for nothing. */
async function loadFirst(table: Table, options: LoadOptions): Promise<Delta> {
  const { database, files } = options.warehouse;
  const { target } = options.manifest;
  await fill(table, options, { asOf: options.asOf });
  await withKeyLocation(table, options, () => checkKeys(database, files, table, { target }));
  const rowsAfter = await countCurrent(database, files, table, target);
  const delta = { gone: 0, appeared: rowsAfter, changed: 0, rowsBefore: 0, rowsAfter };
  checkCount(table, options.manifest, delta);
  return delta;
}

/** Stages and compares before the transaction begins: reading back rows that it wrote itself costs twice as much. */
async function stageNext(table: Table, options: LoadOptions): Promise<Write> {
  const { database, files } = options.warehouse;
  const { target } = options.manifest;
  await fill(table, options, {});
  await withKeyLocation(table, options, () => checkKeys(database, files, table));
  const delta = await compareStage(database, files, table, target);
  checkCount(table, options.manifest, delta);
  if (!options.acceptShrink) checkShrink(table, delta, options.shrinkPercent);
  return async () => {
    await mergeStage(database, files, table, target, options.asOf);
    await database.run(await files.render('warehouse/drop_stage', { table: table.name }));
    return delta;
  };
}

async function fill(table: Table, options: LoadOptions, into: { readonly asOf?: string }): Promise<void> {
  const { manifest, directory } = options;
  const { database, files } = options.warehouse;
  const landed = manifest.files.map((file) => ({ ...file, path: join(directory, file.file) }));
  const filling = { table, landed, target: manifest.target, ...into };
  await withLoadErrors(table, options, () => loadFiles(database, files, filling));
}

function checkCount(table: Table, { source, expected_rows }: Manifest, { rowsAfter }: Delta): void {
  if (table.name !== source || expected_rows === null || rowsAfter === expected_rows) return;
  throw new TidemarkError('DATA', `${source}: ${rowsAfter} rows came where the service counts ${expected_rows}`);
}

function checkShrink(table: Table, { deleted, rowsBefore }: Delta, shrinkPercent: number): void {
  if (table.volatile || deleted < MIN_DROPPED_ROWS || deleted * 100 <= rowsBefore * shrinkPercent) return;
  const percent = Math.round((deleted * 100) / rowsBefore);
  throw new RowDropError('DATA', `${table.name}: ${deleted} of ${rowsBefore} rows (${percent} %) are gone at once`, {
    hint: `if that is so, take it with \`tidemark pull --accept-shrink ${table.source}\``,
  });
}
