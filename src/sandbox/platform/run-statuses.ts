import type { Workspace } from './workspaces.ts';

/** Every status of a run that HCP Terraform knows. */
export const LIVE_RUN_STATUSES = [
  'applied',
  'applying',
  'apply_queued',
  'canceled',
  'confirmed',
  'cost_estimated',
  'cost_estimating',
  'discarded',
  'errored',
  'fetching',
  'fetching_completed',
  'pending',
  'planned',
  'planned_and_finished',
  'planned_and_saved',
  'planning',
  'plan_queued',
  'policy_checked',
  'policy_checking',
  'policy_override',
  'policy_soft_failed',
  'post_apply_completed',
  'post_apply_running',
  'post_plan_awaiting_decision',
  'post_plan_completed',
  'post_plan_running',
  'pre_apply_completed',
  'pre_apply_running',
  'pre_plan_completed',
  'pre_plan_running',
  'queuing',
  'queuing_apply',
] as const;

/** Gives the runs that did not apply all the statuses of the real product, in turn. */
export function spreadRunStatuses(workspaces: readonly Workspace[]): void {
  const others = LIVE_RUN_STATUSES.filter((status) => status !== 'applied');
  const unapplied = workspaces.filter(({ runStatus }) => runStatus !== null && runStatus !== 'applied');
  for (const [index, workspace] of unapplied.entries()) workspace.runStatus = others[index % others.length]!;
}
