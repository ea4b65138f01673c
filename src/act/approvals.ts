import type { Approver } from '../config/approvers.ts';
import type { Config } from '../config/config.ts';
import { SEVERITIES } from '../core/choices.ts';
import { TidemarkError } from '../core/errors.ts';
import { overlayRoots } from '../core/paths.ts';
import { plural } from '../core/plural.ts';
import { explainSignature } from '../core/ssh-signature.ts';
import { readRules } from '../tell/findings/rules.ts';
import { createSqlFiles } from '../warehouse/sql-files.ts';
import type { Playbook } from './define.ts';
import type { Approval, Plan } from './plan-file.ts';

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

type ApprovalConfig = Pick<Config, 'approvers' | 'directory'>;

/**
 * The approver of a name, where `approvers:` is configured.
 * @throws TidemarkError USAGE for a name that is not listed, UNSAFE for that of the planner.
 */
export function findApprover({ approvers }: Pick<Config, 'approvers'>, plan: Plan, name: string): Approver | undefined {
  if (!approvers) return undefined;
  const person = approvers.people.find((candidate) => candidate.name === name);
  if (!person) {
    throw new TidemarkError('USAGE', `${name} is not one of the approvers: in the configuration`, {
      hint: `they are ${approvers.people.map((each) => each.name).join(', ')}`,
    });
  }
  if (isPlanner(person, plan)) {
    throw new TidemarkError('UNSAFE', `${name} made plan ${plan.plan_id} and cannot approve it`, {
      hint: 'ask another approver',
    });
  }
  return person;
}

/** `who` is the account and the host that the plan was made on, such as `alice@build-1`. */
export function isPlanner({ name, accounts = [name] }: Approver, { planned_by }: Plan): boolean {
  const account = planned_by?.who.replace(/@[^@]*$/u, '').toLowerCase();
  return account === undefined || accounts.some((own) => own.toLowerCase() === account);
}

/** Why the signature of an approval does not count; undefined where it does. */
export function explainApproval(plan: Plan, approval: Omit<Approval, 'digest'>, { key }: Approver): string | undefined {
  const { signature } = approval;
  if (signature === undefined) return 'it is not signed';
  const text = approvalStatement(plan, approval);
  return explainSignature({ text, signature, namespace: SIGNATURE_NAMESPACE, key });
}

/**
 * The approvals of a plan that count. Without `approvers:`, every one does.
 * @throws TidemarkError UNSAFE where they are not enough, with the reason.
 */
export async function assertApproved(
  plan: Plan,
  config: ApprovalConfig,
  playbooks: readonly Playbook[],
): Promise<readonly Approval[]> {
  if (plan.approvals.length === 0) throw notApproved(plan, config);
  if (!config.approvers) return plan.approvals;
  const doubts: string[] = [];
  const counted = plan.approvals.filter((approval, index) => {
    const isRepeated = plan.approvals.findIndex(({ by }) => by === approval.by) !== index;
    const doubt = isRepeated ? 'it is there twice' : explainDoubt(plan, approval, config);
    if (doubt !== undefined) doubts.push(`; that of ${approval.by} does not count: ${doubt}`);
    return doubt === undefined;
  });
  for (const { needed, group, why } of await listDemands(plan, config, playbooks)) {
    const found = counted.filter(({ by }) => group === undefined || listGroups(config, by).includes(group)).length;
    if (found >= needed) continue;
    const whose = group === undefined ? '' : ` of group ${group} (${why})`;
    const problem = `plan ${plan.plan_id} has ${found} of ${plural(needed, 'approval')}${whose}${doubts.join('')}`;
    throw new TidemarkError('UNSAFE', problem, { hint: `sign it with \`tidemark playbook approve ${plan.plan_id}\`` });
  }
  return counted;
}

function notApproved({ plan_id }: Plan, { approvers }: ApprovalConfig): TidemarkError {
  const how = approvers ? '--by NAME --key FILE' : '--by NAME';
  return new TidemarkError('UNSAFE', `plan ${plan_id} is not approved`, {
    hint: `review it with \`tidemark playbook show ${plan_id}\`, then run \`tidemark playbook approve ${plan_id} ${how}\``,
  });
}

function listGroups({ approvers }: ApprovalConfig, name: string): readonly string[] {
  return approvers?.people.find((person) => person.name === name)?.groups ?? [];
}

function explainDoubt(plan: Plan, approval: Approval, { approvers }: ApprovalConfig): string | undefined {
  const person = approvers?.people.find(({ name }) => name === approval.by);
  if (!person) return 'the configuration does not list this approver';
  return isPlanner(person, plan) ? 'the planner may not approve' : explainApproval(plan, approval, person);
}

interface Demand {
  readonly needed: number;
  /** @default any approver */
  readonly group?: string;
  /** The rule that asks for it. */
  readonly why?: string;
}

async function listDemands(
  plan: Plan,
  { approvers, directory }: ApprovalConfig,
  playbooks: readonly Playbook[],
): Promise<readonly Demand[]> {
  const { approvals = 0, rules = [] } = approvers ?? {};
  const worst = SEVERITIES.indexOf(await findSeverity(plan, directory, playbooks));
  const binding = rules.filter(
    ({ playbook = plan.playbook, severity = 'info', target }) =>
      playbook === plan.playbook &&
      SEVERITIES.indexOf(severity) <= worst &&
      (target === undefined || plan.actions.some((action) => action.target === target)),
  );
  return [
    { needed: approvals },
    ...binding.map(({ group, approvals: own = approvals, playbook, severity, target }) => ({
      needed: own,
      group,
      why: [playbook, severity, target].filter(Boolean).join(', '),
    })),
  ];
}

/** The worst severity that the playbook's rule may find: the rule decides, not the plan, which could say less. */
async function findSeverity({ playbook: name }: Plan, directory: string, playbooks: readonly Playbook[]) {
  const playbook = playbooks.find((candidate) => candidate.name === name);
  const { rules } = await readRules(createSqlFiles(overlayRoots(directory)));
  return rules.find((rule) => rule.name === playbook?.rule)?.worst ?? 'critical';
}
