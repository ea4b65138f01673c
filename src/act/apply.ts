import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import type { WorkContext } from '../core/context.ts';
import { EXIT, type ExitCode, formatError } from '../core/errors.ts';
import { plural } from '../core/plural.ts';
import { reportFullDisk } from '../warehouse/disk-space.ts';
import { acquireLock, type Lock, LockError } from '../warehouse/lock.ts';
import { withPublished } from '../warehouse/session.ts';
import { type Abort, type ApplyResult, ApplyState, isFailure } from './apply-state.ts';
import type { ActionDefinition, Playbook } from './define.ts';
import type { ActionResult } from './execute-action.ts';
import { findEntry } from './ledger.ts';
import { assertAfterLedger, Ledger } from './ledger-file.ts';
import { copyLedger, readLedger } from './ledger-table.ts';
import type { Action, Plan } from './plan-file.ts';
import { keepPlan } from './plan-store.ts';
import { assertSameInstallations } from './plan-targets.ts';
import { assertApplicable } from './preconditions.ts';
import { readSeenLedger } from './published-reads.ts';
import { RemoteServices } from './remote.ts';
import { findUnsettledActions } from './unsettled.ts';

export interface ApplyOptions {
  readonly config: Config;
  readonly context: WorkContext;
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
  return reportFullDisk(options.config, () => applyLocked(plan, options));
}

async function applyLocked(given: Plan, options: ApplyOptions): Promise<ApplyResult> {
  const { config, context, playbooks } = options;
  const now = context.clock.now();
  await assertAfterLedger(config.data, context.clock);
  const { plan, definitions } = await assertApplicable(given, { config, now, playbooks });
  const lock = await acquireLock(join(config.data, 'apply.lock'), `plan ${plan.plan_id}`, { now });
  try {
    await assertSameInstallations(plan, config, context);
    await keepPlan(config, plan);
    return await applyActions(plan, definitions, options, lock);
  } finally {
    await lock.release();
    if (!options.isInRun) await copyLedger(config, context);
  }
}

/** The result of a plan whose actions all have a final outcome; undefined while one is left to do. */
export async function findFinishedResult({ plan_id, actions }: Plan, config: Config): Promise<ApplyResult | undefined> {
  const entries = await readLedger(config);
  const rows = actions.flatMap(({ action_id }) => {
    const entry = findEntry(entries, { plan_id, action_id });
    return entry && !entry.isOpen && !isFailure(entry.row) ? [entry.row] : [];
  });
  return actions.length > 0 && rows.length === actions.length ? { plan_id, rows, stopped: null } : undefined;
}

/**
 * 0 when every action was applied or needed no change, 1 when one failed or is unconfirmed; an abort has its own code. An undo that left
 * out an action is incomplete, as its plan says.
 */
export function applyExitCode({ rows, stopped }: ApplyResult, { undoes }: Pick<Plan, 'undoes'>): ExitCode {
  if (stopped) return stopped.exit;
  const isIncomplete = rows.some((row) => isFailure(row) || (undoes !== undefined && !row.satisfied));
  return isIncomplete ? EXIT.incomplete : EXIT.done;
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
  const ledger = await Ledger.open(config.data, lock, await withPublished(config, readSeenLedger));
  const unsettled = await findUnsettledActions(config, ledger.entries(), context.clock.now());
  const state = new ApplyState({ plan, remote, ledger, config, context }, unsettled);
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
    if (error instanceof LockError) return await state.finish({ reason: formatError(error), exit: error.exit });
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
  return { reason: `${plural(state.failures, 'action')} failed or unconfirmed`, exit: EXIT.incomplete };
}

/** Whether a file, a folder or a broken link has this path. A path that cannot be examined counts as present. */
function isPresent(file: string): boolean {
  try {
    lstatSync(file);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ENOENT';
  }
}

/** One subject may change between plan and apply. Where half of them seem to, the service is wrong. */
function checkContradictions({ actions }: Plan, { contradictions, contradicted }: ApplyState): Abort | undefined {
  if (contradictions < MIN_CONTRADICTIONS || contradicted * 2 < actions.length) return undefined;
  const reason = `readings contradict ${contradicted} of ${actions.length} actions, as a fault of the service would`;
  return {
    reason: `${reason}: check the service, then apply the plan again or make a new one`,
    exit: EXIT.incomplete,
  };
}

/** A plan of one or two actions tells nothing about the service. */
const MIN_CONTRADICTIONS = 2;

function logResult({ log }: Pick<WorkContext, 'log'>, { action_id, summary }: Action, result: ActionResult): void {
  const { status, reason } = result;
  const line = `${action_id}: ${summary}: ${status}${reason === null ? '' : `: ${reason}`}`;
  if (isFailure(result)) log.warn(line);
  else log.info(line);
}
