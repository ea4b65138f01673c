import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { TidemarkError } from '../core/errors.ts';
import { writeWhole } from './write-whole.ts';

const args = z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]));

const guard = z.strictObject({
  /** What is read again just before the deed, and just after. */
  reads: z.record(
    z.string(),
    z.strictObject({
      operation: z.string(),
      params: args,
      whole: z.literal(true).optional(),
      mayFail: z.literal(true).optional(),
    }),
  ),
  /** What the plan was made on: whether it still holds is judged by these. */
  facts: z.record(z.string(), z.json()),
});

const action = z.strictObject({
  action_id: z.string(),
  operation: z.string(),
  target: z.string(),
  params: args,
  body: z.json().optional(),
  finding_id: z.string(),
  /** All findings, where one action answers several. */
  finding_ids: z.array(z.string()).optional(),
  subject_name: z.string().nullable(),
  summary: z.string(),
  /** The finding's title. */
  why: z.string(),
  /** Since when the finding stands. */
  since: z.string(),
  guard,
  irreversible: z.literal(true).optional(),
});

const approval = z.strictObject({
  by: z.string(),
  at: z.string(),
  /** Whether actions that cannot be undone were taken too. */
  irreversible: z.boolean(),
  /** Digest over the plan's digest and the fields above. */
  seal: z.string(),
});

const planSchema = z.strictObject({
  plan_id: z.string(),
  playbook: z.string(),
  created_at: z.string(),
  expires_at: z.string(),
  run_id: z.string().nullable(),
  warehouse_id: z.string(),
  digest: z.string(),
  actions: z.array(action),
  skipped: z.array(z.strictObject({ finding_id: z.string(), reason: z.string() })),
  approval: approval.nullable(),
});

export type Plan = z.infer<typeof planSchema>;
export type Action = Plan['actions'][number];
export type Approval = z.infer<typeof approval>;

/** JSON with the names of every object sorted: the same content gives the same text. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

function sha256(value: unknown): string {
  return createHash('sha256').update(canonical(value)).digest('hex');
}

/** SHA-256 over everything but the approval and the digest itself. */
export function digestOf(plan: Readonly<Record<string, unknown>>): string {
  const { approval: _approval, digest: _digest, ...content } = plan;
  return sha256(content);
}

export function sealOf({ digest }: Pick<Plan, 'digest'>, { by, at, irreversible }: Omit<Approval, 'seal'>): string {
  return sha256({ digest, by, at, irreversible });
}

/**
 * Reads a plan and makes sure that nothing of it was changed since it was made and approved.
 * @throws TidemarkError USAGE when there is no such file, DATA when it is no JSON, UNSAFE when it is not as it was written.
 */
export async function readPlan(file: string): Promise<Plan> {
  const value = parsed(file, await textOf(file));
  const refuse = (what: string, cause?: unknown): never => {
    throw new TidemarkError('UNSAFE', `${file} ${what}`, {
      hint: 'make a new plan',
      ...(cause !== undefined && { cause }),
    });
  };
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return refuse('is no plan');
  const content = value as Readonly<Record<string, unknown>>;
  if (content.digest !== digestOf(content)) return refuse('was changed since it was made: its digest does not fit');
  const plan = planSchema.safeParse(content);
  if (!plan.success) return refuse('is not a plan of this version of tidemark', plan.error);
  const given = plan.data.approval;
  if (given !== null && given.seal !== sealOf(plan.data, given)) return refuse('was changed since it was approved');
  return plan.data;
}

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new TidemarkError('USAGE', `${file} cannot be read`, {
      cause,
      hint: 'make one with `tidemark playbook plan`',
    });
  }
}

function parsed(file: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new TidemarkError('DATA', `${file} is no JSON`, { cause, hint: 'make a new plan' });
  }
}

/** Writes a plan at one stroke: whoever reads sees the old file or the new one. */
export async function writePlan(file: string, plan: Plan): Promise<void> {
  await writeWhole(file, `${JSON.stringify(plan, null, 2)}\n`);
}
