import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../core/config.ts';
import type { Context } from '../core/context.ts';
import { EXIT, type ExitCode, TidemarkError } from '../core/errors.ts';
import { playbooks as registered } from '../playbooks/index.ts';
import type { Playbook } from '../playbooks/playbook.ts';
import type { Step } from '../playbooks/step.ts';
import { takeLock } from '../warehouse/lock.ts';
import { withWarehouse } from '../warehouse/session.ts';
import { acceptedFindings, admit } from './admit.ts';
import { farSide } from './far-side.ts';
import { openLedger } from './ledger.ts';
import { leave, perform, type Result, rowOf, type Stage } from './perform.ts';
import { type Action, type Plan, readPlan } from './plan-file.ts';
import { syncLedger } from './sync.ts';

export const DEFAULT_MAX_FAILURES = 3;

export interface ApplyOptions {
  readonly config: Config;
  readonly context: Context;
  /** Stops after so many actions that failed or are unconfirmed. */
  readonly maxFailures: number;
  /** @default every registered playbook */
  readonly playbooks?: readonly Playbook[];
}

export interface Applied {
  readonly plan_id: string;
  /** In the plan's order; actions that were not reached are not among them. */
  readonly rows: readonly Result[];
  /** Why it stopped before the end. */
  readonly stopped: Stop | null;
}

export interface Stop {
  readonly reason: string;
  readonly exit: ExitCode;
}

/** Applies the plan of a file. @throws as applyPlan, and as readPlan. */
export async function applyFile(file: string, options: ApplyOptions): Promise<Applied> {
  return applyPlan(await readPlan(file), options);
}

/**
 * Does what an approved plan says, one action at a time, and goes on where an earlier time stopped. Nothing is done twice.
 * @throws TidemarkError UNSAFE as admit; LOCKED while another runs.
 */
export async function applyPlan(plan: Plan, options: ApplyOptions): Promise<Applied> {
  const { config, context, playbooks = registered } = options;
  const steps = await admit(plan, config, context.clock.now(), playbooks);
  const release = await takeLock(join(config.data, 'apply.lock'), `plan ${plan.plan_id}`, context.clock.now());
  try {
    return await applyAll(plan, steps, options);
  } finally {
    await release();
    await copyLedger(config, context);
  }
}

/** 0 when all was done or found done, 1 when something failed or is unconfirmed; a stop has its own. */
export function exitOfApplied({ rows, stopped }: Applied): ExitCode {
  if (stopped) return stopped.exit;
  return rows.some(({ status }) => isFailure(status)) ? EXIT.incomplete : EXIT.done;
}

const isFailure = (status: Result['status']): boolean => status === 'failed' || status === 'unconfirmed';

async function applyAll(plan: Plan, steps: ReadonlyMap<Action, Step>, options: ApplyOptions): Promise<Applied> {
  const { config, context } = options;
  // What is begun is ended: a signal stops before the next action, not within one.
  const far = farSide(config, context, new AbortController().signal);
  const ledger = await openLedger(config.data);
  const stage: Stage = { plan, far, ledger, context };
  try {
    const accepted = await acceptedFindings(plan, config, context);
    const rows = new Map<Action, Result>();
    let failures = 0;
    for (const action of inOrder(stage)) {
      const known = finalRow(stage, action);
      if (!known) {
        const stopped = stopBefore(options, plan, failures);
        if (stopped)
          return { plan_id: plan.plan_id, rows: plan.actions.flatMap((each) => rows.get(each) ?? []), stopped };
      }
      const row = known ?? (await next(stage, action, steps.get(action) as Step, { rows, accepted }));
      rows.set(action, row);
      if (!known && isFailure(row.status)) failures++;
      if (!known) say(context, action, row);
    }
    return { plan_id: plan.plan_id, rows: plan.actions.flatMap((each) => rows.get(each) ?? []), stopped: null };
  } finally {
    await ledger.close();
    await far.close();
  }
}

/** Actions that failed an earlier time come last, so that they do not keep the rest from its turn. */
function inOrder({ plan, ledger }: Stage): readonly Action[] {
  const failed = new Set(
    plan.actions
      .filter(({ action_id }) => {
        const entry = ledger.entry(plan.plan_id, action_id);
        return entry !== undefined && !entry.open && entry.row.status === 'failed';
      })
      .map(({ finding_id }) => finding_id),
  );
  const late = ({ finding_id }: Action) => failed.has(finding_id);
  return [...plan.actions.filter((action) => !late(action)), ...plan.actions.filter(late)];
}

/** The row of an action that needs nothing more: all but those begun without an end, and those that certainly failed. */
function finalRow({ plan, ledger }: Stage, { action_id }: Action): Result | undefined {
  const entry = ledger.entry(plan.plan_id, action_id);
  return entry === undefined || entry.open || entry.row.status === 'failed' ? undefined : entry.row;
}

interface Course {
  readonly rows: ReadonlyMap<Action, Result>;
  readonly accepted: ReadonlySet<string>;
}

async function next(stage: Stage, action: Action, step: Step, { rows, accepted }: Course): Promise<Result> {
  const earlier = stage.ledger.entry(stage.plan.plan_id, action.action_id);
  const broken = stage.plan.actions.find(
    (other) => other.finding_id === action.finding_id && rows.has(other) && rows.get(other)?.so !== true,
  );
  if (broken && !earlier?.open) {
    // Not in the ledger: once the step before it is done, it has its turn.
    const reason = `${broken.action_id}, which comes before it, was not done`;
    return { ...rowOf(stage, action), status: 'skipped', reason, so: false, finished_at: null };
  }
  const findings = action.finding_ids ?? [action.finding_id];
  if (!earlier?.open && findings.every((id) => accepted.has(id))) {
    return leave(stage, action, 'the finding was accepted since the plan was made');
  }
  return perform(stage, action, step, earlier);
}

function stopBefore({ config, context, maxFailures }: ApplyOptions, plan: Plan, failures: number): Stop | undefined {
  const file = join(config.data, 'STOP');
  if (existsSync(file)) return { reason: `${file} is there: remove it to go on`, exit: EXIT.safety };
  if (context.signal.aborted) return { reason: 'stopped; apply it again to go on', exit: EXIT.incomplete };
  if (context.clock.now().getTime() >= Date.parse(plan.expires_at)) {
    return { reason: `the plan expired at ${plan.expires_at}`, exit: EXIT.safety };
  }
  const reached = failures >= maxFailures;
  return reached ? { reason: `${failures} actions failed or are unconfirmed`, exit: EXIT.incomplete } : undefined;
}

function say({ log }: Context, { action_id, summary }: Action, { status, reason }: Result): void {
  const line = `${action_id}: ${summary}: ${status}${reason === null ? '' : `: ${reason}`}`;
  if (isFailure(status)) log.warn(line);
  else log.info(line);
}

/** The table `actions` follows the ledger, which has the truth: where a run holds the warehouse, that run brings it. */
async function copyLedger(config: Config, context: Context): Promise<void> {
  const { log, clock } = context;
  try {
    await withWarehouse({ config, purpose: 'playbook apply', now: clock.now(), log }, (warehouse) =>
      syncLedger(warehouse, config),
    );
  } catch (error) {
    if (!(error instanceof TidemarkError)) throw error;
    log.warn(`the table actions follows with the next run: ${error.message}`);
  }
}
