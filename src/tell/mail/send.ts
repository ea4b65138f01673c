import type { SendMailOptions, Transporter } from 'nodemailer';
import type { Config } from '../../config/config.ts';
import { DAY_MS, formatSeconds } from '../../core/clock.ts';
import type { Context } from '../../core/context.ts';
import { errorMessage } from '../../core/errors.ts';
import type { OpenWarehouse } from '../../warehouse/session.ts';
import { toJsonParam } from '../../warehouse/sql-params.ts';
import { type Message, toMailOptions } from './message.ts';
import { type MailTimeouts, openTransport, resolveMailSettings, TIMEOUTS } from './transport.ts';

type OutboxStatus = 'pending' | 'sent' | 'refused' | 'replaced';

/** A warehouse, as far as the outbox needs it. */
export interface OutboxStore extends OpenWarehouse {
  /** Throws where the lock of the warehouse was lost: nothing may be sent then. */
  readonly assertHeld?: () => void;
}

/**
 * Adds messages to the outbox. One that is in the outbox already stays unchanged; one of an interrupted run that was not sent is
 * replaced by the message to the same recipient.
 */
export async function writeOutbox({ database, files }: OutboxStore, messages: readonly Message[]): Promise<void> {
  const sql = files.read('mail/outbox_write');
  const replace = files.read('mail/outbox_replace');
  await database.transaction(async () => {
    for (const message of messages) {
      const { messageId, targets, job, runId, to, subject, composedAt } = message;
      const row = { message_id: messageId, target: targets, job, run_id: runId, recipient: to.address, subject };
      await database.run(sql, { ...row, created_at: composedAt, content: toJsonParam(message) });
      await database.run(replace, row);
    }
  });
}

/** A message that waits, without its content: that of all could be more than the memory. */
type Pending = Readonly<Record<'message_id' | 'run_id' | 'recipient' | 'subject' | 'created_at', string>>;

/** The messages that wait, the oldest first. @param job null for every job */
export async function listPending({ database, files }: OutboxStore, job: string | null): Promise<readonly Pending[]> {
  return (await database.rows(files.read('mail/outbox_pending'), { job })) as unknown as readonly Pending[];
}

/** The status of each of the messages that is in the outbox, by Message-ID. */
export async function getStatuses({ database, files }: OutboxStore, messageIds: readonly string[]) {
  const rows = await database.rows(files.read('mail/outbox_status'), { message_ids: messageIds });
  return new Map(rows.map(({ message_id, status }) => [String(message_id), status as OutboxStatus]));
}

/** The result for one message. */
export interface Delivery {
  readonly recipient: string;
  readonly subject: string;
  readonly status: OutboxStatus;
  /** Why it was not sent; null where it was. */
  readonly reason: string | null;
}

interface MailSendOptions {
  readonly config: Config;
  readonly context: Pick<Context, 'clock' | 'log' | 'redactor' | 'signal'>;
  /** Sends the messages of this job only. @default all */
  readonly job?: string | undefined;
  /** Sends these messages only. @default all */
  readonly messageIds?: readonly string[] | undefined;
  readonly timeouts?: MailTimeouts;
}

/**
 * Sends the pending messages of the outbox, in the working copy of the warehouse. Each message is marked before and after its delivery,
 * so that a crash in between repeats it with the same Message-ID (at least once). A message that the server rejects stays pending,
 * unless the server rejects its recipient permanently.
 */
export async function sendFromOutbox(store: OutboxStore, options: MailSendOptions): Promise<readonly Delivery[]> {
  const { config, context, job = null, messageIds, timeouts = TIMEOUTS } = options;
  const all = await listPending(store, job);
  const pending = all.filter(({ message_id }) => messageIds?.includes(message_id) ?? true);
  if (pending.length === 0) return [];
  const settings = resolveMailSettings(config);
  const transport = openTransport({ ...settings, timeouts });
  const attempt = async ({ message_id }: Pending): Promise<SendResult> => {
    const [row] = await store.database.rows(store.files.read('mail/outbox_content'), { message_id });
    const mail = await toMailOptions(row?.content as unknown as Message, settings.sender, config.output).catch(
      takeUnreadable,
    );
    store.assertHeld?.();
    if (mail instanceof Error) return { status: 'pending', reason: describeReason(mail, context.redactor) };
    await markSending(store, message_id, context.clock.now());
    return deliver(transport, mail, timeouts.messageMs, context.redactor);
  };
  return sendAll(store, context, pending, attempt).finally(() => transport.close());
}

/** An older digest is outdated and is not sent any more. */
const MAX_PENDING_DAYS = 7;

/** One message may cause a connection failure; after two in a row the server counts as unavailable, and gets no more. */
const MAX_CONSECUTIVE_FAILURES = 2;

interface SendResult extends Pick<Delivery, 'status' | 'reason'> {
  /** Whether the connection or the login failed, which affects further messages too. */
  readonly isServerFailure?: boolean;
}

async function sendAll(
  { database, files }: OutboxStore,
  { clock, log, signal }: MailSendOptions['context'],
  pending: readonly Pending[],
  attempt: (message: Pending) => Promise<SendResult>,
): Promise<readonly Delivery[]> {
  const deliveries: Delivery[] = [];
  let failures: SendResult[] = [];
  const untried: string[] = [];
  for (const message of pending) {
    const { message_id, run_id, recipient, subject } = message;
    const unsent = explainUnsent(message, clock.now(), signal) ?? failures[MAX_CONSECUTIVE_FAILURES - 1];
    const result = unsent ?? (await attempt(message));
    const { status, reason } = result;
    if (unsent === undefined) failures = result.isServerFailure ? [...failures, result] : [];
    if (unsent !== undefined && status === 'pending') untried.push(message_id);
    else
      await database.run(files.read('mail/outbox_end'), { message_id, status, reason, now: clock.now().toISOString() });
    deliveries.push({ recipient, subject, status, reason });
    if (status === 'sent') log.info(`mail to ${recipient}: sent: ${subject}`);
    else log.warn(`mail to ${recipient}: ${status}: ${reason} (digest of run ${run_id})`);
  }
  const { reason = null } = deliveries.findLast(({ status }) => status === 'pending') ?? {};
  if (untried.length > 0) await database.run(files.read('mail/outbox_untried'), { message_ids: untried, reason });
  if (reason !== null)
    log.warn('mail that is pending is sent by the next run of a job, or by `tidemark mail --pending`');
  return deliveries;
}

/** Why a message is not sent, whether or not there is a server: without one, the outbox would keep all mail. */
function explainUnsent({ created_at }: Pending, now: Date, signal: AbortSignal): SendResult | undefined {
  if (now.getTime() - Date.parse(created_at) > MAX_PENDING_DAYS * DAY_MS)
    return { status: 'refused', reason: `not sent within ${MAX_PENDING_DAYS} days` };
  return signal.aborted ? { status: 'pending', reason: 'stopped before it was sent' } : undefined;
}

/** Records that a delivery begins. If no result follows, it is unknown whether the server accepted the mail. */
export async function markSending({ database, files }: OutboxStore, messageId: string, now: Date): Promise<void> {
  await database.run(files.read('mail/outbox_begin'), { message_id: messageId, now: now.toISOString() });
}

/** nodemailer's codes for failures of the connection or the login. */
const SERVER_FAILURE = /^E(?:CONNECTION|TIMEDOUT|DNS|SOCKET|TLS|REQUIRETLS|AUTH|NOAUTH|PROTOCOL)$/u;

/** The answer to a recipient is about the sender, which must log in (530), or may not relay (RFC 3463: 5.7 is security and policy). */
const isAboutSender = (responseCode: number, reason: string) =>
  responseCode === 530 || new RegExp(` ${responseCode}[ -]5\\.7\\.\\d`, 'u').test(reason);

type SmtpError = Readonly<{ code?: string; command?: string; responseCode?: number }>;

/** One line, as the outbox has it. */
function describeReason(error: unknown, redactor: Context['redactor']): string {
  return redactor.text(errorMessage(error).replaceAll(/\s+/gu, ' ').trim()).slice(0, 300);
}

/** For `catch`: a page that cannot be read is the failure of one message alone. */
function takeUnreadable(error: NodeJS.ErrnoException): Error {
  if (error.syscall === undefined) throw error;
  return error;
}

async function deliver(
  transport: Transporter,
  mail: SendMailOptions,
  limitMs: number,
  redactor: Context['redactor'],
): Promise<SendResult> {
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(), limitMs);
  try {
    await transport.sendMail({ ...mail, signal: limit.signal });
    return { status: 'sent', reason: null };
  } catch (error) {
    if (limit.signal.aborted) {
      const reason = `the server did not take it within ${formatSeconds(limitMs)}`;
      return { status: 'pending', reason, isServerFailure: true };
    }
    const { code = '', command, responseCode = 0 } = error as SmtpError;
    const reason = describeReason(error, redactor);
    const isRecipientRejected =
      code === 'EENVELOPE' && command === 'RCPT TO' && responseCode >= 500 && !isAboutSender(responseCode, reason);
    const status = isRecipientRejected ? 'refused' : 'pending';
    return { status, reason, isServerFailure: SERVER_FAILURE.test(code) };
  } finally {
    clearTimeout(timer);
  }
}
