import type { Config } from '../config/config.ts';
import type { Job } from '../config/job.ts';
import type { WorkContext } from '../core/context.ts';
import { formatError, TidemarkError } from '../core/errors.ts';
import type { RunContext } from '../extract/run-context.ts';
import { type ComposeOptions, composeMessages } from '../tell/mail/compose.ts';
import type { Attachment } from '../tell/mail/message.ts';
import { listPending, type OutboxStore, writeOutbox } from '../tell/mail/outbox.ts';
import { type Delivery, sendFromOutbox } from '../tell/mail/send.ts';
import { classifyStorageError } from '../warehouse/integrity.ts';
import { withPublished } from '../warehouse/session.ts';

/** The mail of a run, as in the JSON output. */
export interface MailResult {
  readonly deliveries: readonly Delivery[];
  /** Recipients who got no digest, and why. */
  readonly skipped: readonly { readonly recipients: readonly string[]; readonly reason: string }[];
  /** Why the digests could not be composed or sent; null if they were. */
  readonly problem: string | null;
}

export type ComposeStageResult = Pick<MailResult, 'skipped' | 'problem'>;
export type SendStageResult = Pick<MailResult, 'deliveries' | 'problem'>;

export function allDelivered({ deliveries, problem }: MailResult): boolean {
  return problem === null && deliveries.every(({ status }) => status === 'sent');
}

interface Extras {
  readonly notes: readonly string[];
  readonly attachments: readonly Attachment[];
  readonly playbooks: NonNullable<ComposeOptions['playbooks']>;
}

/** Composes a job's digests and writes them to the outbox. A failure is logged and does not stop the run. */
export async function composeStage(run: RunContext, job: Job, extras: Extras): Promise<ComposeStageResult> {
  if (!job.mail) return { skipped: [], problem: null };
  const { config, warehouse, clock, log } = run;
  const { database, files } = warehouse;
  try {
    const composedAt = clock.now();
    const { messages, skipped } = await composeMessages({ database, files, config, job, run, composedAt, ...extras });
    await writeOutbox(warehouse, messages);
    for (const { recipients, reason } of skipped) log.info(`no digest to ${recipients.join(', ')}: ${reason}`);
    return { skipped, problem: null };
  } catch (error) {
    return { skipped: [], problem: logFailure(run, error) };
  }
}

/** Sends the pending messages of this run and of earlier ones. */
export async function sendStage(config: Config, context: WorkContext, store: OutboxStore): Promise<SendStageResult> {
  if (!config.mail) return { deliveries: [], problem: null };
  try {
    return { deliveries: await sendFromOutbox(store, { config, context }), problem: null };
  } catch (error) {
    return { deliveries: [], problem: logFailure(context, error) };
  }
}

/** A storage failure ends the run, and so does any other error, which is a bug. */
function logFailure({ log }: Pick<WorkContext, 'log'>, error: unknown): string {
  if (!(error instanceof TidemarkError) || classifyStorageError(error)) throw error;
  log.error(`mail: ${formatError(error)}`);
  return formatError(error);
}

/** Whether the published warehouse has pending messages. */
export async function hasPendingMail(config: Config): Promise<boolean> {
  if (!config.mail) return false;
  return withPublished(config, async (published) => (await listPending(published, null)).length > 0);
}
