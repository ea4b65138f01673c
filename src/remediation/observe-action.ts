import type { Context } from '../core/context.ts';
import { TidemarkError } from '../core/errors.ts';
import { LockError } from '../warehouse/lock.ts';
import { type ActionDefinition, type Observation, unknown } from './define.ts';
import { type EvidenceSources, verifyAbsence } from './evidence.ts';
import type { Ledger } from './ledger.ts';
import type { Action, Plan } from './plan-file.ts';
import type { PublishedReads } from './published-reads.ts';
import { getOperation } from './registry.ts';
import type { RemoteServices } from './remote.ts';

/** The evaluated result of a guard, with what it rests on. */
export interface Reading extends Observation {
  /** The absence of a subject is part of the result, and is proven. */
  readonly isAbsenceProven: boolean;
}

/**
 * Reads and evaluates the guard of an action. An absence that is not proven makes the precondition `unknown`. With `wasAccepted`,
 * the service has just accepted the deletion of the subject, so "not found" needs no further evidence.
 */
export async function observeAction(
  ctx: ObserveContext,
  action: Action,
  definition: ActionDefinition,
  { wasAccepted = false } = {},
): Promise<Reading> {
  const results = await ctx.remote.readGuards(action.target, action.guard.reads);
  const isDeletion = getOperation(action.operation).method === 'DELETE';
  const check =
    wasAccepted && isDeletion
      ? { isAbsent: false, unproven: undefined }
      : await verifyAbsence(results, action, definition, evidenceSources(ctx, action));
  if (check.unproven !== undefined) {
    const precondition = unknown(check.unproven);
    return { observed: null, precondition, isConfirmed: () => false, isAbsenceProven: false };
  }
  return { ...definition.observe(results, action.guard.inputs), isAbsenceProven: check.isAbsent };
}

/** What reading the subject of an action may use. */
export interface ObserveContext extends Pick<ApplyContext, 'plan' | 'remote' | 'published'> {
  readonly ledger: Pick<Ledger, 'entry'>;
}

/** Undefined where the subject cannot be read. */
export async function tryObserveAction(
  ctx: ApplyContext,
  action: Action,
  definition: ActionDefinition,
): Promise<Reading | undefined> {
  try {
    return await observeAction(ctx, action, definition);
  } catch (error) {
    rethrowUnexpected(error);
    return undefined;
  }
}

/** A lost lock ends the apply, and any other error is a bug of this program. The action then stays open in the ledger. */
export function rethrowUnexpected(error: unknown): void {
  if (!(error instanceof TidemarkError) || error instanceof LockError) throw error;
}

function evidenceSources(ctx: ObserveContext, { target, operation, guard }: Action): EvidenceSources {
  return {
    readList: (name, params, allPages) => ctx.remote.read(target, getOperation(name), params, { allPages }),
    knownIds: async (evidence) => {
      const known = await ctx.published.knownIds(target, evidence.known, guard.inputs);
      const peers = ctx.plan.actions.filter((peer) => peer.operation === operation && peer.target === target);
      const applied = peers.filter((peer) => isApplied(ctx, peer)).map(({ guard: { inputs } }) => inputs);
      const gone = new Set(applied.map((inputs) => String(inputs[evidence.subject])));
      return known.filter((id) => !gone.has(id));
    },
  };
}

function isApplied({ plan, ledger }: ObserveContext, { action_id }: Action): boolean {
  const entry = ledger.entry({ plan_id: plan.plan_id, action_id });
  return entry !== undefined && !entry.isOpen && entry.row.satisfied;
}

/** What an action is applied with. */
export interface ApplyContext {
  readonly plan: Plan;
  readonly remote: RemoteServices;
  readonly ledger: Ledger;
  readonly published: PublishedReads;
  readonly context: Context;
}
