import { join } from 'node:path';
import { collectGarbage } from '../core/collect-garbage.ts';
import { TidemarkError } from '../core/errors.ts';
import { plural } from '../core/plural.ts';
import type { Manifest, UnknownPart } from '../landing/store.ts';
import {
  isLargeLoad,
  LARGE_LANDING_BYTES,
  type LoadMemory,
  type LoadSize,
  loadMemory,
  setMemoryLimit,
  withGivenJoins,
  withLoadThreads,
} from '../warehouse/database.ts';
import {
  type Changes,
  compareStage,
  countUnknown,
  type Delta,
  keepVersions,
  mergeStage,
} from '../warehouse/history.ts';
import { isOutOfMemory } from '../warehouse/integrity.ts';
import { checkKeys, countCurrent, isDigestible, type LoadSpec, loadFiles } from '../warehouse/stage.ts';
import { type Table, tablesForSource } from '../warehouse/tables.ts';
import { withKeyLocation, withLoadErrors } from './load-errors.ts';
import { formatNotes, isPartial, listUnknown, manifestNotes } from './pull-notes.ts';
import { type ActivePull, type PullOutcome, type RunContext, recordPull } from './run.ts';

/** Too many rows would be deleted at once: the load is quarantined until a person accepts it. */
export class RowDropError extends TidemarkError {}

/** A table would lose all rows: whether that is believed depends on the other sources of the target. */
export class EmptiedTableError extends TidemarkError {}

/** Fewer deleted rows than this are never quarantined: a table of two rows may lose both. */
const MIN_DROPPED_ROWS = 3;

/** A load in progress. */
export interface Load {
  readonly run: RunContext;
  readonly pull: ActivePull;
  readonly manifest: Manifest;
  /** Loads a mass disappearance of rows instead of quarantining it. */
  readonly acceptDrop: boolean;
  /** Loads a table that loses all rows: the other sources of the target are as they should be. @default false */
  readonly acceptEmpty?: boolean;
  /** Contains the manifest's files. */
  readonly directory: string;
  /** For the column `note` of `pulls`. */
  readonly notes: string[];
}

/**
 * Loads a landing into all tables of its source and records the pull, in one transaction. A load that runs out of memory is repeated
 * with more of `memoryLimit`, and at last with all of it.
 * @throws TidemarkError DATA if a file, row or count is invalid; RowDropError; INCOMPLETE if the memory limit is too low.
 */
export async function loadAlone(load: Load): Promise<PullOutcome> {
  const { memoryLimit } = load.run.config;
  const memory = loadMemory(memoryLimit);
  const limits = new Set([memory[chooseMemory(measureLoad(load))], memory.large, memoryLimit]);
  return loadWithin(load, memory.usual, [...limits]);
}

async function loadWithin(
  load: Load,
  current: string,
  [limit = '', ...higher]: readonly string[],
): Promise<PullOutcome> {
  const { log, config, warehouse } = load.run;
  const { database, files } = warehouse;
  if (limit !== current) await setMemoryLimit(database, files, limit);
  try {
    return await loadWithThreads(load);
  } catch (error) {
    if (!isOutOfMemory(error)) throw error;
    const [next] = higher;
    if (next === undefined) throw outOfMemoryError(load, error);
    const share = next === config.memoryLimit ? `all of memoryLimit (${next})` : `more of memoryLimit (${next})`;
    log.info(`${load.manifest.target}: ${load.manifest.source}: loading again with ${share}`);
    return await loadWithin(load, limit, higher);
  } finally {
    // It fails while more is in use: the next load then has more than it needs.
    if (limit !== current) await setMemoryLimit(database, files, current).catch(ignoreMemory);
  }
}

function ignoreMemory(error: unknown): void {
  if (!isOutOfMemory(error)) throw error;
}

function outOfMemoryError({ run, manifest }: Load, cause: unknown): TidemarkError {
  const hint = `raise \`memoryLimit\`, then load the landing with \`tidemark pull --from ${manifest.run_id}\``;
  return new TidemarkError('INCOMPLETE', `loading needs more memory than ${run.config.memoryLimit}`, { hint, cause });
}

async function loadWithThreads(load: Load): Promise<PullOutcome> {
  const { run, manifest } = load;
  const { database, files, tables } = run.warehouse;
  const filled = tablesForSource(manifest.source, tables);
  const size = measureLoad(load);
  load.notes.splice(0, load.notes.length, ...manifestNotes(manifest, load.acceptDrop));
  if (size.landingBytes >= LARGE_LANDING_BYTES) collectGarbage();
  return interruptible(run, () => withLoadThreads(database, files, size, () => loadTables(load, filled)));
}

interface MeasuredLoad extends LoadSize {
  /** Whether most of it is lines of JSON. */
  readonly isJson: boolean;
}

function measureLoad({ run, manifest }: Load): MeasuredLoad {
  const filled = tablesForSource(manifest.source, run.warehouse.tables);
  const [largest] = [...manifest.files].sort((one, other) => other.bytes - one.bytes);
  return {
    landingBytes: manifest.files.reduce((sum, file) => sum + file.bytes, 0),
    hasLists: filled.some(({ members }) => members !== undefined),
    isJson: largest?.format === 'ndjson',
  };
}

/** The memory to begin a load with. Lists and responses of JSON are in memory as a whole. */
export function chooseMemory(size: MeasuredLoad): keyof LoadMemory {
  const { landingBytes, hasLists, isJson } = size;
  if ((isJson && landingBytes >= LARGE_LANDING_BYTES) || (hasLists && landingBytes >= MAX_USUAL_LISTS_BYTES))
    return 'large';
  return isLargeLoad(size) ? 'oneThread' : 'usual';
}

/** The rows of a part of lists, their text and the buffers of the reader fit into the memory of a load with one thread. */
const MAX_USUAL_LISTS_BYTES = 32 * 1024 * 1024;

async function loadTables(load: Load, tables: readonly Table[]): Promise<PullOutcome> {
  const { run, manifest } = load;
  const { database, files } = run.warehouse;
  const writes: Write[] = [];
  for (const table of tables) writes.push(await prepareTable(table, load));
  const readsAgain = tables.some((table) => isDigestible(table, manifest.files));
  const write = () => writeTables(load, writes);
  return readsAgain ? withGivenJoins(database, files, write) : write();
}

async function writeTables(
  { run, pull, manifest, notes, acceptDrop }: Load,
  writes: readonly Write[],
): Promise<PullOutcome> {
  return run.warehouse.database.transaction(async () => {
    const deltas: Delta[] = [];
    for (const write of writes) deltas.push(await write());
    const [delta] = deltas;
    if (!delta) throw new TidemarkError('DATA', `no table is filled by the source ${manifest.source}`);
    const outcome = await recordPull(run, pull, {
      status: isPartial(manifest, acceptDrop) ? 'partial' : 'complete',
      delta,
      extractedAt: manifest.as_of,
      note: formatNotes(notes),
      unknownParts: manifest.unknown_parts && listUnknown(manifest, acceptDrop),
    });
    run.signal.throwIfAborted();
    return outcome;
  });
}

/** Interrupts the current statement when the run is aborted; the transaction is then rolled back. */
export async function interruptible<T>({ signal, warehouse }: RunContext, work: () => Promise<T>): Promise<T> {
  const interrupt = () => warehouse.database.connection.interrupt();
  signal.throwIfAborted();
  signal.addEventListener('abort', interrupt, { once: true });
  try {
    return await work();
  } catch (error) {
    signal.throwIfAborted(); // DuckDB's own error does not say why
    throw error;
  } finally {
    signal.removeEventListener('abort', interrupt);
  }
}

/** The part of a table's load that belongs in the transaction. */
type Write = () => Promise<Delta>;

/** An empty table needs no comparison, and so no stage; a list column does, and parts that are not loaded. */
async function prepareTable(table: Table, load: Load): Promise<Write> {
  const { database, files } = load.run.warehouse;
  load.run.signal.throwIfAborted();
  const rowsBefore = await countCurrent(database, files, table, load.manifest.target);
  const isFirst = rowsBefore === 0 && !table.members && unknownParts(table, load).length === 0;
  return isFirst ? () => loadFirst(table, load) : stageNext(table, load, rowsBefore);
}

/** The parts of a table that could not be listed. */
function unknownParts({ part }: Table, { manifest, acceptDrop }: Load): readonly UnknownPart[] {
  return listUnknown(manifest, acceptDrop).filter(({ column }) => column === part);
}

/** Loads rows directly into the history. */
async function loadFirst(table: Table, load: Load): Promise<Delta> {
  const { target } = load.manifest;
  const rowsAfter = await loadRows(table, load, { asOf: load.run.asOf.toISOString() });
  if (rowsAfter > 0) await checkLoadedKeys(table, load, { target });
  const delta = { deleted: 0, inserted: rowsAfter, changed: 0, rowsBefore: 0, rowsAfter };
  checkCount(table, load.manifest, delta);
  return delta;
}

/** Stages and compares before the transaction: reading rows back that a transaction has written takes twice as long. */
async function stageNext(table: Table, load: Load, rowsBefore: number): Promise<Write> {
  const { database, files } = load.run.warehouse;
  const { target } = load.manifest;
  const unknown = unknownParts(table, load);
  const isDigested = unknown.length === 0 && isDigestible(table, load.manifest.files);
  const rowsAfter = await loadRows(table, load, { isDigested });
  if (rowsAfter > 0) await checkLoadedKeys(table, load);
  const changes = await compareStage(database, files, table, target, isDigested, unknown);
  const kept = unknown.length === 0 ? 0 : await countUnknown(database, files, table, target, unknown);
  const delta = { ...changes, rowsBefore: rowsBefore - kept, rowsAfter };
  checkCount(table, load.manifest, delta);
  if (!load.acceptDrop) checkRowDrop(table, delta, load);
  return async () => {
    const asOf = load.run.asOf.toISOString();
    const append = isDigested && { append: () => loadRows(table, load, { asOf, isDigested }) };
    if (isChanged(changes)) await mergeStage(database, files, table, { target, asOf, changes, ...append });
    else await keepVersions(database, files, table, target);
    await database.run(await files.render('warehouse/drop_stage', { table: table.name }));
    return { ...delta, rowsAfter: rowsBefore - changes.deleted + changes.inserted };
  };
}

function isChanged({ deleted, inserted, changed }: Changes): boolean {
  return deleted + inserted + changed > 0;
}

async function checkLoadedKeys(table: Table, load: Load, current?: { readonly target: string }): Promise<void> {
  const { database, files } = load.run.warehouse;
  const note = await withKeyLocation(table, load, () => checkKeys(database, files, table, current));
  if (note !== undefined) load.notes.push(note);
}

async function loadRows(table: Table, load: Load, to: Pick<LoadSpec, 'asOf' | 'isDigested'>): Promise<number> {
  const { database, files } = load.run.warehouse;
  return withLoadErrors(table, load, () => loadFiles(database, files, { ...loadSpec(table, load), ...to }));
}

/** What a load reads into a table. */
export function loadSpec(table: Table, { manifest: { target, files }, directory }: Load): LoadSpec {
  return { table, landed: files.map((file) => ({ ...file, path: join(directory, file.file) })), target };
}

/** Whether a table has the number of rows that the service reports. */
export function hasExpectedRows(table: Table, { source, expected_rows }: Manifest, { rowsAfter }: Delta): boolean {
  return table.name !== source || expected_rows === null || rowsAfter === expected_rows;
}

function checkCount(table: Table, manifest: Manifest, delta: Delta): void {
  if (hasExpectedRows(table, manifest, delta)) return;
  const { source, expected_rows } = manifest;
  const { rowsAfter } = delta;
  throw new TidemarkError(
    'DATA',
    `${source}: got ${plural(rowsAfter, 'row')}, but the service reports ${expected_rows}`,
  );
}

/** Whether so many rows would be deleted that a person has to accept it. */
export function isMassDrop(table: Table, { deleted, rowsBefore }: Delta, shrinkPercent: number): boolean {
  return !table.volatile && deleted >= MIN_DROPPED_ROWS && deleted * 100 > rowsBefore * shrinkPercent;
}

/** Whether a table loses all rows. */
export function isEmptied({ volatile }: Table, { deleted, inserted, rowsBefore }: Delta): boolean {
  return !volatile && deleted > 0 && deleted === rowsBefore && inserted === 0;
}

function checkRowDrop(table: Table, delta: Delta, { run, acceptEmpty }: Load): void {
  const { deleted, rowsBefore } = delta;
  const hint = `if this is correct, accept it with \`tidemark pull --accept-shrink ${table.source}\``;
  if (isMassDrop(table, delta, run.config.shrinkPercent)) {
    const percent = Math.round((deleted * 100) / rowsBefore);
    const what = `${table.name}: ${deleted} of ${rowsBefore} rows (${percent} %) disappeared at once`;
    throw new RowDropError('DATA', what, { hint });
  }
  if (acceptEmpty || !isEmptied(table, delta)) return;
  throw new EmptiedTableError('DATA', `${table.name}: every row (${rowsBefore}) disappeared at once`, { hint });
}
