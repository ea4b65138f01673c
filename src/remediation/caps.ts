import { TidemarkError } from '../core/errors.ts';

/** What a plan may touch at most. */
export interface Caps {
  readonly maxActions: number;
  /** Of the rows that the playbook's table has in a target. */
  readonly maxPercent: number;
}

export const DEFAULT_CAPS: Caps = { maxActions: 25, maxPercent: 20 };

/** Rows of one target's table that a plan touches, and how many there are. */
export interface Touched {
  readonly target: string;
  readonly table: string;
  readonly rows: number;
  readonly of: number;
}

/** @throws TidemarkError UNSAFE naming every cap that a plan goes beyond. */
export function requireWithin(caps: Caps, actions: number, touched: readonly Touched[]): void {
  const beyond = [
    ...(actions > caps.maxActions ? [`${actions} actions are more than --max-actions ${caps.maxActions}`] : []),
    ...touched
      .filter(({ rows, of }) => rows * 100 > of * caps.maxPercent)
      .map(({ target, table, rows, of }) => {
        const percent = of === 0 ? 'all' : `${((rows * 100) / of).toFixed(1)} %`;
        return `${rows} of ${of} rows of ${table} in ${target} are ${percent}, more than --max-percent ${caps.maxPercent}`;
      }),
  ];
  if (beyond.length === 0) return;
  throw new TidemarkError('UNSAFE', `no plan was made: ${beyond.join('; ')}`, {
    hint: 'look at the findings; if so much is meant, raise the cap, or plan for one target with --target',
  });
}
