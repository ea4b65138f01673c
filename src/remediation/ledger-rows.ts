import type { ActionStatus, Entry } from './ledger.ts';

/** A row of `tidemark playbook ledger --json` and of the table `actions` (surface.md, "Playbooks"). */
export interface LedgerRow {
  readonly plan_id: string;
  readonly action_id: string;
  readonly playbook: string;
  readonly operation: string;
  readonly target: string;
  readonly params: unknown;
  readonly finding_id: string;
  readonly status: ActionStatus;
  readonly reason: string | null;
  readonly approved_by: string;
  readonly started_at: string;
  readonly finished_at: string | null;
  readonly before: unknown;
  readonly after: unknown;
}

const OPEN = 'it was interrupted: apply its plan again to find out whether it was done';

/** One row per action, in the order in which they were begun. */
export function ledgerRows(entries: readonly Entry[]): readonly LedgerRow[] {
  return entries.map((entry) => {
    const { plan_id, action_id, playbook, operation, target, params, finding_id } = entry.row;
    const { approved_by, started_at, before, after } = entry.row;
    return {
      plan_id,
      action_id,
      playbook,
      operation,
      target,
      params,
      finding_id,
      status: entry.open ? 'unconfirmed' : entry.row.status,
      reason: entry.open ? OPEN : entry.row.reason,
      approved_by,
      started_at,
      finished_at: entry.open ? null : entry.row.finished_at,
      before,
      after,
    };
  });
}
