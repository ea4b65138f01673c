import { TidemarkError } from '../core/errors.ts';
import { approvalDigest, type Plan, readPlan, writePlan } from './plan-file.ts';

export interface ApproveOptions {
  /** Who approves. */
  readonly by: string;
  readonly now: Date;
  /** Approves actions that cannot be undone as well. */
  readonly irreversible: boolean;
}

/**
 * Approves exactly the actions of a plan, in its file. On any error the plan stays unapproved.
 * @throws TidemarkError UNSAFE for a plan that was changed, has expired, or needs `irreversible`.
 */
export async function approvePlan(file: string, options: ApproveOptions): Promise<Plan> {
  const approved = withApproval(await readPlan(file), options);
  await writePlan(file, approved);
  return approved;
}

function withApproval(plan: Plan, { by, now, irreversible }: ApproveOptions): Plan {
  if (by.trim() === '') throw new TidemarkError('USAGE', 'an approval needs a name', { hint: 'use --by NAME' });
  assertNotExpired(plan, now);
  const permanent = plan.actions.filter((action) => action.irreversible);
  if (permanent.length > 0 && !irreversible) {
    const examples = permanent.slice(0, 3).map(({ summary }) => summary);
    throw new TidemarkError(
      'UNSAFE',
      `${permanent.length} of ${plan.actions.length} actions cannot be undone, such as: ${examples.join('; ')}`,
      { hint: 'approve them with --irreversible' },
    );
  }
  const approval = { by: by.trim(), at: now.toISOString(), irreversible };
  return { ...plan, approval: { ...approval, digest: approvalDigest(plan, approval) } };
}

/** @throws TidemarkError UNSAFE for a plan that has expired, or that was created in the future. */
export function assertNotExpired({ plan_id, created_at, expires_at }: Plan, now: Date): void {
  if (now.getTime() >= Date.parse(expires_at)) {
    throw new TidemarkError('UNSAFE', `plan ${plan_id} expired at ${expires_at}`, { hint: 'make a new plan' });
  }
  if (now.getTime() < Date.parse(created_at)) {
    throw new TidemarkError('UNSAFE', `plan ${plan_id} was created at ${created_at}, which is in the future`, {
      hint: 'check the clock',
    });
  }
}
