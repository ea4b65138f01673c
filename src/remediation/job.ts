import { join } from 'node:path';
import type { Config } from '../core/config.ts';
import type { Context } from '../core/context.ts';
import { EXIT, type ExitCode, TidemarkError } from '../core/errors.ts';
import type { Job } from '../core/jobs.ts';
import type { Playbook } from '../playbooks/playbook.ts';
import type { Warehouse } from '../warehouse/session.ts';
import { type Applied, applyFile, DEFAULT_MAX_FAILURES, exitOfApplied } from './apply.ts';
import { approvePlan } from './approve.ts';
import { DEFAULT_CAPS } from './caps.ts';
import { makePlan } from './plan.ts';
import { type Plan, writePlan } from './plan-file.ts';
import { isReversible, loadPlaybooks, playbookNamed } from './registry.ts';

/** What became of one playbook of a job. */
export interface JobPlaybookResult {
  readonly name: string;
  readonly mode: 'plan' | 'apply';
  /** Null where none could be made. */
  readonly plan: Plan | null;
  /** Where the plan is kept, for a person to approve and apply; null where there is none, or nothing to do. */
  readonly file: string | null;
  readonly applied: Applied | null;
  /** Why it was refused: a cap, a lock, an unreadable far side. */
  readonly refused: string | null;
  readonly exit: ExitCode;
}

type Entry = Job['playbooks'][number];

/**
 * Checks what a job says about playbooks, before anything is pulled for it.
 * @throws TidemarkError CONFIG with one line a problem: `jobs/NAME.yaml: field: what, what to do`.
 */
export async function checkJobPlaybooks(config: Config, job: Pick<Job, 'name' | 'playbooks'>): Promise<void> {
  if (job.playbooks.length === 0) return;
  const known = await loadPlaybooks(config);
  const problems = job.playbooks.flatMap((entry, index) => problemsOf(entry, known, `playbooks[${index}]`));
  if (problems.length === 0) return;
  throw new TidemarkError('CONFIG', problems.map((problem) => `jobs/${job.name}.yaml: ${problem}`).join('\n'));
}

function problemsOf({ name, mode, approvedBy }: Entry, known: readonly Playbook[], place: string): readonly string[] {
  const playbook = known.find((candidate) => candidate.name === name);
  if (!playbook) return [`${place}.name: ${unknownName(known, name)}`];
  if (mode === 'plan') return [];
  return [
    ...(approvedBy?.trim() ? [] : [`${place}.approvedBy: is required with mode apply: the name of who answers for it`]),
    ...(isReversible(playbook)
      ? []
      : [`${place}.mode: ${name} does what cannot be undone: plan it, and let a person approve each plan`]),
  ];
}

function unknownName(known: readonly Playbook[], name: string): string {
  try {
    playbookNamed(known, name);
    return '';
  } catch (error) {
    if (!(error instanceof TidemarkError)) throw error;
    return `${error.message}${error.hint ? `; ${error.hint}` : ''}`;
  }
}

/** A playbook of a job with its plan; `refused` says why there is none. */
export interface JobPlan extends Pick<Entry, 'name' | 'mode'> {
  readonly approvedBy: string;
  readonly plan: Plan | null;
  /** Where the plan is kept, for a person to approve and apply; null where there is none, or nothing to do. */
  readonly file: string | null;
  readonly refused: TidemarkError | null;
}

/**
 * Plans the playbooks of a job over the warehouse of the run under way, or the published one; plans are kept in `data/plans/`.
 * One that is refused does not keep the others from their turn.
 * @throws as checkJobPlaybooks.
 */
export async function planJobPlaybooks(
  config: Config,
  context: Context,
  job: Pick<Job, 'name' | 'playbooks'>,
  warehouse?: Warehouse,
): Promise<readonly JobPlan[]> {
  await checkJobPlaybooks(config, job);
  const known = job.playbooks.length === 0 ? [] : await loadPlaybooks(config);
  const plans: JobPlan[] = [];
  for (const { name, mode, approvedBy = '' } of job.playbooks) {
    if (context.signal.aborted) break;
    const planned = await orRefusal(context, name, async () => {
      const playbook = playbookNamed(known, name);
      const plan = await makePlan({ config, context, playbook, caps: DEFAULT_CAPS, ...(warehouse && { warehouse }) });
      if (plan.actions.length === 0) return { plan, file: null };
      const file = join(config.data, 'plans', `${plan.plan_id}.json`);
      await writePlan(file, plan);
      return { plan, file };
    });
    const made = planned instanceof TidemarkError ? { plan: null, file: null } : planned;
    plans.push({ name, mode, approvedBy, ...made, refused: planned instanceof TidemarkError ? planned : null });
  }
  return plans;
}

/** Approves and applies those plans whose job says so; the others are as they were. The warehouse must be published by now. */
export async function applyJobPlaybooks(
  config: Config,
  context: Context,
  plans: readonly JobPlan[],
): Promise<readonly JobPlaybookResult[]> {
  const results: JobPlaybookResult[] = [];
  for (const { name, mode, plan, file, approvedBy, refused } of plans) {
    const told = { name, mode, plan, file };
    if (refused || mode === 'plan' || file === null) {
      const reason = refused ? context.redactor.text(refused.message) : null;
      results.push({ ...told, applied: null, refused: reason, exit: refused?.exit ?? EXIT.done });
      continue;
    }
    const applied = await orRefusal(context, name, async () => {
      await approvePlan(file, { by: approvedBy, now: context.clock.now(), irreversible: false });
      return applyFile(file, { config, context, maxFailures: DEFAULT_MAX_FAILURES });
    });
    results.push(
      applied instanceof TidemarkError
        ? { ...told, applied: null, refused: context.redactor.text(applied.message), exit: applied.exit }
        : { ...told, applied, refused: null, exit: exitOfApplied(applied) },
    );
  }
  return results;
}

/** Plans over the published warehouse, and applies what the job says. @throws as checkJobPlaybooks. */
export async function runJobPlaybooks(
  config: Config,
  context: Context,
  job: Pick<Job, 'name' | 'playbooks'>,
): Promise<readonly JobPlaybookResult[]> {
  return applyJobPlaybooks(config, context, await planJobPlaybooks(config, context, job));
}

async function orRefusal<T>({ log }: Context, name: string, work: () => Promise<T>): Promise<T | TidemarkError> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof TidemarkError)) throw error;
    log.warn(`playbook ${name}: ${error.message}`);
    return error;
  }
}
