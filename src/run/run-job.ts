import {
  applyJobPlaybooks,
  type JobPlan,
  type JobPlaybookResult,
  planJobPlaybooks,
  validateJobPlaybooks,
} from '../act/job.ts';
import { assertAfterLedger } from '../act/ledger-file.ts';
import { trySyncLedger } from '../act/ledger-table.ts';
import { syncPlans } from '../act/plan-store.ts';
import { summarizePlaybooks } from '../act/registry.ts';
import type { Config } from '../config/config.ts';
import type { Job } from '../config/job.ts';
import { suggestName } from '../config/suggest.ts';
import type { JobContext } from '../core/context.ts';
import { EXIT, type ExitCode, formatError, TidemarkError } from '../core/errors.ts';
import { overlayRoots } from '../core/paths.ts';
import { plural } from '../core/plural.ts';
import { clearInFlight } from '../extract/resume.ts';
import type { Pull, RunContext } from '../extract/run-context.ts';
import type { PullOutcome } from '../load/record-pulls.ts';
import { evaluateFindings, type FindingsSummary } from '../tell/findings/evaluate.ts';
import type { Attachment } from '../tell/mail/message.ts';
import { resolveMailSettings } from '../tell/mail/transport.ts';
import { listReportNames } from '../tell/reports/index.ts';
import { type WarehouseWriter, withPublished, withWarehouseLock } from '../warehouse/session.ts';
import { waitForLock } from '../warehouse/wait-for-lock.ts';
import {
  allDelivered,
  type ComposeStageResult,
  composeStage,
  hasPendingMail,
  type MailResult,
  type RenderResult,
  type RenderStageOptions,
  renderStage,
  type SendStageResult,
  sendStage,
} from './deliver.ts';
import { withHeartbeat } from './heartbeat.ts';
import { isUnpublished, type LakeResult, lakeStage } from './lake.ts';
import { refreshLifecycle } from './lifecycle/index.ts';
import { BUILT_IN, type Definitions } from './plugins/index.ts';
import { type PullOptions, pullSources, selectPulls } from './pull.ts';
import { exitCode, type RunResult, withRun } from './run.ts';

export interface JobResult extends RunResult {
  readonly findings: FindingsSummary | null;
  /** Names of the reports that were written. */
  readonly reports: readonly string[];
  readonly failed_reports: RenderResult['failed'];
  readonly playbooks: readonly JobPlaybookResult[];
  /** Why the ledger was refused, so that no playbook acted; null where it was not. */
  readonly refused_ledger: string | null;
  readonly mail: MailResult;
  /** The publish to the lake; null without one. */
  readonly lake: LakeResult | null;
}

/** The part of a job to run. */
export interface JobSelection {
  /** Pulls only these targets. @default every target */
  readonly targets?: readonly string[];
}

/**
 * Runs a job under one lock: pull, findings, plans, digests; then, once the warehouse is published, actions, reports and mail. A run
 * that is cut off before the end stays marked as unfinished: for the next one, nothing of it counts as reported.
 */
export async function runJob(
  config: Config,
  context: JobContext,
  job: Job,
  definitions: Definitions = BUILT_IN,
  selection: JobSelection = {},
): Promise<JobResult> {
  await validateJobs(config, [job], definitions);
  await assertAfterLedger(config.data, context.clock);
  return withHeartbeat(
    { ...context, url: job.heartbeat },
    (result) => jobExitCode(result) === EXIT.done,
    () => waitForLock(config, context, () => runStages(config, context, job, definitions, selection)),
  );
}

async function runStages(
  config: Config,
  context: JobContext,
  job: Job,
  definitions: Definitions,
  selection: JobSelection,
): Promise<JobResult> {
  const pulls = selectJobPulls(config, job, definitions, selection);
  const lock = { config, purpose: job.name, now: context.clock.now(), log: context.log };
  return withWarehouseLock(lock, async (writer) => {
    const { result, stages } = await withRun({ config, context, job: job.name, pulls }, writer, (run) =>
      updateWarehouse(run, job, { pulls }, definitions),
    );
    const { findings, plans, digests, refusedLedger } = stages;
    const ledger = { refused_ledger: refusedLedger ? formatError(refusedLedger) : null };
    if (result.status === 'interrupted') return { ...result, findings, ...ledger, ...NOTHING_DELIVERED };
    const playbooks = await applyJobPlaybooks(config, context, plans, definitions.playbooks);
    const options = { names: job.reports, asOf: new Date(result.as_of), playbooks: definitions.playbooks };
    const hasActions = playbooks.some(({ applied }) => applied !== null);
    const { reports, sent } = await deliverStages(config, context, writer, options, hasActions);
    if (!context.signal.aborted) await clearInFlight(config, job.name);
    const mail = { ...sent, skipped: digests.skipped, problem: digests.problem ?? sent.problem };
    const lake = await lakeStage(config, context);
    const { written, failed } = reports;
    return { ...result, findings, reports: written, failed_reports: failed, playbooks, ...ledger, mail, lake };
  });
}

/** An interrupted run ends after the pulls: the next one resumes it, and reports what it changed. */
const NOTHING_DELIVERED: Pick<JobResult, 'reports' | 'failed_reports' | 'playbooks' | 'mail' | 'lake'> = {
  reports: [],
  failed_reports: [],
  playbooks: [],
  mail: { deliveries: [], skipped: [], problem: null },
  lake: null,
};

/**
 * Writes the reports and sends the mail. Actions and mail change the warehouse, which is then published once more
 * (docs/decisions.md#locks).
 */
async function deliverStages(
  config: Config,
  context: JobContext,
  writer: WarehouseWriter,
  options: RenderStageOptions,
  hasActions: boolean,
): Promise<{ readonly reports: RenderResult; readonly sent: SendStageResult }> {
  if (!hasActions && !(await hasPendingMail(config))) {
    const reports = await withPublished(config, (published) => renderStage(config, context, published, options));
    return { reports, sent: { deliveries: [], problem: null } };
  }
  return writer.write(async (warehouse) => {
    if (hasActions) await trySyncLedger(config, context, warehouse);
    const reports = await renderStage(config, context, warehouse, options);
    return { reports, sent: await sendStage(config, context, warehouse) };
  });
}

interface WarehouseStages {
  readonly pulls: readonly PullOutcome[];
  readonly findings: FindingsSummary | null;
  readonly plans: readonly JobPlan[];
  readonly digests: ComposeStageResult;
  readonly refusedLedger?: TidemarkError | undefined;
}

/** The stages that write to the warehouse. */
async function updateWarehouse(
  run: RunContext,
  job: Job,
  selected: PullOptions,
  definitions: Definitions,
): Promise<WarehouseStages> {
  const { config, warehouse, log, asOf } = run;
  const { database, files } = warehouse;
  const pulls = await pullSources(run, selected);
  if (run.signal.aborted) return { pulls, findings: null, plans: [], digests: { skipped: [], problem: null } };
  const notAnswered = await refreshLifecycle(run);
  const { thresholds, targets } = config;
  const findings = await evaluateFindings({ database, files, asOf, runId: run.runId, thresholds, targets });
  for (const { rule, error } of findings.failed) log.warn(`rule ${rule} was not assessed: ${error}`);
  const refusedLedger = await trySyncLedger(config, run, warehouse);
  const plans = await planJobPlaybooks(config, run, job, definitions.playbooks, warehouse);
  await syncPlans(warehouse, config, asOf);
  const notes = [
    ...(refusedLedger ? [`The ledger is refused: ${formatError(refusedLedger)}`] : []),
    ...notAnswered.map((problem) => `${problem}; the last ones are kept`),
    ...planNotes(plans),
  ];
  const digests = await composeStage(run, job, {
    notes,
    attachments: planAttachments(plans),
    playbooks: async () => summarizePlaybooks(definitions.playbooks),
  });
  return { pulls, findings, plans, digests, refusedLedger };
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

/**
 * The exit code of the pulls; after complete ones that of a refused ledger, and `incomplete` if a rule, report, playbook, action, digest
 * or publish failed.
 */
export function jobExitCode(result: JobResult): ExitCode {
  const pulled = exitCode(result);
  if (pulled === EXIT.done && result.refused_ledger !== null) return EXIT.data;
  return pulled === EXIT.done && listFailures(result).length > 0 ? EXIT.incomplete : pulled;
}

/** What failed beside the pulls: `rule own`, `report pools`, `mail`. */
export function listFailures(result: JobResult): readonly string[] {
  return [
    ...(result.findings?.failed ?? []).map(({ rule }) => `rule ${rule}`),
    ...(result.refused_ledger === null ? [] : ['ledger']),
    ...result.playbooks.flatMap(({ name, exit }) => (exit === EXIT.done ? [] : [`playbook ${name}`])),
    ...result.failed_reports.map(({ report }) => `report ${report}`),
    ...(allDelivered(result.mail) ? [] : ['mail']),
    ...(isUnpublished(result.lake) ? ['lake'] : []),
  ];
}

function selectJobPulls(
  config: Config,
  { pull }: Job,
  { sources }: Definitions,
  selection: JobSelection,
): readonly Pull[] {
  if (pull === false) return [];
  return selectPulls(config, { ...selection, ...(pull !== 'all' && { sources: pull }) }, sources);
}

/**
 * Checks the names in jobs, and whether their mail can be sent, before a run starts.
 * @throws TidemarkError CONFIG with one line per issue: `jobs/NAME.yaml: field: what, what to do`.
 */
export async function validateJobs(
  config: Config,
  jobs: readonly Job[],
  definitions: Definitions = BUILT_IN,
): Promise<void> {
  const sources = definitions.sources.map(({ name }) => name);
  const reports = listReportNames(overlayRoots(config.directory));
  const issues: string[] = [];
  for (const job of jobs) {
    const pull = Array.isArray(job.pull) ? job.pull : [];
    issues.push(
      ...findUnknownNames(job.name, 'pull', 'source', pull, sources),
      ...findUnknownNames(job.name, 'reports', 'report', job.reports, reports),
      ...(await catchConfigError(async () => job.mail && resolveMailSettings(config))),
      ...(await catchConfigError(() => validateJobPlaybooks(config, job, definitions.playbooks))),
    );
  }
  if (issues.length > 0) throw new TidemarkError('CONFIG', [...new Set(issues)].join('\n'));
}

function findUnknownNames(
  job: string,
  field: string,
  kind: string,
  names: readonly string[],
  known: readonly string[],
): readonly string[] {
  return names
    .filter((name) => !known.includes(name))
    .map((name) => `jobs/${job}.yaml: ${field}: unknown ${kind} ${name}; ${suggestName(name, known)}`);
}

/** @returns the message of a configuration error, or nothing. */
async function catchConfigError(validate: () => Promise<unknown>): Promise<readonly string[]> {
  try {
    await validate();
    return [];
  } catch (error) {
    if (!(error instanceof TidemarkError) || error.code !== 'CONFIG') throw error;
    return [error.hint ? `${error.message}; ${error.hint}` : error.message];
  }
}
