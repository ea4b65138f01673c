import { z } from 'zod';
import { canonicalJson } from '../core/canonical-json.ts';
import { TidemarkError } from '../core/errors.ts';
import { readNamedFile, writeFileAtomic } from '../core/fs.ts';
import { findRepeatedName } from '../core/json.ts';
import { isObject } from '../core/json-path.ts';
import { plural } from '../core/plural.ts';
import { sha256 } from '../core/sha256.ts';

const args = z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]));

const guard = z.strictObject({
  /** Sent just before the action, and again after it. */
  reads: z.record(
    z.string(),
    z.strictObject({
      operation: z.string(),
      params: args,
      allPages: z.literal(true).optional(),
      allowFailure: z.literal(true).optional(),
    }),
  ),
  /** The values that the action was planned from. The reads are compared with them. */
  inputs: z.record(z.string(), z.json()),
});

const action = z.strictObject({
  action_id: z.string(),
  operation: z.string(),
  target: z.string(),
  params: args,
  body: z.json().optional(),
  finding_id: z.string(),
  /** Set where one action answers several findings. */
  finding_ids: z.array(z.string()).optional(),
  subject_name: z.string().nullable(),
  summary: z.string(),
  /** The title of the finding. */
  why: z.string(),
  /** When the finding was opened. */
  since: z.string(),
  guard,
  irreversible: z.literal(true).optional(),
});

const time = z.iso.datetime();

const approval = z.strictObject({
  by: z.string(),
  at: time,
  /** Whether actions that cannot be undone are approved as well. */
  irreversible: z.boolean(),
  /** Over the statement of the approval, as `ssh-keygen -Y sign` writes it. */
  signature: z.string().max(4096).optional(),
  /** SHA-256 over the digest of the plan and the fields above. */
  digest: z.string(),
});

/** The installation that a target is: another one may have the same names. */
const planTarget = z.strictObject({
  name: z.string(),
  kind: z.string(),
  url: z.string(),
  organization: z.string().nullable(),
  namespace: z.string().nullable(),
  mounts: z.record(z.string(), z.json()),
  /** What the service says it is, such as its `cluster_id`; null where it does not say. */
  identity: z.record(z.string(), z.string()).nullable(),
});

/** IDs have no other characters, so none is a path. */
export const PLAN_ID = /^p-[A-Za-z0-9-]*$/u;

/** What an approver signs has the name in a line of its own, and a terminal shows it. */
export const PLAYBOOK_NAME = /^[a-z][a-z0-9-]*$/u;

const planSchema = z.strictObject({
  plan_id: z.string().regex(PLAN_ID),
  playbook: z.string().regex(PLAYBOOK_NAME),
  /** Null in a plan of version 0.1, which did not record it; so is `targets`. */
  planned_by: z.strictObject({ who: z.string(), how: z.string() }).nullable(),
  created_at: time,
  expires_at: time,
  run_id: z.string().nullable(),
  warehouse_id: z.string(),
  /** The plan whose applied actions this one undoes. */
  undoes: z.string().optional(),
  /** How long the findings of an undo are accepted, so that no job applies the same again. */
  accept_days: z.number().positive().max(3650).optional(),
  digest: z.string(),
  /** What the planner chose of the findings; null where all of them were planned, and absent in plans of some earlier builds. */
  selection: z
    .strictObject({
      findings: z.array(z.string()),
      /** Names or IDs. */
      subjects: z.array(z.string()),
      limit: z.int().nullable(),
      /** Findings that could have been planned as well. */
      remaining: z.int(),
    })
    .nullish(),
  /** Those of the actions. */
  targets: z.array(planTarget).nullable(),
  actions: z.array(action),
  skipped: z.array(z.strictObject({ finding_id: z.string(), reason: z.string() })),
  approvals: z.array(approval),
});

/** Version 0.1 wrote one approval, which the next one replaced, and neither planner nor targets. */
function fromLegacy({ approval, ...plan }: Readonly<Record<string, unknown>>): object {
  return { ...plan, planned_by: null, targets: null, approvals: approval === null ? [] : [approval] };
}

export type Plan = z.infer<typeof planSchema>;
export type Action = Plan['actions'][number];
export type Approval = z.infer<typeof approval>;
export type PlanTarget = z.infer<typeof planTarget>;

export function findingIds({ finding_id, finding_ids }: Pick<Action, 'finding_id' | 'finding_ids'>): readonly string[] {
  return finding_ids ?? [finding_id];
}

/** SHA-256 over everything except the approvals and the digest itself. */
export function planDigest(plan: Readonly<Record<string, unknown>>): string {
  const { approval: _approval, approvals: _approvals, digest: _digest, ...content } = plan;
  return sha256(canonicalJson(content));
}

export function approvalDigest(
  { digest }: Pick<Plan, 'digest'>,
  { by, at, irreversible, signature }: Omit<Approval, 'digest'>,
): string {
  return sha256(canonicalJson({ digest, by, at, irreversible, signature }));
}

/** Far more than a plan with all findings of a large estate. Every run reads the plans that are kept, and waits for no pipe there. */
const MAX_KIBIBYTES = 64 * 1024;

/**
 * Reads a plan and verifies all digests.
 * @param planId the plan that the file must hold. @default any
 * @throws TidemarkError USAGE when the file cannot be read, DATA when it is not JSON, UNSAFE when it was changed.
 */
export async function readPlan(file: string, planId?: string): Promise<Plan> {
  try {
    const text = readNamedFile(file, { hint: 'make one with `tidemark playbook plan`', maxKibibytes: MAX_KIBIBYTES });
    const plan = parsePlan(file, JSON.parse(text), planId);
    if (findRepeatedName(text) === undefined) return plan;
    throw new TidemarkError('UNSAFE', `${file} has two values under one name`, { hint: 'make a new plan' });
  } catch (cause) {
    // Lists in lists without an end are JSON, and more than functions that walk them can take.
    if (!(cause instanceof SyntaxError || cause instanceof RangeError)) throw cause;
    throw new TidemarkError('DATA', `${file} is not JSON`, { cause, hint: 'make a new plan' });
  }
}

function parsePlan(file: string, content: unknown, planId: string | undefined): Plan {
  const reject = (reason: string, cause?: unknown): never => {
    throw new TidemarkError('UNSAFE', `${file} ${reason}`, { hint: 'make a new plan', cause });
  };
  if (!isObject(content)) return reject('is not a plan');
  if (content.digest !== planDigest(content)) return reject('was changed since it was made: its digest does not match');
  const plan = planSchema.safeParse('approvals' in content ? content : fromLegacy(content));
  if (!plan.success) return reject('is not a plan of this version of tidemark', plan.error);
  if (planId !== undefined && plan.data.plan_id !== planId) return reject(`holds another plan, ${plan.data.plan_id}`);
  if (plan.data.approvals.some((given) => given.digest !== approvalDigest(plan.data, given))) {
    return reject('was changed since it was approved');
  }
  return plan.data;
}

/** @throws TidemarkError DATA for a plan that could not be read again */
export async function writePlan(file: string, plan: Plan): Promise<void> {
  const text = `${JSON.stringify(plan, null, 2)}\n`;
  if (Buffer.byteLength(text) > MAX_KIBIBYTES * 1024) {
    const { actions, skipped } = plan;
    const content = `${plural(actions.length, 'action')} and ${plural(skipped.length, 'skipped finding')}`;
    throw new TidemarkError('DATA', `the plan is larger than ${MAX_KIBIBYTES} KiB: ${content}`, {
      hint: 'plan fewer at a time, such as those of one target',
    });
  }
  await writeFileAtomic(file, text);
}
