import type { PlanLimits } from '../core/choices.ts';
import type { NewAction } from './action-call.ts';

/** An action, and the IDs of the rows that it affects. */
export interface PlannedRow {
  readonly action: NewAction;
  readonly affectedRows: readonly string[];
}

/** How many rows of a table a plan affects in each target. `totals`: the rows that the table has, one row per target. */
export function countAffected(
  table: string,
  planned: readonly PlannedRow[],
  totals: readonly Readonly<Record<string, unknown>>[],
): readonly AffectedRows[] {
  const targets = [...new Set(planned.map(({ action }) => action.target))];
  return targets.flatMap((target) => {
    const own = planned.filter(({ action }) => action.target === target);
    const rows = new Set(own.flatMap(({ affectedRows }) => affectedRows)).size;
    const total = Number(totals.find((row) => row.target === target)?.rows ?? 0);
    return rows > 0 ? [{ target, table, rows, total }] : [];
  });
}

/** How many rows of a table a plan affects in one target. */
interface AffectedRows {
  readonly target: string;
  readonly table: string;
  readonly rows: number;
  readonly total: number;
}

/** Every limit that a plan exceeds; null where it exceeds none. A table without rows was never pulled, so no row may be affected. */
export function explainLimits(
  { maxActions, maxPercent, minRows }: PlanLimits,
  actions: number,
  affected: readonly AffectedRows[],
): string | null {
  const exceeded = affected
    .filter(({ rows, total }) => rows * 100 > total * maxPercent && (total === 0 || rows > minRows))
    .map(({ target, table, rows, total }) => {
      const percent = total === 0 ? 'all' : `${((rows * 100) / total).toFixed(1)} %`;
      return `${rows} of ${total} rows of ${table} in ${target} are ${percent}, more than --max-percent ${maxPercent}`;
    });
  if (actions > maxActions) exceeded.unshift(`${actions} actions are more than --max-actions ${maxActions}`);
  return exceeded.length === 0 ? null : exceeded.join('; ');
}
