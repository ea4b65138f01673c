import { formatError, TidemarkError } from '../core/errors.ts';
import { type BatchChanges, batchDropStatements, batchMergeStatements, compareBatch } from '../warehouse/batch.ts';
import type { Changes, Delta } from '../warehouse/history.ts';
import { classifyStorageError } from '../warehouse/integrity.ts';
import { createStage, loadFiles } from '../warehouse/stage.ts';
import { type Table, tablesForSource } from '../warehouse/tables.ts';
import { hasExpectedRows, interruptible, isEmptied, isMassDrop, type Load, loadSpec } from './load.ts';
import { formatNotes } from './pull-notes.ts';
import { describePull, type PullOutcome, type RunContext, recordPullsStatement } from './run.ts';

/** A larger landing gains nothing from a batch, and its first load is faster without a stage. */
const MAX_BYTES = 2 * 1024 * 1024;

/** Whether a landing can be loaded together with others. */
export function isBatchable({ run, manifest: { source, files, unknown_parts = [] } }: Load): boolean {
  const tables = tablesForSource(source, run.warehouse.tables);
  // A batch compares whole targets.
  if (unknown_parts.length > 0) return false;
  return files.reduce((sum, { bytes }) => sum + bytes, 0) <= MAX_BYTES && tables.length > 0;
}

/**
 * Loads landings in one transaction and records their pulls. Only what is beyond doubt is loaded: a landing with an unreadable file, an
 * invalid key, another number of rows than expected or a mass disappearance of rows is left to `loadAlone`, which decides and says why.
 * @returns the outcomes of the loaded ones
 * @throws storage failures; the reason of an abort
 */
export async function loadBatch(run: RunContext, loads: readonly Load[]): Promise<ReadonlyMap<Load, PullOutcome>> {
  if (loads.length === 0) return new Map();
  try {
    return await interruptible(run, async () => {
      const tables: ComparedTable[] = [];
      for (const source of new Set(loads.map(({ manifest }) => manifest.source))) {
        const group = loads.filter(({ manifest }) => manifest.source === source);
        for (const table of tablesForSource(source, run.warehouse.tables)) {
          tables.push(await compareTable(run, table, group));
        }
      }
      return mergeTables(run, tables, loads);
    });
  } catch (error) {
    if (error instanceof TidemarkError || classifyStorageError(error) || run.signal.aborted) throw error;
    run.log.info(`loading ${loads.length} landings one by one: ${formatError(error)}`);
    return new Map();
  }
}

/** The stage of a table, with what each landing changes in it. A landing that is in doubt has no delta. */
interface ComparedTable {
  readonly table: Table;
  readonly loads: readonly Load[];
  readonly deltas: ReadonlyMap<Load, Delta>;
}

async function compareTable(run: RunContext, table: Table, loads: readonly Load[]): Promise<ComparedTable> {
  const { database, files } = run.warehouse;
  const rows = await stageRows(run, table, loads);
  const changes = await compareBatch(database, files, table, loads.map(readTarget));
  const deltas = new Map<Load, Delta>();
  for (const [load, rowsAfter] of rows) {
    const delta = toDelta(changes.get(load.manifest.target), rowsAfter);
    if (delta && isBeyondDoubt(table, load, delta)) deltas.set(load, delta);
  }
  return { table, loads, deltas };
}

/** @returns the number of rows of each landing that can be read */
async function stageRows(run: RunContext, table: Table, loads: readonly Load[]): Promise<ReadonlyMap<Load, number>> {
  const { database, files } = run.warehouse;
  const rows = new Map<Load, number>();
  const appends = loads.length > 1;
  if (appends) await createStage(database, files, table);
  for (const load of loads) {
    try {
      rows.set(load, await loadFiles(database, files, { ...loadSpec(table, load), appends }));
    } catch (error) {
      if (!appends || classifyStorageError(error) || run.signal.aborted) throw error;
    }
  }
  return rows;
}

function toDelta(changes: BatchChanges | undefined, rowsAfter: number): Delta | undefined {
  if (!changes || changes.hasInvalidKey) return undefined;
  const { deleted, inserted, changed } = changes;
  return { deleted, inserted, changed, rowsBefore: rowsAfter - inserted + deleted, rowsAfter };
}

function isBeyondDoubt(table: Table, { run, manifest, acceptDrop }: Load, delta: Delta): boolean {
  const isDrop = isMassDrop(table, delta, run.config.shrinkPercent) || isEmptied(table, delta);
  return hasExpectedRows(table, manifest, delta) && (acceptDrop || !isDrop);
}

async function mergeTables(
  run: RunContext,
  tables: readonly ComparedTable[],
  loads: readonly Load[],
): Promise<ReadonlyMap<Load, PullOutcome>> {
  const { database, files } = run.warehouse;
  const merged = new Set(
    loads.filter((load) => tables.every((table) => !table.loads.includes(load) || table.deltas.has(load))),
  );
  const pulls = new Map([...merged].map((load) => [load, describeLoad(load, tables)]));
  const merges = await Promise.all(tables.map((table) => mergeStatements(run, table, merged)));
  const drops = await Promise.all(tables.map(({ table }) => batchDropStatements(files, table)));
  run.signal.throwIfAborted();
  if (merged.size > 0) {
    const record = await recordPullsStatement(
      run,
      [...pulls.values()].map(({ row }) => row),
    );
    await database.transact([...merges.flat(), record]);
  }
  await database.script(drops.flat().join('\n'));
  return new Map([...pulls].map(([load, { outcome }]) => [load, outcome]));
}

function describeLoad(load: Load, tables: readonly ComparedTable[]) {
  const { run, pull, manifest } = load;
  const delta = tables.find(({ loads }) => loads.includes(load))?.deltas.get(load);
  const note = formatNotes(manifest.notes ?? []);
  return describePull(run, pull, { status: 'complete', ...(delta && { delta }), extractedAt: manifest.as_of, note });
}

async function mergeStatements(
  { warehouse: { files }, asOf }: RunContext,
  { table, loads, deltas }: ComparedTable,
  merged: ReadonlySet<Load>,
): Promise<readonly string[]> {
  const targets = loads.filter((load) => merged.has(load));
  if (targets.length === 0) return [];
  const leftOut = loads.filter((load) => !merged.has(load));
  const changes = sumChanges(targets.map((load) => deltas.get(load)));
  const options = {
    targets: targets.map(readTarget),
    leftOut: leftOut.map(readTarget),
    changes,
    asOf: asOf.toISOString(),
  };
  return batchMergeStatements(files, table, options);
}

function sumChanges(deltas: readonly (Delta | undefined)[]): Changes {
  const sum = (count: (delta: Delta) => number) =>
    deltas.reduce((total, delta) => total + (delta ? count(delta) : 0), 0);
  return {
    deleted: sum(({ deleted }) => deleted),
    inserted: sum(({ inserted }) => inserted),
    changed: sum(({ changed }) => changed),
  };
}

function readTarget({ manifest }: Load): string {
  return manifest.target;
}
