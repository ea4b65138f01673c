import { expect } from 'vitest';
import type { Flavor } from '../../sandbox/types.ts';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { createSqlFiles } from '../../src/warehouse/sql-files.ts';
import { loadTables } from '../../src/warehouse/tables.ts';
import { expectedTables } from './expected/index.ts';
import type { TestProject } from './test-project.ts';

const declared = await loadTables(createSqlFiles([PACKAGE_ROOT]));

/** Names of every table that a source fills. */
export const sourceTables: readonly string[] = [...declared.values()]
  .filter(({ source }) => source !== undefined)
  .map(({ name }) => name);

type AnyRow = Readonly<Record<string, unknown>>;

/** Rows in the order of a table's key. */
export function byKey(table: string, rows: readonly AnyRow[]): readonly AnyRow[] {
  const key = declared.get(table)?.key ?? [];
  const keyed = rows.map((row) => ({ row, at: JSON.stringify([row.target, ...key.map((column) => row[column])]) }));
  return keyed.sort((a, b) => (a.at < b.at ? -1 : 1)).map(({ row }) => row);
}

/**
 * A table of the published warehouse holds exactly what the sandbox's state says, field by field.
 * @param expected the tables of that state, where several are compared with it
 */
export async function expectTable(
  place: TestProject,
  table: string,
  flavor: Flavor,
  expected = expectedTables(place.sandbox, flavor),
): Promise<void> {
  const rows = expected[table];
  expect(rows, `nothing is expected of ${table}`).toBeDefined();
  expect(byKey(table, await place.rows(`select * from ${table}`)), table).toEqual(byKey(table, rows ?? []));
}

/** Rows without what a service computes from the clock or a counter: only the current value of it is kept. */
export function withoutComputed(table: string, rows: readonly object[] = []): readonly AnyRow[] {
  const computed = declared.get(table)?.computed ?? [];
  const columns = new Set(computed.filter((name) => !name.includes('.')));
  return rows.map((row) => {
    const kept = Object.entries(row).filter(([name]) => !columns.has(name));
    return { ...Object.fromEntries(kept), ...(computed.length > columns.size && { extra: null }) };
  });
}
