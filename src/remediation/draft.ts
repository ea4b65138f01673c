import { z } from 'zod';
import type { Target } from '../core/config.ts';
import { describe, TidemarkError } from '../core/errors.ts';
import type { Deed } from '../playbooks/playbook.ts';
import type { Parameters, Read } from '../playbooks/step.ts';
import { checkCall } from '../services/check.ts';
import { operationNamed } from './far-side.ts';
import type { Action } from './plan-file.ts';
import type { Candidate } from './select.ts';

const SILENT = { info: () => {}, warn: () => {}, error: () => {} };

export type Draft = Omit<Action, 'action_id'>;

/**
 * A deed as the plan writes it, checked like any call.
 * @throws TidemarkError USAGE when the service could not be asked so; ZodError when a fact is missing.
 */
export function draftOf({ step, facts: given, summary }: Deed, findings: readonly Candidate[], target: Target): Draft {
  const [first] = findings;
  if (!first) throw new TidemarkError('USAGE', 'a deed needs a finding');
  const facts = step.factsOf(given);
  const operation = operationNamed(step.operation);
  const params = fill(step.params, facts);
  const body = step.bodyOf(facts);
  checkCall(operation, target, params, body, SILENT);
  return {
    operation: operation.name,
    target: target.name,
    params,
    ...(body !== undefined && { body: z.json().parse(body) }),
    finding_id: first.finding_id,
    ...(findings.length > 1 && { finding_ids: findings.map(({ finding_id }) => finding_id) }),
    subject_name: findings.length > 1 ? null : first.subject_name,
    summary,
    why: findings.length > 1 ? `${findings.length} findings, the oldest: ${first.title}` : first.title,
    since: first.since,
    guard: { reads: guardReads(step.reads, facts, target), facts: z.record(z.string(), z.json()).parse(facts) },
    ...(!operation.reversible && { irreversible: true as const }),
  };
}

function guardReads(
  reads: Readonly<Record<string, Read>>,
  facts: Readonly<Record<string, unknown>>,
  target: Target,
): Action['guard']['reads'] {
  const filled = Object.entries(reads).map(([name, { params: from, ...read }]) => {
    const params = fill(from, facts);
    checkCall(operationNamed(read.operation), target, params, undefined, SILENT);
    return [name, { ...read, params }];
  });
  return Object.fromEntries(filled);
}

/** Parameters out of the facts; a fact that is null is left out. */
function fill(parameters: Parameters, facts: Readonly<Record<string, unknown>>): Action['params'] {
  const values = Object.entries(parameters).map(([name, from]) => [
    name,
    typeof from === 'string' ? facts[from] : from.is,
  ]);
  return Object.fromEntries(values.filter(([, value]) => value !== null && value !== undefined));
}

/** Why a deed could not be drafted, in a line. */
export function whyNotDrafted(error: unknown): string {
  if (!(error instanceof z.ZodError)) return describe(error);
  const [issue] = error.issues;
  return `the finding does not tell ${issue?.path.join('.') ?? 'enough'}: ${issue?.message ?? ''}`;
}
