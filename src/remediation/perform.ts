import type { Context } from '../core/context.ts';
import { describe, TidemarkError } from '../core/errors.ts';
import { pause } from '../http/pause.ts';
import { type Failure, ServiceError } from '../http/service-error.ts';
import type { Look, Step } from '../playbooks/step.ts';
import { type FarSide, operationNamed } from './far-side.ts';
import type { Entry, Intent, Ledger, Outcome } from './ledger.ts';
import type { Action, Plan } from './plan-file.ts';

export interface Stage {
  readonly plan: Plan;
  readonly far: FarSide;
  readonly ledger: Ledger;
  readonly context: Context;
}

/** What became of an action: its row, and whether the ledger holds it as final. */
export type Result = Omit<Outcome, 'finished_at'> & { readonly finished_at: string | null };

/**
 * Reads the subject, and acts where it still stands as planned; an action that was interrupted is first found out about.
 * The intent is on the disk before anything is sent, the outcome before anything else is begun.
 */
export async function perform(stage: Stage, action: Action, step: Step, earlier: Entry | undefined): Promise<Result> {
  const row = rowOf(stage, action);
  let look: Look;
  try {
    look = await lookAt(stage, action, step);
  } catch (error) {
    requireTold(error);
    return unread(stage, row, earlier, error);
  }
  if (earlier?.open) {
    const settled = settle(action, step, look);
    if (settled) return conclude(stage, { ...earlier.row, ...settled, after: look.seen });
  }
  const { verdict, seen } = look;
  if (verdict.state === 'changed') {
    return conclude(stage, { ...row, before: seen, status: 'skipped', reason: verdict.reason, so: false });
  }
  if (verdict.state === 'done') {
    const reason = `already so: ${verdict.reason}`;
    return conclude(stage, { ...row, before: seen, status: 'skipped', reason, so: true });
  }
  const intent = { ...row, before: seen };
  await stage.ledger.intend(intent);
  return conclude(stage, { ...intent, ...(await act(stage, action, step)) });
}

/** Puts down why an action is left. */
export function leave(stage: Stage, action: Action, reason: string): Promise<Result> {
  return conclude(stage, { ...rowOf(stage, action), status: 'skipped', reason, so: false });
}

export function rowOf({ plan, context }: Stage, action: Action): Intent {
  return {
    plan_id: plan.plan_id,
    action_id: action.action_id,
    playbook: plan.playbook,
    operation: action.operation,
    target: action.target,
    params: action.params,
    finding_id: action.finding_id,
    reason: null,
    approved_by: plan.approval?.by ?? '',
    started_at: context.clock.now().toISOString(),
    before: null,
    after: null,
  };
}

type Ending = Pick<Outcome, 'status' | 'reason' | 'so'>;

async function conclude(stage: Stage, row: Omit<Outcome, 'finished_at'>): Promise<Outcome> {
  const reason = row.reason === null ? null : stage.context.redactor.text(row.reason);
  const outcome = { ...row, reason, finished_at: stage.context.clock.now().toISOString() };
  await stage.ledger.conclude(outcome);
  return outcome;
}

async function lookAt({ far }: Stage, { target, guard }: Action, step: Step): Promise<Look> {
  return step.look(await far.look(target, guard.reads), guard.facts);
}

/** Reading may lag behind: ACL policies are replicated, the explorer is eventually consistent (the documents' rules on both). */
const LAG_MS = [300, 1200];

/** The reading that shows a deed, or the last one. What is begun is ended: no signal cuts it short. */
async function lookForDeed(stage: Stage, action: Action, step: Step, answer: unknown): Promise<Look> {
  let look = await lookAt(stage, action, step);
  for (const waitMs of LAG_MS) {
    if (look.shows(answer)) break;
    await pause(waitMs, new AbortController().signal);
    look = await lookAt(stage, action, step);
  }
  return look;
}

/** A second look, where the first error is the one to tell. */
async function lookAgain(stage: Stage, action: Action, step: Step): Promise<Look | undefined> {
  try {
    return await lookAt(stage, action, step);
  } catch (error) {
    requireTold(error);
    return undefined;
  }
}

/** What no service and no check said is a fault of this program: an action under way then stays open in the ledger. */
function requireTold(error: unknown): void {
  if (!(error instanceof TidemarkError)) throw error;
}

/** The subject could not be read: nothing was sent now. What was begun before stays open, to be read another time. */
async function unread(stage: Stage, row: Intent, earlier: Entry | undefined, error: unknown): Promise<Result> {
  const reason = `it could not be read: ${describe(error)}`;
  if (!earlier?.open) return conclude(stage, { ...row, status: 'failed', reason, so: false });
  const shown = stage.context.redactor.text(`it was interrupted, and ${reason}`);
  return { ...earlier.row, status: 'unconfirmed', reason: shown, so: false, finished_at: null };
}

/** What an interrupted action came to, as far as reading tells; undefined where it was not done and may be done now. */
function settle({ operation }: Action, step: Step, { verdict }: Look): Ending | undefined {
  const unconfirmed = (why: string): Ending => ({
    status: 'unconfirmed',
    reason: `it was interrupted, and ${why}: look at it, and make a new plan if it is still wanted`,
    so: false,
  });
  if (step.unknowable) return unconfirmed('reading does not tell whether it was done');
  if (verdict.state === 'done') {
    return { status: 'applied', reason: `it was interrupted; reading shows it done: ${verdict.reason}`, so: true };
  }
  if (verdict.state === 'changed') return unconfirmed(`${verdict.reason} now`);
  return mayRepeat(operation) ? undefined : unconfirmed('reading does not show it, yet it may be under way');
}

/** Deleting the same thing twice does no second thing, whatever else may not be sent again by itself. */
function mayRepeat(name: string): boolean {
  const { repeat, method } = operationNamed(name);
  return repeat !== 'never' || method === 'DELETE';
}

async function act(stage: Stage, action: Action, step: Step): Promise<Ending & Pick<Outcome, 'after'>> {
  let answer: unknown;
  try {
    answer = await stage.far.act(action);
  } catch (error) {
    requireTold(error);
    return refused(stage, action, step, error);
  }
  try {
    const look = await lookForDeed(stage, action, step, answer);
    if (look.shows(answer)) return { status: 'applied', reason: null, so: true, after: look.seen };
    const reason = 'the service took it, and reading does not show it';
    return { status: 'unconfirmed', reason, so: false, after: look.seen };
  } catch (error) {
    requireTold(error);
    const reason = `the service took it, and it could not be read again: ${describe(error)}`;
    return { status: 'unconfirmed', reason, so: false, after: null };
  }
}

/** Refusals after which it is certain that nothing was done; silence and a fault within the service leave it open. */
const CERTAIN: ReadonlySet<Failure> = new Set<Failure>([
  'unauthorized',
  'forbidden',
  'not-found',
  'wrong-mount',
  'conflict',
  'precondition',
  'in-use',
  'invalid',
  'rate-limited',
  'too-long-wait',
  'too-large',
]);

async function refused(
  stage: Stage,
  action: Action,
  step: Step,
  error: unknown,
): Promise<Ending & Pick<Outcome, 'after'>> {
  const words = describe(error);
  const look = await lookAgain(stage, action, step);
  const after = look?.seen ?? null;
  if (!(error instanceof ServiceError) || CERTAIN.has(error.failure)) {
    // Somebody else was quicker, between the reading and the deed.
    if (look?.verdict.state === 'done')
      return { status: 'skipped', reason: `already so: ${look.verdict.reason}`, so: true, after };
    return { status: 'failed', reason: words, so: false, after };
  }
  const lost = look && settle(action, step, look);
  if (look && !lost)
    return { status: 'failed', reason: `${words}; reading shows that it was not done`, so: false, after };
  if (lost?.status === 'applied') return { ...lost, reason: `${words}; reading shows it done`, after };
  return { status: 'unconfirmed', reason: `${words}; whether it was done is not known`, so: false, after };
}
