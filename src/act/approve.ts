import type { Config } from '../config/config.ts';
import { HOUR_MS } from '../core/clock.ts';
import { TidemarkError } from '../core/errors.ts';
import { plural } from '../core/plural.ts';
import { explainApproval, findApprover } from './approvals.ts';
import { assertTimeMovedOn, planTimes } from './last-known-time.ts';
import { type Approval, approvalDigest, type Plan, readPlan, writePlan } from './plan-file.ts';
import { assertNamesTargets } from './plan-targets.ts';

export interface ApproveOptions {
  readonly config: Pick<Config, 'approvers' | 'planHours'>;
  /** Who approves. */
  readonly by: string;
  readonly now: Date;
  /** Approves actions that cannot be undone as well. */
  readonly irreversible: boolean;
  /** Of the approval's statement. Required where the configuration has `approvers:`. */
  readonly signature?: string;
}

/**
 * Adds an approval of exactly the actions of a plan to its file. It takes the place of an earlier one by the same name only. On any
 * error the file stays as it is.
 * @throws TidemarkError UNSAFE for a plan that was changed, has expired, or needs `irreversible`, and for a signature that does not fit.
 */
export async function approvePlan(file: string, options: ApproveOptions): Promise<Plan> {
  const plan = await readPlan(file);
  assertApprovable(plan, options);
  const { by, now, irreversible, signature } = options;
  const approval = { by: by.trim(), at: now.toISOString(), irreversible, ...(signature && { signature }) };
  assertSigned(plan, approval, options);
  const others = plan.approvals.filter((other) => other.by !== approval.by);
  const approved = { ...plan, approvals: [...others, { ...approval, digest: approvalDigest(plan, approval) }] };
  await writePlan(file, approved);
  return approved;
}

/** @throws TidemarkError where this plan cannot be approved by this person, with whatever signature. */
export function assertApprovable(plan: Plan, { config, by, now, irreversible }: ApproveOptions): void {
  if (by.trim() === '') throw new TidemarkError('USAGE', 'an approval needs a name', { hint: 'use --by NAME' });
  findApprover(config, plan, by.trim());
  assertNamesTargets(plan);
  assertValidAt(plan, now, config);
  const permanent = plan.actions.filter((action) => action.irreversible);
  if (permanent.length === 0 || irreversible) return;
  const examples = permanent.slice(0, 3).map(({ summary }) => summary);
  throw new TidemarkError(
    'UNSAFE',
    `${permanent.length} of ${plan.actions.length} actions cannot be undone, such as: ${examples.join('; ')}`,
    { hint: 'approve them with --irreversible' },
  );
}

function assertSigned(plan: Plan, approval: Omit<Approval, 'digest'>, { config }: ApproveOptions): void {
  const person = findApprover(config, plan, approval.by);
  if (!person) {
    if (approval.signature === undefined) return;
    throw new TidemarkError('USAGE', 'the configuration has no approvers: whose signatures could be verified', {
      hint: 'add them (docs/approvals.md), or approve without a signature',
    });
  }
  if (approval.signature === undefined) {
    throw new TidemarkError('USAGE', 'the configuration has approvers:, so an approval needs a signature', {
      hint: 'sign with --key FILE, or sign elsewhere what --print prints and pass the result with --signature FILE',
    });
  }
  const doubt = explainApproval(plan, approval, person);
  if (doubt === undefined) return;
  throw new TidemarkError('UNSAFE', `the signature is not that of ${approval.by} for this approval: ${doubt}`, {
    hint: 'sign what `--print` prints with the key that `approvers:` has, with the same --by and --irreversible',
  });
}

/** @throws TidemarkError UNSAFE for a plan that has expired, is valid for too long, or was created or approved in the future. */
export function assertValidAt(plan: Plan, now: Date, { planHours }: Pick<Config, 'planHours'>): void {
  assertTimeMovedOn(now, planTimes(plan));
  const { plan_id, created_at, expires_at } = plan;
  if (now.getTime() >= Date.parse(expires_at)) {
    throw new TidemarkError('UNSAFE', `plan ${plan_id} expired at ${expires_at}`, { hint: 'make a new plan' });
  }
  if (Date.parse(expires_at) - Date.parse(created_at) <= planHours * HOUR_MS) return;
  throw new TidemarkError('UNSAFE', `plan ${plan_id} is valid until ${expires_at}, longer than \`planHours\` allows`, {
    hint: `a plan is valid for ${plural(planHours, 'hour')}: make a new plan`,
  });
}
