import { normalizeApprover } from '../config/approvers.ts';
import type { Config } from '../config/config.ts';
import type { Job } from '../config/job.ts';
import { findNamed, suggestName } from '../config/suggest.ts';
import { DEFAULT_LIMITS, DEFAULT_MAX_FAILURES } from '../core/choices.ts';
import { DAY_MS } from '../core/clock.ts';
import type { WorkContext } from '../core/context.ts';
import { EXIT, type ExitCode, formatError, TidemarkError } from '../core/errors.ts';
import type { Warehouse } from '../warehouse/session.ts';
import { classifyStorageError } from '../warehouse/storage.ts';
import { waitForLock } from '../warehouse/wait-for-lock.ts';
import { type ApplyResult, applyExitCode, applyPlan } from './apply.ts';
import { approvePlan } from './approvals.ts';
import type { Playbook } from './define.ts';
import { isUnsettled, type LedgerEntry, takeFinal, toKey } from './ledger.ts';
import { readLedger } from './ledger-table.ts';
import { createPlan, nameJob } from './plan.ts';
import { findingIds, type Plan } from './plan-file.ts';
import { keepPlan, planFile, readKeptPlan } from './plan-store.ts';
import { PlaybookFault } from './playbook-fault.ts';
import { isReversible } from './registry.ts';
import type { Acting } from './remote.ts';
import { settleLedger } from './settle-ledger.ts';

type JobPlaybooks = Pick<Job, 'name' | 'playbooks'>;
type JobPlaybook = Job['playbooks'][number];

export interface JobPlan extends Pick<JobPlaybook, 'name' | 'mode'> {
  readonly approvedBy: string;
  /** Null where no plan could be made. */
  readonly plan: Plan | null;
  /** The plan file, to approve and apply by hand; null where there is no plan or it has no actions. */
  readonly file: string | null;
  /** The limits that the plan exceeds, so that it is left to a person; null where it exceeds none. */
  readonly exceeded: string | null;
  readonly refused: TidemarkError | null;
}

export interface JobPlaybookResult extends Pick<JobPlan, 'name' | 'mode' | 'plan' | 'file'> {
  readonly applied: ApplyResult | null;
  /** Why nothing was applied: a lock, a service that could not be read; or a limit, which leaves the plan to a person. */
  readonly refused: string | null;
  readonly exit: ExitCode;
}

/** What is wrong with the playbooks of a job, before anything is pulled for it: `jobs/NAME.yaml: field: what, what to do`. */
export function listPlaybookProblems(config: Config, job: JobPlaybooks, known: readonly Playbook[]): readonly string[] {
  return job.playbooks.flatMap((entry, index) =>
    findProblems(entry, known, config).map((problem) => `jobs/${job.name}.yaml: playbooks[${index}].${problem}`),
  );
}

function findProblems({ name, mode, approvedBy }: JobPlaybook, known: readonly Playbook[], { approvers }: Config) {
  const playbook = known.find((candidate) => candidate.name === name);
  const names = known.map((candidate) => candidate.name);
  if (!playbook) return [`name: unknown playbook ${name}; ${suggestName(name, names)}`];
  if (mode === 'plan') return [];
  const problems: string[] = [];
  if (!approvedBy?.trim()) problems.push('approvedBy: is required with mode apply: who approves the actions');
  if (!isReversible(playbook)) {
    problems.push(`mode: ${name} has actions that cannot be undone: use mode plan, and approve each plan by hand`);
  }
  if (approvers) {
    problems.push('mode: apply has no signature, which `approvers:` in tidemark.yaml asks for: use mode plan');
  }
  return problems;
}

/** How long a job reads an action again that a reading left in doubt: each one takes the lag of its target, each night. */
const DOUBT_DAYS = 7;

/**
 * Plans the playbooks of a job from the warehouse of the run in progress. Plans are kept in `data/plans/`. A playbook that is refused does
 * not stop the others.
 */
export async function planJobPlaybooks(
  { config, context }: Acting,
  job: JobPlaybooks,
  playbooks: readonly Playbook[],
  warehouse: Warehouse,
): Promise<readonly JobPlan[]> {
  const plans: JobPlan[] = [];
  for (const { name, mode, approvedBy: by = '' } of job.playbooks) {
    if (context.signal.aborted) break;
    const approvedBy = normalizeApprover(by);
    const base = { name, mode, approvedBy, plan: null, file: null, exceeded: null, refused: null };
    const refused = await catchRefusal(context, name, async () => {
      const ledger = await readLedger(config, warehouse);
      const entries = [...ledger.values()].filter(({ playbook }) => playbook === name);
      const excluded = new Map<string, string>();
      const applied = mode === 'apply' ? entries : [];
      for (const plan of await listUnfinished(config, applied, { job: job.name, approvedBy }, context.clock.now())) {
        plans.push({ ...base, plan, file: planFile(config, plan.plan_id) });
        const reason = 'an earlier plan of the job is continued for it';
        for (const id of plan.actions.flatMap(findingIds)) excluded.set(id, reason);
      }
      // What a plan left open is read again, so that the new plan does not repeat it.
      const sinceMs = context.clock.now().getTime() - DOUBT_DAYS * DAY_MS;
      const isDue = (entry: LedgerEntry) => entry.event === 'intent' || Date.parse(entry.started_at) >= sinceMs;
      const isWanted = (entry: LedgerEntry) => entry.playbook === name && isUnsettled(entry) && isDue(entry);
      const settle = () => settleLedger({ config, context, warehouse, playbooks, isWanted });
      const isHeld = mode === 'plan' || plans.some((one) => isLocked(one.refused));
      const leaveToHolder = (error: unknown) => {
        if (mode === 'apply' || !isLocked(error)) throw error; // a person applies now, and settles it; a plan can be made
      };
      if (entries.some(isWanted)) await waitForLock(patience(config, isHeld), context, settle).catch(leaveToHolder);
      const playbook = findNamed(playbooks, 'playbook', name);
      const source = { config, context, warehouse, playbook, job: job.name, excluded, limits: DEFAULT_LIMITS };
      const { plan, exceeded } = await createPlan(source);
      plans.push({ ...base, plan, exceeded, file: plan.actions.length === 0 ? null : await keepPlan(config, plan) });
    });
    if (refused instanceof TidemarkError) plans.push({ ...base, refused });
  }
  return plans;
}

/**
 * The plans that a job made, approved and began to apply before it was killed: still valid, and with an action that has no final outcome.
 * One of version 0.1 names no installation, and cannot be applied any more. What a person of the same name has stopped stays so.
 */
async function listUnfinished(
  config: Config,
  entries: readonly LedgerEntry[],
  { job, approvedBy }: { readonly job: string; readonly approvedBy: string },
  now: Date,
) {
  const own = entries.filter(({ approved_by }) => approved_by === approvedBy);
  const ids = [...new Set(own.map(({ plan_id }) => plan_id))].sort();
  const final = new Set(entries.filter(takeFinal).map(toKey));
  const isUnfinished = ({ plan_id, planned_by, undoes, approvals, targets, expires_at, actions }: Plan) =>
    planned_by?.how === nameJob(job) &&
    undoes === undefined &&
    targets !== null &&
    now.getTime() < Date.parse(expires_at) &&
    approvals.some(({ by }) => by === approvedBy) &&
    actions.some(({ action_id }) => !final.has(toKey({ plan_id, action_id })));
  const plans: Plan[] = [];
  // One after the other: a job keeps the plans of months, and each may have 64 MiB.
  for (const id of ids) {
    const plan = await readKeptPlan(config, id);
    if (plan && isUnfinished(plan)) plans.push(plan);
  }
  return plans;
}

/** Approves and applies the plans with `mode: apply`; reports the others unchanged. The warehouse must be published. */
export async function applyJobPlaybooks(acting: Acting, plans: readonly JobPlan[], playbooks: readonly Playbook[]) {
  const { config, context } = acting;
  const options = { ...acting, maxFailures: DEFAULT_MAX_FAILURES, playbooks, isInRun: true };
  const results: JobPlaybookResult[] = [];
  let isHeld = plans.some((one) => isLocked(one.refused));
  for (const { approvedBy, exceeded, refused, ...planned } of plans) {
    const { name, mode, plan, file } = planned;
    const apply = async () => {
      if (refused || exceeded !== null || mode !== 'apply' || !plan || !file) return refused;
      const approval = { config, by: approvedBy, now: context.clock.now(), irreversible: false, digest: plan.digest };
      const approved = plan.approvals.length > 0 ? plan : await approvePlan(file, approval);
      const applied = await waitForLock(patience(config, isHeld), context, () => applyPlan(approved, options));
      return { applied, exit: applyExitCode(applied, plan) };
    };
    const result = (await catchRefusal(context, name, apply)) ?? {};
    isHeld ||= isLocked(result);
    const outcome =
      result instanceof TidemarkError ? { refused: context.redactor.text(result.message), exit: result.exit } : result;
    results.push({ ...planned, applied: null, refused: exceeded, exit: EXIT.done, ...outcome });
  }
  return results;
}

function isLocked(result: unknown): boolean {
  return result instanceof TidemarkError && result.code === 'LOCKED';
}

/** A lock that one playbook has waited for is not waited for again: the mail of the night would wait once for each. */
function patience({ schedule }: Config, isHeld: boolean): Pick<Config, 'schedule'> {
  return { schedule: isHeld ? { ...schedule, lockWaitMinutes: 0 } : schedule };
}

async function catchRefusal<T>({ log, signal }: WorkContext, name: string, work: () => Promise<T>) {
  const result = await work().catch((error: unknown) => {
    if (error instanceof TidemarkError) return error;
    if (signal.aborted || classifyStorageError(error) !== undefined) throw error;
    // A fault in a playbook, which a user may have written, must not take the reports and the mail of the night.
    return new PlaybookFault(formatError(error), error);
  });
  if (result instanceof TidemarkError) log.warn(`playbook ${name}: ${result.message}`);
  return result;
}
