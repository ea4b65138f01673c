import { applyJobPlaybooks, type JobPlan, listPlaybookProblems, planJobPlaybooks } from '../act/job.ts';
import { assertAfterLedger } from '../act/ledger-file.ts';
import { trySyncLedger } from '../act/ledger-table.ts';
import { syncPlans } from '../act/plan-table.ts';
import type { Acting } from '../act/remote.ts';
import type { Config } from '../config/config.ts';
import type { Job } from '../config/job.ts';
import { suggestName } from '../config/suggest.ts';
import type { JobContext } from '../core/context.ts';
import { EXIT, formatError, TidemarkError } from '../core/errors.ts';
import { overlayRoots } from '../core/paths.ts';
import { plural } from '../core/plural.ts';
import type { RunContext } from '../extract/run-context.ts';
import { evaluateFindings } from '../tell/findings/evaluate.ts';
import type { Attachment } from '../tell/mail/message.ts';
import { resolveMailSettings } from '../tell/mail/transport.ts';
import { listReportNames } from '../tell/reports/definitions.ts';
import { type OpenWarehouse, type WriteWarehouse, withPublished } from '../warehouse/session.ts';
import { waitForLock } from '../warehouse/wait-for-lock.ts';
import { composeStage, hasPendingMail, NO_MAIL, renderStage, sendStage } from './deliver.ts';
import { withHeartbeat } from './heartbeat.ts';
import { refreshLifecycle } from './lifecycle.ts';
import { BUILT_IN, type Definitions } from './plugins/index.ts';
import { type PullOptions, pullSources, selectPulls } from './pull.ts';
import { type EndedRun, executeRun, exitCode, type JobResult, type JobStages } from './run.ts';

/**
 * Runs a job: pull, findings, plans, digests; then, once the warehouse is published, actions, reports and mail.
 * @param targets pulls only these; @default all
 */
export async function runJob(
  config: Config,
  context: JobContext,
  job: Job,
  definitions: Definitions = BUILT_IN,
  targets: readonly string[] = [],
): Promise<JobResult> {
  await validateJob(config, job, definitions);
  await assertAfterLedger(config.data, context.clock);
  const selected = { targets, ...(Array.isArray(job.pull) && { sources: job.pull }) };
  const pulls = job.pull === false ? [] : selectPulls(config, selected, definitions.sources);
  const execute = () =>
    executeRun(
      { config, context, job: job.name, pulls },
      (run) => fillWarehouse(run, job, { pulls, sources: definitions.sources }, definitions),
      (filled, ended, write) => deliver({ config, context }, job, definitions, { filled, ended, write }),
    );
  return withHeartbeat(
    { ...context, url: job.heartbeat },
    (result) => exitCode(result) === EXIT.done,
    () => waitForLock(config, context, execute),
  );
}

type Filled = Awaited<ReturnType<typeof fillWarehouse>>;

/**
 * Acts, writes the reports and sends the mail. Actions and mail change the warehouse, which is then published once more
 * (docs/decisions.md#locks). An interrupted run ends after the pulls: the next one resumes it, and reports what it changed.
 */
async function deliver(
  acting: Acting,
  job: Job,
  { playbooks }: Definitions,
  { filled, ended, write }: { readonly filled: Filled; readonly ended: EndedRun; readonly write: WriteWarehouse },
): Promise<JobStages> {
  const { findings, plans, mail, refused_ledger } = filled;
  const undone = { findings, reports: [], failed_reports: [], playbooks: [], refused_ledger, mail };
  if (ended.status === 'interrupted') return undone;
  const applied = await applyJobPlaybooks(acting, plans, playbooks);
  const hasActions = applied.some((one) => one.applied !== null);
  const render = (warehouse: OpenWarehouse) =>
    renderStage(acting, warehouse, job, { asOf: new Date(ended.as_of), playbooks });
  if (!hasActions && !(await hasPendingMail(acting.config))) {
    return { ...undone, ...(await withPublished(acting.config, render)), playbooks: applied };
  }
  return write(async (warehouse) => {
    if (hasActions) await trySyncLedger(acting, warehouse);
    const rendered = await render(warehouse);
    const sent = await sendStage(acting, warehouse, mail);
    return { ...undone, ...rendered, playbooks: applied, mail: sent };
  });
}

/** The stages that write to the warehouse. */
async function fillWarehouse(run: RunContext, job: Job, selected: PullOptions, definitions: Definitions) {
  const { config, warehouse, log, asOf } = run;
  const { database, files } = warehouse;
  const pulls = await pullSources(run, selected);
  if (run.signal.aborted) return { pulls, findings: null, plans: [], mail: NO_MAIL, refused_ledger: null };
  const notAnswered = await refreshLifecycle(run);
  const { thresholds, targets } = config;
  const findings = await evaluateFindings({ database, files, asOf, runId: run.runId, thresholds, targets });
  for (const { rule, error } of findings.failed) log.warn(`rule ${rule} was not assessed: ${error}`);
  const acting = { config, context: run };
  const refusal = await trySyncLedger(acting, warehouse);
  const refusedLedger = refusal ? formatError(refusal) : null;
  const plans = await planJobPlaybooks(acting, job, definitions.playbooks, warehouse);
  await syncPlans(warehouse, config, asOf);
  const notes = [
    ...(refusal ? [`The ledger is refused: ${refusedLedger}`] : []),
    ...notAnswered.map((problem) => `${problem}; the last ones are kept`),
    ...planNotes(plans),
  ];
  const attachments = planAttachments(plans);
  const mail = await composeStage(run, job, { notes, attachments, playbooks: definitions.playbooks });
  return { pulls, findings, plans, mail, refused_ledger: refusedLedger };
}

/** Lines of the digest about the plans of a job. */
function planNotes(plans: readonly JobPlan[]): readonly string[] {
  return plans.map(({ name, mode, plan, exceeded, refused }) => {
    if (refused) return `Playbook ${name} was not planned: ${refused.message}`;
    const actions = plan?.actions.length ?? 0;
    if (actions === 0) return `Playbook ${name}: nothing to do`;
    if (plan && exceeded !== null) {
      return `Playbook ${name}: nothing is applied, because ${exceeded}. The plan waits for a person: tidemark playbook show ${plan.plan_id}`;
    }
    const state = mode === 'plan' ? 'planned, see the attached plan' : 'to be applied';
    return `Playbook ${name}: ${plural(actions, 'action')} ${state}`;
  });
}

/** The plans within the limits as attachments of the digest, for the person who approves them. */
function planAttachments(plans: readonly JobPlan[]): readonly Attachment[] {
  return plans.flatMap(({ name, plan, file, exceeded }) =>
    plan && file && exceeded === null
      ? [{ name: `plan-${name}.json`, type: 'application/json', text: `${JSON.stringify(plan, null, 2)}\n` }]
      : [],
  );
}

/** @throws TidemarkError CONFIG with one line per issue: `jobs/NAME.yaml: field: what, what to do`. */
export async function validateJob(config: Config, job: Job, definitions: Definitions): Promise<void> {
  const problems = await listJobProblems(config, job, definitions);
  if (problems.length > 0) throw new TidemarkError('CONFIG', problems.join('\n'));
}

/** Checks the names in a job, and whether its mail can be sent, before a run starts. */
export async function listJobProblems(config: Config, job: Job, definitions: Definitions): Promise<readonly string[]> {
  const find = (field: 'pull' | 'reports', kind: string, names: readonly string[], known: readonly string[]) =>
    names
      .filter((name) => !known.includes(name))
      .map((name) => `jobs/${job.name}.yaml: ${field}: unknown ${kind} ${name}; ${suggestName(name, known)}`);
  const sources = definitions.sources.map(({ name }) => name);
  return [
    ...find('pull', 'source', Array.isArray(job.pull) ? job.pull : [], sources),
    ...find('reports', 'report', job.reports, listReportNames(overlayRoots(config.directory))),
    ...(await listProblems(() => job.mail && resolveMailSettings(config))),
    ...listPlaybookProblems(config, job, definitions.playbooks),
  ];
}

/** The list that a check returns, if it returns one, or the lines of the error that it throws. */
export async function listProblems(check: () => unknown): Promise<readonly string[]> {
  try {
    const problems = await check();
    return Array.isArray(problems) ? problems : [];
  } catch (error) {
    if (!(error instanceof TidemarkError)) throw error;
    return error.message.includes('\n') ? error.message.split('\n') : [formatError(error)];
  }
}
