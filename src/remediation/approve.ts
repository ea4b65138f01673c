import { TidemarkError } from '../core/errors.ts';
import { type Plan, readPlan, sealOf, writePlan } from './plan-file.ts';

export interface ApproveOptions {
  /** Who approves. */
  readonly by: string;
  readonly now: Date;
  /** Takes actions that cannot be undone too. */
  readonly irreversible: boolean;
}

/**
 * Approves exactly the actions of a plan, in its file. Whatever goes wrong leaves the plan unapproved.
 * @throws TidemarkError UNSAFE for a plan that was changed, has expired, or holds what cannot be undone without `irreversible`.
 */
export async function approvePlan(file: string, options: ApproveOptions): Promise<Plan> {
  const approved = approvedPlan(await readPlan(file), options);
  await writePlan(file, approved);
  return approved;
}

/** The plan with its approval. @throws as approvePlan. */
export function approvedPlan(plan: Plan, { by, now, irreversible }: ApproveOptions): Plan {
  if (by.trim() === '') throw new TidemarkError('USAGE', 'an approval needs a name', { hint: 'give --by NAME' });
  requireUnexpired(plan, now);
  const lasting = plan.actions.filter((action) => action.irreversible);
  if (lasting.length > 0 && !irreversible) {
    const shown = lasting.slice(0, 3).map(({ summary }) => summary);
    throw new TidemarkError(
      'UNSAFE',
      `${lasting.length} of ${plan.actions.length} actions cannot be undone, such as: ${shown.join('; ')}`,
      { hint: 'approve them with --irreversible' },
    );
  }
  const approval = { by: by.trim(), at: now.toISOString(), irreversible };
  return { ...plan, approval: { ...approval, seal: sealOf(plan, approval) } };
}

export function requireUnexpired({ plan_id, created_at, expires_at }: Plan, now: Date): void {
  if (now.getTime() >= Date.parse(expires_at)) {
    throw new TidemarkError('UNSAFE', `plan ${plan_id} expired at ${expires_at}`, { hint: 'make a new plan' });
  }
  if (now.getTime() < Date.parse(created_at)) {
    throw new TidemarkError('UNSAFE', `plan ${plan_id} is of ${created_at}, which is yet to come`, {
      hint: 'check the clock',
    });
  }
}
