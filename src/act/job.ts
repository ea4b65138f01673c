import type { Config } from '../config/config.ts';
import type { Job } from '../config/job.ts';
import { suggestName } from '../config/suggest.ts';
import { DEFAULT_LIMITS, DEFAULT_MAX_FAILURES } from '../core/choices.ts';
import type { WorkContext } from '../core/context.ts';
import { EXIT, type ExitCode, TidemarkError } from '../core/errors.ts';
import type { Warehouse } from '../warehouse/session.ts';
import { waitForLock } from '../warehouse/wait-for-lock.ts';
import { applyExitCode, applyPlan } from './apply.ts';
import type { ApplyResult } from './apply-state.ts';
import { approvePlan } from './approve.ts';
import type { Playbook } from './define.ts';
import { isUnsettled } from './ledger.ts';
import { readLedger } from './ledger-table.ts';
import { createPlan } from './plan.ts';
import { findingIds, type Plan } from './plan-file.ts';
import { findUnfinishedPlans, keepPlan } from './plan-store.ts';
import { getPlaybook, isReversible, loadPlaybooks } from './registry.ts';
import { settleLedger } from './settle-ledger.ts';

type JobPlaybooks = Pick<Job, 'name' | 'playbooks'>;
type JobPlaybook = Job['playbooks'][number];

/** The result of one playbook of a job. */
export interface JobPlaybookResult {
  readonly name: string;
  readonly mode: 'plan' | 'apply';
  /** Null where no plan could be made. */
  readonly plan: Plan | null;
  /** The plan file, to approve and apply by hand; null where there is no plan or it has no actions. */
  readonly file: string | null;
  readonly applied: ApplyResult | null;
  /** Why nothing was applied: a lock, a service that could not be read; or a limit, which leaves the plan to a person. */
  readonly refused: string | null;
  readonly exit: ExitCode;
}

/**
 * Checks the playbooks of a job before anything is pulled for it.
 * @throws TidemarkError CONFIG with one line per problem: `jobs/NAME.yaml: field: what, what to do`.
 */
export async function validateJobPlaybooks(
  config: Config,
  job: JobPlaybooks,
  playbooks: readonly Playbook[],
): Promise<void> {
  if (job.playbooks.length === 0) return;
  const known = await loadPlaybooks(config, playbooks);
  const problems = job.playbooks.flatMap((entry, index) =>
    findProblems(entry, { known, approvers: config.approvers }, `playbooks[${index}]`),
  );
  if (problems.length === 0) return;
  throw new TidemarkError('CONFIG', problems.map((problem) => `jobs/${job.name}.yaml: ${problem}`).join('\n'));
}

function findProblems(
  { name, mode, approvedBy }: JobPlaybook,
  { known, approvers }: { readonly known: readonly Playbook[]; readonly approvers: Config['approvers'] },
  path: string,
): readonly string[] {
  const playbook = known.find((candidate) => candidate.name === name);
  if (!playbook) {
    const names = known.map((candidate) => candidate.name);
    return [`${path}.name: unknown playbook ${name}; ${suggestName(name, names)}`];
  }
  if (mode === 'plan') return [];
  return [
    ...(approvedBy?.trim() ? [] : [`${path}.approvedBy: is required with mode apply: who approves the actions`]),
    ...(isReversible(playbook)
      ? []
      : [`${path}.mode: ${name} has actions that cannot be undone: use mode plan, and approve each plan by hand`]),
    ...(approvers
      ? [`${path}.mode: apply has no signature, which \`approvers:\` in tidemark.yaml asks for: use mode plan`]
      : []),
  ];
}

/** A playbook of a job and its plan. */
export interface JobPlan extends Pick<JobPlaybook, 'name' | 'mode'> {
  readonly approvedBy: string;
  readonly plan: Plan | null;
  /** The plan file, to approve and apply by hand; null where there is no plan or it has no actions. */
  readonly file: string | null;
  /** The limits that the plan exceeds, so that it is left to a person; null where it exceeds none. */
  readonly exceeded: string | null;
  /** Why there is no plan. */
  readonly refused: TidemarkError | null;
}

/**
 * Plans the playbooks of a job from the warehouse of the run in progress, or the published one. Plans are kept in `data/plans/`.
 * A playbook that is refused does not stop the others.
 * @throws as `validateJobPlaybooks`.
 */
export async function planJobPlaybooks(
  config: Config,
  context: WorkContext,
  job: JobPlaybooks,
  playbooks: readonly Playbook[],
  warehouse?: Warehouse,
): Promise<readonly JobPlan[]> {
  await validateJobPlaybooks(config, job, playbooks);
  const plans: JobPlan[] = [];
  for (const entry of job.playbooks) {
    if (context.signal.aborted) break;
    plans.push(...(await planEntry(config, context, job.name, entry, playbooks, warehouse)));
  }
  return plans;
}

/** The plan of one playbook; before it, what a killed run of the job left unfinished. */
async function planEntry(
  config: Config,
  context: WorkContext,
  job: string,
  { name, mode, approvedBy = '' }: JobPlaybook,
  playbooks: readonly Playbook[],
  warehouse: Warehouse | undefined,
): Promise<readonly JobPlan[]> {
  const base = { name, mode, approvedBy };
  const plans: JobPlan[] = [];
  const planned = await catchRefusal(context, name, async () => {
    const playbook = getPlaybook(playbooks, name);
    const now = context.clock.now();
    const unfinished =
      mode === 'apply'
        ? await findUnfinishedPlans(config, await readLedger(config, warehouse), { name, approvedBy, now })
        : [];
    plans.push(...unfinished.map(({ plan, file }) => ({ ...base, plan, file, exceeded: null, refused: null })));
    if (mode === 'apply') await settleInterrupted(config, context, name, playbooks, warehouse);
    const excluded = new Map(unfinished.flatMap(({ plan }) => plan.actions.flatMap(findingIds)).map(toContinued));
    const options = {
      config,
      context,
      playbook,
      job,
      limits: DEFAULT_LIMITS,
      excluded,
      ...(warehouse && { warehouse }),
    };
    const { plan, exceeded } = await createPlan(options);
    return { plan, exceeded, file: plan.actions.length === 0 ? null : await keepPlan(config, plan) };
  });
  if (planned instanceof TidemarkError)
    return [...plans, { ...base, plan: null, file: null, exceeded: null, refused: planned }];
  return [...plans, { ...base, ...planned, refused: null }];
}

const toContinued = (id: string): [string, string] => [id, 'an earlier plan of the job is continued for it'];

/** What an expired plan left open is read again, so that the new plan does not repeat it. */
async function settleInterrupted(
  config: Config,
  context: WorkContext,
  playbook: string,
  playbooks: readonly Playbook[],
  warehouse: Warehouse | undefined,
): Promise<void> {
  const isOpen = (await readLedger(config, warehouse)).some(
    (entry) => isUnsettled(entry) && entry.row.playbook === playbook,
  );
  const options = { config, context, playbooks, playbook, ...(warehouse && { warehouse }) };
  if (isOpen) await waitForLock(config, context, () => settleLedger(options));
}

/** Approves and applies the plans with `mode: apply`; reports the others unchanged. The warehouse must be published. */
export async function applyJobPlaybooks(
  config: Config,
  context: WorkContext,
  plans: readonly JobPlan[],
  playbooks: readonly Playbook[],
): Promise<readonly JobPlaybookResult[]> {
  const results: JobPlaybookResult[] = [];
  for (const { name, mode, plan, file, approvedBy, exceeded, refused } of plans) {
    const base = { name, mode, plan, file };
    if (refused || exceeded !== null || mode === 'plan' || file === null) {
      const reason = refused ? context.redactor.text(refused.message) : exceeded;
      results.push({ ...base, applied: null, refused: reason, exit: refused?.exit ?? EXIT.done });
      continue;
    }
    const applied = await catchRefusal(context, name, async () => {
      const isContinued = plan !== null && plan.approvals.length > 0;
      const approved = isContinued
        ? plan
        : await approvePlan(file, { config, by: approvedBy, now: context.clock.now(), irreversible: false });
      const options = { config, context, maxFailures: DEFAULT_MAX_FAILURES, playbooks, isInRun: true };
      return waitForLock(config, context, () => applyPlan(approved, options));
    });
    results.push(
      applied instanceof TidemarkError
        ? { ...base, applied: null, refused: context.redactor.text(applied.message), exit: applied.exit }
        : { ...base, applied, refused: null, exit: applyExitCode(applied, plan as Plan) },
    );
  }
  return results;
}

async function catchRefusal<T>(
  { log }: Pick<WorkContext, 'log'>,
  name: string,
  work: () => Promise<T>,
): Promise<T | TidemarkError> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof TidemarkError)) throw error;
    log.warn(`playbook ${name}: ${error.message}`);
    return error;
  }
}
