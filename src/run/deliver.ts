import { stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import type { Playbook } from '../act/define.ts';
import { summarizePlaybooks } from '../act/registry.ts';
import type { Acting } from '../act/remote.ts';
import type { Config } from '../config/config.ts';
import type { Job } from '../config/job.ts';
import type { WorkContext } from '../core/context.ts';
import { formatError, TidemarkError } from '../core/errors.ts';
import { fileSystemError, ignoreMissing } from '../core/fs.ts';
import type { RunContext } from '../extract/run-context.ts';
import { findLeftOut } from '../extract/sources/index.ts';
import { type ComposeResult, composeMessages } from '../tell/mail/compose.ts';
import type { ComposeOptions } from '../tell/mail/digest-data.ts';
import { type Delivery, listPending, type OutboxStore, sendFromOutbox, writeOutbox } from '../tell/mail/send.ts';
import { renderReports } from '../tell/reports/index.ts';
import { type OpenWarehouse, withPublished } from '../warehouse/session.ts';
import { classifyStorageError, freeBytes } from '../warehouse/storage.ts';

/** The reports of a run. */
export interface Rendered {
  readonly reports: readonly string[];
  readonly failed_reports: readonly { readonly report: string; readonly error: string }[];
}

/** Writes a job's reports. A report that fails is logged and does not stop the others, nor the mail. */
export async function renderStage(
  { config, context }: Acting,
  warehouse: OpenWarehouse,
  { reports: names, mail }: Job,
  { asOf, playbooks }: { readonly asOf: Date; readonly playbooks: readonly Playbook[] },
): Promise<Rendered> {
  const failed: Rendered['failed_reports'][number][] = [];
  const onFailure = (report: string, error: TidemarkError) => {
    if (classifyStorageError(error)) throw error;
    context.log.error(`report ${report}: ${formatError(error)}`);
    failed.push({ report, error: formatError(error) });
  };
  if (names.length === 0) return { reports: [], failed_reports: failed };
  try {
    const rendered = await renderReports({
      ...config,
      ...warehouse,
      names,
      asOf,
      generatedAt: context.clock.now(),
      out: config.output,
      leftOut: findLeftOut(config.targets),
      log: context.log,
      playbooks: async () => summarizePlaybooks(playbooks),
      onFailure,
    });
    return { reports: rendered.map(({ name }) => name), failed_reports: failed };
  } catch (error) {
    const known = (mail && (await describeOutputError(error, config))) || error;
    if (!(known instanceof TidemarkError)) throw error;
    failed.length = 0;
    for (const name of names) onFailure(name, known); // the failure is not one of a single report
    return { reports: [], failed_reports: failed };
  }
}

/**
 * The error of a folder of reports that cannot be written to, for a job whose mail says what changed. Without mail nothing says so: the run
 * is interrupted, and the next one says it.
 */
async function describeOutputError(error: unknown, { data, output }: Config): Promise<TidemarkError | undefined> {
  const { path = '', reason } = fileSystemError(error) ?? {};
  if (path === output || path.startsWith(join(output, sep)))
    return new TidemarkError('CONFIG', `${path} cannot be used: ${reason}`, { cause: error });
  if (classifyStorageError(error) !== 'disk-full' || !(await isFuller(output, data))) return undefined;
  return new TidemarkError('INCOMPLETE', `${output} cannot be used: the disk is full`);
}

/** Whether a folder is on another disk than one with more space. */
async function isFuller(folder: string, other: string): Promise<boolean> {
  const [disk, otherDisk] = await Promise.all([stat(folder).catch(ignoreMissing), stat(other)]);
  return disk !== undefined && disk.dev !== otherDisk.dev && (await freeBytes(folder)) < (await freeBytes(other));
}

/** The mail of a run, as in the JSON output. */
export interface MailResult extends Pick<ComposeResult, 'skipped'> {
  readonly deliveries: readonly Delivery[];
  /** Why the digests could not be composed or sent; null if they were. */
  readonly problem: string | null;
}

export const NO_MAIL: MailResult = { deliveries: [], skipped: [], problem: null };

interface Extras extends Pick<ComposeOptions, 'notes' | 'attachments'> {
  readonly playbooks: readonly Playbook[];
}

/** Composes a job's digests and writes them to the outbox. A failure is logged and does not stop the run. */
export async function composeStage(run: RunContext, job: Job, { playbooks: known, ...extras }: Extras) {
  if (!job.mail) return NO_MAIL;
  const { config, warehouse, clock, log } = run;
  const { database, files } = warehouse;
  try {
    const composedAt = clock.now();
    const playbooks = async () => summarizePlaybooks(known);
    const options = { database, files, config, job, run, composedAt, playbooks, ...extras };
    const { messages, skipped } = await composeMessages(options);
    await writeOutbox(warehouse, messages);
    for (const { recipients, reason } of skipped) log.info(`no digest to ${recipients.join(', ')}: ${reason}`);
    return { ...NO_MAIL, skipped };
  } catch (error) {
    return { ...NO_MAIL, problem: logFailure(run, error) };
  }
}

/** Sends the pending messages of this run and of earlier ones. */
export async function sendStage(acting: Acting, store: OutboxStore, composed: MailResult): Promise<MailResult> {
  if (!acting.config.mail) return composed;
  try {
    return { ...composed, deliveries: await sendFromOutbox(store, acting) };
  } catch (error) {
    const problem = logFailure(acting.context, error);
    return { ...composed, problem: composed.problem ?? problem };
  }
}

/** A storage failure ends the run, and so does any other error, which is a bug. */
function logFailure({ log }: Pick<WorkContext, 'log'>, error: unknown): string {
  if (!(error instanceof TidemarkError) || classifyStorageError(error)) throw error;
  log.error(`mail: ${formatError(error)}`);
  return formatError(error);
}

export async function hasPendingMail(config: Config): Promise<boolean> {
  if (!config.mail) return false;
  return withPublished(config, async (published) => (await listPending(published, null)).length > 0);
}
