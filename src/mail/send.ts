import { readFile } from 'node:fs/promises';
import type { SendMailOptions, Transporter } from 'nodemailer';
import type { Config } from '../core/config.ts';
import type { Context } from '../core/context.ts';
import { messageOf } from '../core/errors.ts';
import { withWarehouse } from '../warehouse/session.ts';
import { requireMail } from './compose.ts';
import { mailOf } from './message.ts';
import { markBegun, markEnded, type OutboxHome, type OutboxStatus, type Pending, pendingIn } from './outbox.ts';
import { type MailTimeouts, openTransport } from './transport.ts';

/** What became of a digest. */
export interface Delivery {
  readonly recipient: string;
  readonly subject: string;
  readonly status: OutboxStatus;
  /** Why it is not sent; null where it is. */
  readonly reason: string | null;
}

export interface SendOptions {
  readonly config: Config;
  readonly context: Pick<Context, 'clock' | 'log' | 'redactor' | 'signal'>;
  /** Only the digests of this job. @default all */
  readonly job?: string;
  /** Only the digests of these Message-IDs. @default all */
  readonly messageIds?: readonly string[];
  readonly timeouts?: MailTimeouts;
}

/**
 * Sends what is pending in the outbox, under the warehouse's lock, and marks it. Every mail is marked before and after: a crash in
 * between sends it again, with the same Message-ID (at least once). What a server refuses stays pending, but for a recipient that it
 * will not have.
 */
export async function sendPending(options: SendOptions): Promise<readonly Delivery[]> {
  const { config, context } = options;
  const session = { config, purpose: 'mail', now: context.clock.now(), log: context.log };
  return withWarehouse(session, (warehouse) => sendFrom(warehouse, options));
}

/** The same, in a working warehouse that is open already. */
export async function sendFrom(home: OutboxHome, options: SendOptions): Promise<readonly Delivery[]> {
  const waiting = await pendingIn(home, options.job ?? null);
  const pending = waiting.filter(({ message }) => options.messageIds?.includes(message.messageId) ?? true);
  if (pending.length === 0) return [];
  const { server, caFile } = requireMail(options.config);
  const ca = caFile === undefined ? undefined : await readFile(caFile, 'utf8');
  const { timeouts } = options;
  const transport = openTransport({ server, ...(timeouts && { timeouts }), ...(ca !== undefined && { ca }) });
  try {
    return await sendAll(home, options, transport, pending);
  } finally {
    transport.close();
  }
}

async function sendAll(
  home: OutboxHome,
  options: SendOptions,
  transport: Transporter,
  pending: readonly Pending[],
): Promise<readonly Delivery[]> {
  const { clock, log, signal } = options.context;
  const deliveries: Delivery[] = [];
  let failuresInRow = 0;
  for (const one of pending) {
    const { message } = one;
    const stop = whyStop(signal, failuresInRow, deliveries);
    const end = stop ?? (await sendOne(home, options, transport, one));
    failuresInRow = end.serverFailed ? failuresInRow + 1 : 0;
    await markEnded(home, message.messageId, { ...end, now: clock.now() });
    deliveries.push({
      recipient: message.to.address,
      subject: message.subject,
      status: end.status,
      reason: end.reason,
    });
  }
  for (const delivery of deliveries) tell(log, delivery);
  return deliveries;
}

/** One failure may be the mail's own fault, such as a connection cut over it; after two in a row there is no server. */
const MOST_FAILURES_IN_ROW = 2;

/** Why the rest is not even tried. */
function whyStop(signal: AbortSignal, failuresInRow: number, deliveries: readonly Delivery[]): End | undefined {
  if (signal.aborted) return { status: 'pending', reason: 'stopped before it was sent' };
  if (failuresInRow < MOST_FAILURES_IN_ROW) return undefined;
  return { status: 'pending', reason: deliveries.at(-1)?.reason ?? null, serverFailed: true };
}

interface End {
  readonly status: OutboxStatus;
  readonly reason: string | null;
  /** Whether it is the connection or the login that fails, which the others may meet as well. */
  readonly serverFailed?: boolean;
}

/** News of last week are no news. */
const MOST_PENDING_DAYS = 7;

async function sendOne(
  home: OutboxHome,
  { config, context }: SendOptions,
  transport: Transporter,
  { message, createdAt }: Pending,
): Promise<End> {
  const now = context.clock.now();
  if (now.getTime() - Date.parse(createdAt) > MOST_PENDING_DAYS * 24 * 60 * 60_000) {
    return { status: 'refused', reason: `not sent within ${MOST_PENDING_DAYS} days` };
  }
  const { sender } = requireMail(config);
  const mail = await mailOf(message, sender, config.output);
  await markBegun(home, message.messageId, now);
  return handOver(transport, mail, (text) => context.redactor.text(text));
}

/** Failures of the connection or the login: every further mail would meet them. */
const SERVER_FAILURES = new Set([
  'ECONNECTION',
  'ETIMEDOUT',
  'EDNS',
  'ESOCKET',
  'ETLS',
  'EREQUIRETLS',
  'EAUTH',
  'ENOAUTH',
  'EPROTOCOL',
]);

async function handOver(
  transport: Transporter,
  mail: SendMailOptions,
  redacted: (text: string) => string,
): Promise<End> {
  try {
    await transport.sendMail(mail);
    return { status: 'sent', reason: null };
  } catch (error) {
    const { code, command, responseCode } = error as { code?: string; command?: string; responseCode?: number };
    const reason = redacted(messageOf(error).replaceAll(/\s+/gu, ' ').trim()).slice(0, 300);
    const unwanted = code === 'EENVELOPE' && command === 'RCPT TO' && (responseCode ?? 0) >= 500;
    return {
      status: unwanted ? 'refused' : 'pending',
      reason,
      serverFailed: SERVER_FAILURES.has(code ?? ''),
    };
  }
}

function tell(log: Context['log'], { recipient, subject, status, reason }: Delivery): void {
  if (status === 'sent') log.info(`mail to ${recipient}: sent: ${subject}`);
  else log.warn(`mail to ${recipient}: ${status}: ${reason}`);
}
