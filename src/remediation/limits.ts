import { TidemarkError } from '../core/errors.ts';

/** Upper bounds of what a plan may change. */
export interface PlanLimits {
  readonly maxActions: number;
  /** Of the rows that the playbook's table has in a target. */
  readonly maxPercent: number;
  /** So many rows may be affected whatever their share is: 1 of 3 rows is 33 %. */
  readonly minRows: number;
}

export const DEFAULT_LIMITS: PlanLimits = { maxActions: 25, maxPercent: 20, minRows: 5 };

/** How many rows of a table a plan affects in one target. */
export interface AffectedRows {
  readonly target: string;
  readonly table: string;
  readonly rows: number;
  readonly total: number;
}

/** A table without rows was never pulled, so no row may be affected. */
function isExceeded({ rows, total }: AffectedRows, { maxPercent, minRows }: PlanLimits): boolean {
  return rows * 100 > total * maxPercent && (total === 0 || rows > minRows);
}

/** @throws TidemarkError UNSAFE naming every limit that the plan exceeds. */
export function enforceLimits(limits: PlanLimits, actions: number, affected: readonly AffectedRows[]): void {
  const exceeded = [
    ...(actions > limits.maxActions ? [`${actions} actions are more than --max-actions ${limits.maxActions}`] : []),
    ...affected
      .filter((each) => isExceeded(each, limits))
      .map(({ target, table, rows, total }) => {
        const percent = total === 0 ? 'all' : `${((rows * 100) / total).toFixed(1)} %`;
        return `${rows} of ${total} rows of ${table} in ${target} are ${percent}, more than --max-percent ${limits.maxPercent}`;
      }),
  ];
  if (exceeded.length === 0) return;
  throw new TidemarkError('UNSAFE', `no plan was made: ${exceeded.join('; ')}`, {
    hint: 'review the findings; raise the limit if this is intended, or plan for one target with --target',
  });
}
