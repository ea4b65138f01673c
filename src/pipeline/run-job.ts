import type { Config } from '../core/config.ts';
import type { Context } from '../core/context.ts';
import { EXIT, type ExitCode } from '../core/errors.ts';
import type { Job } from '../core/jobs.ts';
import { evaluateFindings, type FindingsSummary } from '../findings/evaluate.ts';
import { applyJobPlaybooks, type JobPlan, type JobPlaybookResult, planJobPlaybooks } from '../remediation/job.ts';
import { syncLedger } from '../remediation/sync.ts';
import { withHeartbeat } from './heartbeat.ts';
import { type Pull, selectPulls } from './pull.ts';
import { type RenderResult, renderStage } from './render.ts';
import { exitCode, type RunResult, runPulls } from './run.ts';
import { allDelivered, composeStage, type MailResult, sendStage } from './send.ts';
import { validateJob } from './validate-job.ts';

export interface JobResult extends RunResult {
  readonly findings: FindingsSummary | null;
  /** Names of the reports that were written. */
  readonly reports: readonly string[];
  readonly failed_reports: RenderResult['failed'];
  /** What became of the job's playbooks. */
  readonly playbooks: readonly JobPlaybookResult[];
  readonly mail: MailResult;
}

/** One job from end to end: pull and load, findings, plans, digests, publish, deeds, reports, mail. The flow of the whole program. */
export async function runJob(config: Config, context: Context, job: Job): Promise<JobResult> {
  await validateJob(config, job);
  const { log, env, redactor } = context;
  const heartbeat = job.heartbeat === undefined ? undefined : { url: job.heartbeat, log, env, redactor };
  return withHeartbeat(
    heartbeat,
    (result) => jobExitCode(result) === EXIT.done,
    () => runStages(config, context, job),
  );
}

async function runStages(config: Config, context: Context, job: Job): Promise<JobResult> {
  let findings: FindingsSummary | null = null;
  let plans: readonly JobPlan[] = [];
  let composed: Pick<MailResult, 'left' | 'problem'> = { left: [], problem: null };
  const result = await runPulls({
    config,
    context,
    job: job.name,
    pulls: selectJobPulls(config, job),
    afterLoad: async (warehouse, run) => {
      const { database, files } = warehouse;
      const targets = config.targets.map(({ name }) => name);
      findings = await evaluateFindings({ database, files, asOf: run.asOf, thresholds: config.thresholds, targets });
      for (const { rule, error } of findings.failed) context.log.warn(`rule ${rule} was not assessed: ${error}`);
      await syncLedger(warehouse, config, context.log);
      plans = await planJobPlaybooks(config, context, job, warehouse);
      composed = await composeStage(config, context, job, warehouse, run, planSummaries(plans));
    },
  });
  const playbooks = await applyJobPlaybooks(config, context, plans);
  const reports = await renderStage(config, context, job.reports, new Date(result.as_of));
  const sent = await sendStage(config, context);
  const mail = { deliveries: sent.deliveries, left: composed.left, problem: composed.problem ?? sent.problem };
  return { ...result, findings, reports: reports.written, failed_reports: reports.failed, playbooks, mail };
}

/** Plans go out with the digest, for whoever approves them. */
function planSummaries(plans: readonly JobPlan[]) {
  const notes = plans.map(({ name, mode, plan, refused }) => {
    if (refused) return `Playbook ${name} was not planned: ${refused.message}`;
    const actions = plan?.actions.length ?? 0;
    if (actions === 0) return `Playbook ${name}: nothing to do`;
    return `Playbook ${name}: ${actions} action${actions === 1 ? '' : 's'} ${mode === 'plan' ? 'planned, see the plan attached' : 'to be applied'}`;
  });
  const attachments = plans.flatMap(({ name, plan, file }) =>
    plan && file
      ? [{ name: `plan-${name}.json`, type: 'application/json', text: `${JSON.stringify(plan, null, 2)}\n` }]
      : [],
  );
  return { notes, attachments };
}

/**
 * As for its pulls; 1 also when a rule could not be assessed, a report not be made, a playbook was refused or an action failed,
 * or a digest could not be made or is not sent.
 */
export function jobExitCode(result: JobResult): ExitCode {
  const pulled = exitCode(result);
  const deeds = result.playbooks.every(({ exit }) => exit === EXIT.done);
  const made = result.failed_reports.length === 0 && !result.findings?.failed.length;
  const whole = deeds && made && allDelivered(result.mail);
  return pulled === EXIT.done && !whole ? EXIT.incomplete : pulled;
}

function selectJobPulls(config: Config, job: Job): readonly Pull[] {
  if (job.pull === false) return [];
  return selectPulls(config, job.pull === 'all' ? {} : { sources: job.pull });
}
