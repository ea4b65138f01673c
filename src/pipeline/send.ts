import type { Config } from '../core/config.ts';
import type { Context } from '../core/context.ts';
import { describe, TidemarkError } from '../core/errors.ts';
import type { Job } from '../core/jobs.ts';
import type { Attachment } from '../mail/message.ts';
import { composeDigests, listPending } from '../mail/outbox.ts';
import { type Delivery, sendPending } from '../mail/send.ts';
import { openPublished, type Warehouse } from '../warehouse/session.ts';

/** What a run did about mail. */
export interface MailResult {
  readonly deliveries: readonly Delivery[];
  /** To whom no digest went, and why. */
  readonly left: readonly { readonly recipients: readonly string[]; readonly reason: string }[];
  /** Why there is no digest, or why nothing could be sent; null where all went well. */
  readonly problem: string | null;
}

/** Whether every digest was taken. */
export function allDelivered({ deliveries, problem }: MailResult): boolean {
  return problem === null && deliveries.every(({ status }) => status === 'sent');
}

interface Extras {
  readonly notes?: readonly string[];
  readonly attachments?: readonly Attachment[];
}

/** Writes a job's digests within its run. A digest that cannot be made must not cost the night: it is said, and the run goes on. */
export async function composeStage(
  config: Config,
  context: Context,
  job: Job,
  { database, files }: Warehouse,
  run: { readonly runId: string; readonly asOf: Date },
  extras: Extras = {},
): Promise<Pick<MailResult, 'left' | 'problem'>> {
  if (!job.mail) return { left: [], problem: null };
  try {
    const composedAt = context.clock.now();
    const { skipped } = await composeDigests({ database, files, config, job, run, composedAt, ...extras });
    for (const { recipients, reason } of skipped) context.log.info(`no digest to ${recipients.join(', ')}: ${reason}`);
    return { left, problem: null };
  } catch (error) {
    return { left: [], problem: logFailure(context, error) };
  }
}

/** Sends what is pending, of this run and of those before. */
export async function sendStage(config: Config, context: Context): Promise<Pick<MailResult, 'deliveries' | 'problem'>> {
  if (!config.mail || !(await anyPending(config))) return { deliveries: [], problem: null };
  try {
    return { deliveries: await sendPending({ config, context }), problem: null };
  } catch (error) {
    return { deliveries: [], problem: logFailure(context, error) };
  }
}

/** Only what somebody can act on is said and lived with; anything else is a bug and ends the run. */
function logFailure({ log }: Context, error: unknown): string {
  if (!(error instanceof TidemarkError)) throw error;
  log.error(`mail: ${describe(error)}`);
  return describe(error);
}

/** Looked up in the published copy: without mail there is no need for the lock. */
async function anyPending(config: Config): Promise<boolean> {
  const published = await openPublished(config);
  try {
    return (await listPending(published, null)).length > 0;
  } finally {
    published.database.close();
  }
}
