import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import type { Context } from '../core/context.ts';
import { EXIT, type ExitCode, formatError } from '../core/errors.ts';
import { reportFullDisk } from '../warehouse/disk-space.ts';
import { acquireLock, type Lock, LockError } from '../warehouse/lock.ts';
import type { Abort, ApplyResult } from './apply-result.ts';
import { ApplyState, isFailure } from './apply-state.ts';
import type { ActionDefinition, Playbook } from './define.ts';
import type { ActionResult } from './execute-action.ts';
import { Ledger } from './ledger.ts';
import { copyLedger } from './ledger-table.ts';
import type { Action, Plan } from './plan-file.ts';
import { keepPlan } from './plan-store.ts';
import { assertApplicable } from './preconditions.ts';
import { PublishedReads } from './published-reads.ts';
import { RemoteServices } from './remote.ts';

export const DEFAULT_MAX_FAILURES = 3;

export type { ApplyResult } from './apply-result.ts';

export interface ApplyOptions {
  readonly config: Config;
  readonly context: Context;
  /** Stops after this number of actions that failed or are unconfirmed. */
  readonly maxFailures: number;
  /** The caller holds the lock of the warehouse, and copies the ledger to it afterwards. */
  readonly isInRun?: boolean;
  /** Those that the plan may be of. */
  readonly playbooks: readonly Playbook[];
}

/**
 * Applies an approved plan, one action at a time, and continues where an earlier apply stopped. No action is applied twice.
 * @throws TidemarkError UNSAFE as `assertApplicable`; LOCKED while another apply runs.
 */
export function applyPlan(plan: Plan, options: ApplyOptions): Promise<ApplyResult> {
  const { config } = options;
  return reportFullDisk(config, () => applyLocked(plan, options));
}

async function applyLocked(plan: Plan, options: ApplyOptions): Promise<ApplyResult> {
  const { config, context, playbooks } = options;
  const definitions = await assertApplicable(plan, config, context.clock.now(), playbooks);
  const file = join(config.data, 'apply.lock');
  const lock = await acquireLock(file, `plan ${plan.plan_id}`, { now: context.clock.now() });
  try {
    await keepPlan(config, plan);
    return await applyActions(plan, definitions, options, lock);
  } finally {
    await lock.release();
    if (!options.isInRun) await copyLedger(config, context);
  }
}

/** 0 when every action was applied or needed no change, 1 when one failed or is unconfirmed; an abort has its own code. */
export function applyExitCode({ rows, stopped }: ApplyResult): ExitCode {
  if (stopped) return stopped.exit;
  return rows.some(isFailure) ? EXIT.incomplete : EXIT.done;
}

async function applyActions(
  plan: Plan,
  definitions: ReadonlyMap<Action, ActionDefinition>,
  options: ApplyOptions,
  lock: Lock,
): Promise<ApplyResult> {
  const { config, context } = options;
  // An action that was started is completed: the user's signal stops the loop before the next action, not a call.
  const remote = new RemoteServices(config, context, new AbortController().signal, () => lock.assertUnpaused());
  const published = new PublishedReads(config, context);
  const ledger = await Ledger.open(config.data, lock, await published.recordedActions());
  const state = new ApplyState({ plan, remote, ledger, published, context });
  try {
    for (const action of state.pendingActions()) {
      const abort = checkAbort(options, plan, state);
      if (abort) return await state.finish(abort);
      lock.assertUnpaused();
      const result = await state.apply(action, definitions.get(action) as ActionDefinition);
      logResult(context, action, result);
    }
    return await state.finish(checkContradictions(plan, state) ?? null);
  } catch (error) {
    if (error instanceof LockError) return state.result({ reason: formatError(error), exit: error.exit });
    throw error;
  } finally {
    await ledger.close();
    await remote.close();
  }
}

function checkAbort({ config, context, maxFailures }: ApplyOptions, plan: Plan, state: ApplyState): Abort | undefined {
  const file = join(config.data, 'STOP');
  if (isPresent(file)) return { reason: `${file} exists: remove it to continue`, exit: EXIT.unsafe };
  if (context.signal.aborted) return { reason: 'interrupted: apply the plan again to continue', exit: EXIT.incomplete };
  if (context.clock.now().getTime() >= Date.parse(plan.expires_at)) {
    return { reason: `the plan expired at ${plan.expires_at}`, exit: EXIT.unsafe };
  }
  const contradicted = checkContradictions(plan, state);
  if (contradicted) return contradicted;
  if (state.failures < maxFailures) return undefined;
  return { reason: `${state.failures} actions failed or are unconfirmed`, exit: EXIT.incomplete };
}

/** Whatever it is: a file, a folder, a link to nowhere. What cannot be looked at counts as present. */
function isPresent(file: string): boolean {
  try {
    lstatSync(file);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ENOENT';
  }
}

/** One subject may change between plan and apply. Where half of them seem to, the service is wrong. */
function checkContradictions({ actions }: Plan, { contradictions }: ApplyState): Abort | undefined {
  if (contradictions < MIN_CONTRADICTIONS || contradictions * 2 < actions.length) return undefined;
  const reason = `readings contradict ${contradictions} of ${actions.length} actions, as a fault of the service would`;
  return {
    reason: `${reason}: check the service, then apply the plan again or make a new one`,
    exit: EXIT.incomplete,
    isServiceFault: true,
  };
}

/** A plan of one or two actions tells nothing about the service. */
const MIN_CONTRADICTIONS = 2;

function logResult({ log }: Context, { action_id, summary }: Action, result: ActionResult): void {
  const { status, reason } = result;
  const line = `${action_id}: ${summary}: ${status}${reason === null ? '' : `: ${reason}`}`;
  if (isFailure(result)) log.warn(line);
  else log.info(line);
}
