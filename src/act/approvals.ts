import { realpath } from 'node:fs/promises';
import { type Approver, type Approvers, normalizeApprover } from '../config/approvers.ts';
import type { Config } from '../config/config.ts';
import { SEVERITIES } from '../core/choices.ts';
import { HOUR_MS } from '../core/clock.ts';
import { TidemarkError } from '../core/errors.ts';
import { overlayRoots } from '../core/paths.ts';
import { plural } from '../core/plural.ts';
import { explainSignature } from '../core/ssh-signature.ts';
import { readRules } from '../tell/findings/rules.ts';
import { createSqlFiles } from '../warehouse/sql-files.ts';
import type { Playbook } from './define.ts';
import { assertTimeMovedOn, type KnownTime } from './ledger-file.ts';
import { type Approval, approvalDigest, type Plan, readPlan, writePlan } from './plan-file.ts';
import { addKeptApprovals, planFile, withPlansLocked } from './plan-store.ts';
import { assertNamesTargets } from './plan-targets.ts';

/** Who approved a plan, and whether that is enough: docs/approvals.md. */

/** The namespace of the signatures, as `ssh-keygen -Y sign -n` takes it. */
export const SIGNATURE_NAMESPACE = 'tidemark-plan';

/** What an approver signs. The digest stands for all that the plan file says. */
export function approvalStatement(
  { digest, plan_id, playbook, actions }: Plan,
  { by, irreversible }: Pick<Approval, 'by' | 'irreversible'>,
): string {
  return [
    'Approval of a tidemark plan, version 1',
    `digest: sha256:${digest}`,
    `plan: ${plan_id}`,
    `playbook: ${playbook}`,
    `actions: ${actions.length}`,
    `irreversible actions included: ${irreversible ? 'yes' : 'no'}`,
    `approver: ${by}`,
    '',
  ].join('\n');
}

/** `who` is the account and the host that the plan was made on, such as `alice@build-1`. */
export function isPlanner({ name, accounts = [name] }: Approver, { planned_by }: Plan): boolean {
  const account = planned_by?.who.replace(/@[^@]*$/u, '').toLowerCase();
  return account === undefined || accounts.some((own) => own.toLowerCase() === account);
}

/** Why an approval does not count where the configuration has `approvers:`; undefined where it does. */
function explainDoubt(plan: Plan, approval: Omit<Approval, 'digest'>, { people }: Approvers): string | undefined {
  const { by, signature } = approval;
  const person = people.find(({ name }) => name === by);
  if (!person) return 'the configuration does not list this approver';
  if (isPlanner(person, plan)) return 'the planner may not approve';
  if (signature === undefined) return 'it is not signed';
  const text = approvalStatement(plan, approval);
  return explainSignature({ text, signature, namespace: SIGNATURE_NAMESPACE, key: person.key });
}

/** Of each approval why it does not count; undefined where it does. Without `approvers:`, every one does. */
export function explainDoubts(plan: Plan, { approvers }: Pick<Config, 'approvers'>): readonly (string | undefined)[] {
  return plan.approvals.map((approval, index) => {
    if (!approvers) return undefined;
    const isRepeated = plan.approvals.findIndex(({ by }) => by === approval.by) !== index;
    return isRepeated ? 'it is there twice' : explainDoubt(plan, approval, approvers);
  });
}

export function countedApprovals(plan: Plan, config: Pick<Config, 'approvers'>): readonly Approval[] {
  const doubts = explainDoubts(plan, config);
  return plan.approvals.filter((_, index) => doubts[index] === undefined);
}

/**
 * The approvals of a plan that count.
 * @throws TidemarkError UNSAFE where they are not enough, with the reason.
 */
export async function assertApproved(
  plan: Plan,
  config: Pick<Config, 'approvers' | 'directory'>,
  playbooks: readonly Playbook[],
): Promise<readonly Approval[]> {
  const { plan_id } = plan;
  const { approvers } = config;
  if (plan.approvals.length === 0) {
    const how = approvers ? '--by NAME --key FILE' : '--by NAME';
    throw new TidemarkError('UNSAFE', `plan ${plan_id} is not approved`, {
      hint: `review it with \`tidemark playbook show ${plan_id}\`, then run \`tidemark playbook approve ${plan_id} ${how}\``,
    });
  }
  if (!approvers) return plan.approvals;
  const doubts = explainDoubts(plan, config);
  const counted = countedApprovals(plan, config);
  const uncounted = plan.approvals.flatMap(({ by }, index) =>
    doubts[index] === undefined ? [] : `; that of ${by} does not count: ${doubts[index]}`,
  );
  for (const { needed, group, why } of listDemands(plan, approvers, config.directory, playbooks)) {
    const members = approvers.people.filter(({ groups }) => group === undefined || groups.includes(group));
    const found = counted.filter(({ by }) => members.some(({ name }) => name === by)).length;
    if (found >= needed) continue;
    const whose = group === undefined ? '' : ` of group ${group} (${why})`;
    const problem = `plan ${plan_id} has ${found} of ${plural(needed, 'approval')}${whose}${uncounted.join('')}`;
    throw new TidemarkError('UNSAFE', problem, { hint: `sign it with \`tidemark playbook approve ${plan_id}\`` });
  }
  return counted;
}

/** How many approvals are needed, of any approver or of a group, and which rule asks for those of the group. */
function listDemands(plan: Plan, { approvals, rules }: Approvers, directory: string, playbooks: readonly Playbook[]) {
  // The worst severity that the playbook's rule may find: the rule decides, not the plan, which could say less.
  const acted = playbooks.find(({ name }) => name === plan.playbook)?.rule;
  const known = readRules(createSqlFiles(overlayRoots(directory)));
  const worst = SEVERITIES.indexOf(known.rules.find(({ name }) => name === acted)?.worst ?? 'critical');
  const binding = rules.filter(
    ({ playbook = plan.playbook, severity = 'info', target }) =>
      playbook === plan.playbook &&
      SEVERITIES.indexOf(severity) <= worst &&
      (target === undefined || plan.actions.some((action) => action.target === target)),
  );
  return [
    { needed: approvals, group: undefined, why: '' },
    ...binding.map(({ group, approvals: own = approvals, playbook, severity, target }) => ({
      needed: own,
      group,
      why: [playbook, severity, target].filter(Boolean).join(', '),
    })),
  ];
}

interface ApproveOptions {
  readonly config: Pick<Config, 'approvers' | 'data' | 'planHours'>;
  readonly by: string;
  readonly now: Date;
  /** Approves actions that cannot be undone as well. */
  readonly irreversible: boolean;
  /** Of the plan that was made or read: the file may hold another one by now. @default that of the file */
  readonly digest?: string;
  /** Of the approval's statement. Required where the configuration has `approvers:`. */
  readonly signature?: string | undefined;
}

/**
 * Adds an approval of exactly the actions of a plan to its file and to the kept copy, beside those that either has. It takes the place of an
 * earlier one by the same name only. Where it is refused, nothing is written.
 * @throws TidemarkError UNSAFE for a plan that was changed, has expired, or needs `irreversible`, and for a signature that does not fit.
 */
export function approvePlan(file: string, options: ApproveOptions): Promise<Plan> {
  return withPlansLocked(options.config, () => addApproval(file, options));
}

async function addApproval(file: string, options: ApproveOptions): Promise<Plan> {
  const plan = await readPlan(file);
  const { by, now, irreversible, signature, digest = plan.digest } = options;
  if (plan.digest !== digest) {
    throw new TidemarkError('UNSAFE', `${file} was replaced by another plan`, { hint: 'make a new plan' });
  }
  assertApprovable(plan, options);
  const approval = { by: normalizeApprover(by), at: now.toISOString(), irreversible, ...(signature && { signature }) };
  assertSigned(plan, approval, options.config);
  const { approvals } = await addKeptApprovals(options.config, plan);
  const others = approvals.filter((other) => other.by !== approval.by);
  const approved = { ...plan, approvals: [...others, { ...approval, digest: approvalDigest(plan, approval) }] };
  // A link stays one: it is what the person calls the file.
  const files = [await realpath(file), planFile(options.config, plan.plan_id)];
  for (const path of new Set(files)) await writePlan(path, approved);
  return approved;
}

/** @throws TidemarkError where this plan cannot be approved by this person, with whatever signature. */
export function assertApprovable(plan: Plan, { config, by, now, irreversible }: ApproveOptions): void {
  if (by.trim() === '') throw new TidemarkError('USAGE', 'an approval needs a name', { hint: 'use --by NAME' });
  if (config.approvers) assertMayApprove(plan, config.approvers, normalizeApprover(by));
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

/** @throws TidemarkError USAGE for a name that is not listed, UNSAFE for that of the planner. */
function assertMayApprove(plan: Plan, { people }: Approvers, by: string): void {
  const person = people.find(({ name }) => name === by);
  if (!person) {
    throw new TidemarkError('USAGE', `${by} is not one of the approvers: in the configuration`, {
      hint: `they are ${people.map(({ name }) => name).join(', ')}`,
    });
  }
  if (!isPlanner(person, plan)) return;
  throw new TidemarkError('UNSAFE', `${by} made plan ${plan.plan_id} and cannot approve it`, {
    hint: 'ask another approver',
  });
}

function assertSigned(plan: Plan, approval: Omit<Approval, 'digest'>, { approvers }: Pick<Config, 'approvers'>): void {
  const isSigned = approval.signature !== undefined;
  if (!approvers && isSigned) {
    throw new TidemarkError('USAGE', 'the configuration has no approvers: whose signatures could be verified', {
      hint: 'add them (docs/approvals.md), or approve without a signature',
    });
  }
  if (approvers && !isSigned) {
    throw new TidemarkError('USAGE', 'the configuration has approvers:, so an approval needs a signature', {
      hint: 'sign with --key FILE, or sign elsewhere what --print prints and pass the result with --signature FILE',
    });
  }
  const doubt = approvers && explainDoubt(plan, approval, approvers);
  if (doubt === undefined) return;
  throw new TidemarkError('UNSAFE', `the signature is not that of ${approval.by} for this approval: ${doubt}`, {
    hint: 'sign what `--print` prints with the key that `approvers:` has, with the same --by and --irreversible',
  });
}

/** @throws TidemarkError UNSAFE for a plan that has expired, is valid for too long, or was created or approved in the future. */
export function assertValidAt(plan: Plan, now: Date, { planHours }: Pick<Config, 'planHours'>): void {
  const { plan_id, created_at, expires_at, approvals } = plan;
  assertTimeMovedOn(now, [
    [`plan ${plan_id} was created`, created_at],
    ...approvals.map(({ by, at }): KnownTime => [`plan ${plan_id} was approved by ${by}`, at]),
  ]);
  if (now.getTime() >= Date.parse(expires_at)) {
    throw new TidemarkError('UNSAFE', `plan ${plan_id} expired at ${expires_at}`, { hint: 'make a new plan' });
  }
  if (Date.parse(expires_at) - Date.parse(created_at) <= planHours * HOUR_MS) return;
  throw new TidemarkError('UNSAFE', `plan ${plan_id} is valid until ${expires_at}, longer than \`planHours\` allows`, {
    hint: `a plan is valid for ${plural(planHours, 'hour')}: make a new plan`,
  });
}
