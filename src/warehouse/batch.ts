import type { Database } from './database.ts';
import { type Changes, computedParts, digestColumns, listMergeStatements, templateParts } from './history.ts';
import { quoteIdent, quoteLiteral, type SqlFiles } from './sql-files.ts';
import { fillParams } from './sql-params.ts';
import { columnList, ORDINAL, type Table } from './tables.ts';

/**
 * A batch: the stage of a table with the rows of many targets, which are compared and merged by the same few statements as those of
 * one (docs/decisions/0030-batches-of-loads.md).
 */

/** What a batch changes in a table of one target. */
export interface BatchChanges extends Changes {
  /** A key is missing or repeated: the numbers mean nothing. */
  readonly hasInvalidKey: boolean;
}

const UNCHANGED: BatchChanges = { deleted: 0, inserted: 0, changed: 0, hasInvalidKey: false };

/** Compares the stage with the current rows of its targets. @returns the changes of every target */
export async function compareBatch(
  database: Database,
  files: SqlFiles,
  table: Table,
  targets: readonly string[],
): Promise<ReadonlyMap<string, BatchChanges>> {
  const parts = batchParts(table, targets);
  const rows = await database.script(
    [await files.render('warehouse/compare_batch', parts), await files.render('warehouse/batch_changes', parts)].join(
      '\n',
    ),
  );
  const changes = new Map(targets.map((target) => [target, UNCHANGED]));
  for (const { target, deleted, inserted, changed, has_invalid_key } of rows) {
    const name = String(target);
    const hasInvalidKey = has_invalid_key === true || changes.get(name)?.hasInvalidKey === true;
    const counts = { deleted: Number(deleted), inserted: Number(inserted), changed: Number(changed) };
    changes.set(name, { ...(hasInvalidKey ? UNCHANGED : counts), hasInvalidKey });
  }
  return changes;
}

export interface BatchMerge {
  /** The targets whose rows are merged. */
  readonly targets: readonly string[];
  /** The other targets of the stage. */
  readonly leftOut: readonly string[];
  /** The changes of `targets`. */
  readonly changes: Changes;
  /** Later than any `valid_from` of the table (ISO 8601). */
  readonly asOf: string;
}

/** The statements that write the changes which `compareBatch` found. */
export async function batchMergeStatements(
  files: SqlFiles,
  table: Table,
  { targets, leftOut, changes, asOf }: BatchMerge,
): Promise<readonly string[]> {
  const parts = batchParts(table, targets);
  const render = async (name: string, more: Readonly<Record<string, string>> = {}) =>
    fillParams(await files.render(`warehouse/${name}`, { ...parts, ...more }), { as_of: asOf });
  const statements: string[] = [];
  const { deleted, inserted, changed } = changes;
  if (deleted + inserted + changed > 0) {
    if (leftOut.length > 0) statements.push(await render('leave_out', { targets: literals(leftOut) }));
    const lists = { targets, asOf, hasOnlyNewRows: deleted + changed === 0 };
    if (table.members) statements.push(...(await listMergeStatements(files, table, lists)));
    statements.push(await render('close_versions'), await render('append_versions'));
  }
  if (table.computed.length > 0) statements.push(await render('refresh_computed', computedParts(table)));
  return statements;
}

/** The statements that drop the temporary tables of a batch. */
export async function batchDropStatements(files: SqlFiles, table: Table): Promise<readonly string[]> {
  const parts = { table: table.name };
  return Promise.all([files.render('warehouse/drop_delta', parts), files.render('warehouse/drop_stage', parts)]);
}

function batchParts(table: Table, targets: readonly string[]): Record<string, string> {
  const names = table.key.filter((name) => name !== ORDINAL);
  const key = [...new Set(['target', ...table.key])];
  const parts = templateParts({ ...table, key });
  return {
    ...parts,
    key: key.map(quoteIdent).join(', '),
    checkedKey: [...new Set(['target', ...names])].map(quoteIdent).join(', '),
    keyMissing: `${quoteIdent(names[0] ?? 'target')} is null`,
    digest: digestColumns(table),
    columns: columnList(table),
    targets: literals(targets),
  };
}

function literals(texts: readonly string[]): string {
  return texts.map(quoteLiteral).join(', ');
}
