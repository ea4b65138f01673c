import { join } from 'node:path';
import type { Config } from '../core/config.ts';
import type { Context } from '../core/context.ts';
import { EXIT, type ExitCode, TidemarkError } from '../core/errors.ts';
import type { Job } from '../pipeline/jobs.ts';
import type { Playbook } from '../playbooks/playbook.ts';
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

/**
 * Plans, and where the job says so applies, the playbooks of a job over the warehouse that it just published. One that is
 * refused does not keep the others from their turn. Plans are kept in `data/plans/`.
 * @throws as checkJobPlaybooks.
 */
export async function runJobPlaybooks(
  config: Config,
  context: Context,
  job: Pick<Job, 'name' | 'playbooks'>,
): Promise<readonly JobPlaybookResult[]> {
  await checkJobPlaybooks(config, job);
  const known = await loadPlaybooks(config);
  const results: JobPlaybookResult[] = [];
  for (const entry of job.playbooks) {
    if (context.signal.aborted) break;
    results.push(await runOne(config, context, playbookNamed(known, entry.name), entry));
  }
  return results;
}

async function runOne(
  config: Config,
  context: Context,
  playbook: Playbook,
  { name, mode, approvedBy }: Entry,
): Promise<JobPlaybookResult> {
  let plan: Plan | null = null;
  let file: string | null = null;
  try {
    plan = await makePlan({ config, context, playbook, caps: DEFAULT_CAPS });
    if (plan.actions.length === 0) return { name, mode, plan, file, applied: null, refused: null, exit: EXIT.done };
    file = join(config.data, 'plans', `${plan.plan_id}.json`);
    await writePlan(file, plan);
    if (mode === 'plan') return { name, mode, plan, file, applied: null, refused: null, exit: EXIT.done };
    await approvePlan(file, { by: approvedBy ?? '', now: context.clock.now(), irreversible: false });
    const applied = await applyFile(file, { config, context, maxFailures: DEFAULT_MAX_FAILURES });
    return { name, mode, plan, file, applied, refused: null, exit: exitOfApplied(applied) };
  } catch (error) {
    if (!(error instanceof TidemarkError)) throw error;
    context.log.warn(`playbook ${name}: ${error.message}`);
    return { name, mode, plan, file, applied: null, refused: context.redactor.text(error.message), exit: error.exit };
  }
}
