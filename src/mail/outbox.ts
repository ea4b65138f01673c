import type { Database } from '../warehouse/database.ts';
import type { SqlFiles } from '../warehouse/sql-files.ts';
import { type Composed, type ComposeOptions, composeMessages } from './compose.ts';
import type { Message } from './message.ts';

export type OutboxStatus = 'pending' | 'sent' | 'refused';

/** The working warehouse, as far as the outbox needs it. */
export interface OutboxHome {
  readonly database: Database;
  readonly files: SqlFiles;
}

/** A digest that waits to be sent. */
export interface Pending {
  readonly message: Message;
  /** When it was written, ISO 8601. */
  readonly createdAt: string;
}

/**
 * Writes the digests of a run into the outbox of the working warehouse; one that is there already stays as it is. To be called
 * within the run, under its lock, after the findings.
 */
export async function composeDigests(options: ComposeOptions): Promise<Composed> {
  const composed = await composeMessages(options);
  await writeOutbox(options, composed.messages);
  return composed;
}

export async function writeOutbox({ database, files }: OutboxHome, messages: readonly Message[]): Promise<void> {
  const sql = await files.text('mail/outbox_write');
  await database.transaction(async () => {
    for (const message of messages) {
      await database.run(sql, {
        message_id: message.messageId,
        target: message.targets,
        job: message.job,
        run_id: message.runId,
        recipient: message.to.address,
        subject: message.subject,
        created_at: message.composedAt,
        content: JSON.stringify(message),
      });
    }
  });
}

/** @param job null for every job */
export async function pendingIn({ database, files }: OutboxHome, job: string | null): Promise<readonly Pending[]> {
  const rows = await database.rows(await files.text('mail/outbox_pending'), { job });
  return rows.map(({ content, created_at }) => ({
    message: content as unknown as Message,
    createdAt: String(created_at),
  }));
}

/** Message-IDs that are in the outbox, with their status. */
export async function statesOf(
  { database, files }: OutboxHome,
  messageIds: readonly string[],
): Promise<ReadonlyMap<string, OutboxStatus>> {
  const rows = await database.rows(await files.text('mail/outbox_state'), { message_ids: messageIds });
  return new Map(rows.map(({ message_id, status }) => [String(message_id), status as OutboxStatus]));
}

export async function markBegun({ database, files }: OutboxHome, messageId: string, now: Date): Promise<void> {
  await database.run(await files.text('mail/outbox_begin'), { message_id: messageId, now: now.toISOString() });
}

export async function markEnded(
  { database, files }: OutboxHome,
  messageId: string,
  end: { readonly status: OutboxStatus; readonly reason: string | null; readonly now: Date },
): Promise<void> {
  await database.run(await files.text('mail/outbox_end'), {
    message_id: messageId,
    status: end.status,
    reason: end.reason,
    now: end.now.toISOString(),
  });
}
