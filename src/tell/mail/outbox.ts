import type { Database } from '../../warehouse/database.ts';
import type { SqlFiles } from '../../warehouse/sql-files.ts';
import { toJsonParam } from '../../warehouse/sql-params.ts';
import type { Message } from './message.ts';

export type OutboxStatus = 'pending' | 'sent' | 'refused' | 'replaced';

/** A warehouse, as far as the outbox needs it. */
export interface OutboxStore {
  readonly database: Database;
  readonly files: SqlFiles;
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

/** The messages that wait, the oldest first. @param job null for every job */
export async function listPending({ database, files }: OutboxStore, job: string | null): Promise<readonly Message[]> {
  const rows = await database.rows(files.read('mail/outbox_pending'), { job });
  return rows.map(({ content }) => content as unknown as Message);
}

/** The status of each of the messages that is in the outbox, by Message-ID. */
export async function getStatuses(
  { database, files }: OutboxStore,
  messageIds: readonly string[],
): Promise<ReadonlyMap<string, OutboxStatus>> {
  const rows = await database.rows(files.read('mail/outbox_status'), { message_ids: messageIds });
  return new Map(rows.map(({ message_id, status }) => [String(message_id), status as OutboxStatus]));
}

/** Records that a delivery begins. If no result follows, it is unknown whether the server accepted the mail. */
export async function markSending({ database, files }: OutboxStore, messageId: string, now: Date): Promise<void> {
  await database.run(files.read('mail/outbox_begin'), { message_id: messageId, now: now.toISOString() });
}

export async function markDelivered(
  { database, files }: OutboxStore,
  messageId: string,
  { status, reason }: { readonly status: OutboxStatus; readonly reason: string | null },
  now: Date,
): Promise<void> {
  const params = { message_id: messageId, status, reason, now: now.toISOString() };
  await database.run(files.read('mail/outbox_end'), params);
}
