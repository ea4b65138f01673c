import type { ExitCode } from '../core/errors.ts';
import type { ActionResult } from './execute-action.ts';

export interface ApplyResult {
  readonly plan_id: string;
  /** In the order of the plan. Actions that were not reached are left out. */
  readonly rows: readonly ActionResult[];
  /** Why it stopped before the end. */
  readonly stopped: Abort | null;
}

export interface Abort {
  readonly reason: string;
  readonly exit: ExitCode;
  /** What was read contradicts so much of the plan that nothing is recorded from it. */
  readonly isServiceFault?: true;
}
