import type { FindingsWarehouse, Rows } from './findings-warehouse.ts';

/** 02:15 of a night in November. */
export const runTime = (day: number) => `2026-11-${String(day).padStart(2, '0')}T02:15:00Z`;

export const workspace = (id: string, drifted: boolean | null, resources = 1): Rows[number] => ({
  external_id: id,
  workspace_name: `name of ${id}`,
  drifted,
  resources_drifted: drifted ? resources : 0,
});

/** A night of one target's workspaces, and the findings of it. */
export async function pullAndEvaluate(
  warehouse: FindingsWarehouse,
  day: number,
  rows: Rows | 'failed' | 'quarantined',
  target = 'acme',
) {
  if (typeof rows === 'string') await warehouse.fail(runTime(day), target, 'workspaces', rows);
  else await warehouse.pull(runTime(day), target, 'workspaces', { workspaces: rows });
  return warehouse.evaluate(runTime(day));
}

/** Findings of `drifted-workspace` by subject. */
export const driftFindings = async (warehouse: FindingsWarehouse, target = 'acme') =>
  Object.fromEntries((await warehouse.findings('drifted-workspace', target)).map((row) => [row.subject_id, row]));
