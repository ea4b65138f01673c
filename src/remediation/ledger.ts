import { existsSync } from 'node:fs';
import { type FileHandle, mkdir, open, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { TidemarkError } from '../core/errors.ts';
import type { Json } from '../playbooks/step.ts';

export const STATUSES = ['applied', 'skipped', 'failed', 'unconfirmed'] as const;
export type ActionStatus = (typeof STATUSES)[number];

const json: z.ZodType<Json> = z.json();
const fields = {
  plan_id: z.string(),
  action_id: z.string(),
  playbook: z.string(),
  operation: z.string(),
  target: z.string(),
  params: z.record(z.string(), json),
  finding_id: z.string(),
  reason: z.string().nullable(),
  approved_by: z.string(),
  started_at: z.string(),
  before: json,
  after: json,
};

const outcome = z.object({
  event: z.literal('outcome'),
  ...fields,
  status: z.enum(STATUSES),
  finished_at: z.string(),
  /** The subject is as the deed leaves it, whoever did it. */
  so: z.boolean(),
});
const intent = z.object({ event: z.literal('intent'), ...fields });
/** Says that a crash cut the line before it off. */
const torn = z.object({ event: z.literal('torn') });
const line = z.discriminatedUnion('event', [intent, outcome, torn]);

export type Intent = Omit<z.infer<typeof intent>, 'event'>;
export type Outcome = Omit<z.infer<typeof outcome>, 'event'>;

/** An action as the ledger tells it last. `open`: begun, and no outcome was written. */
export type Entry = { readonly open: true; readonly row: Intent } | { readonly open: false; readonly row: Outcome };

/** The append-only file of every intent and outcome; what is said to be in it is on the disk. */
export interface Ledger {
  /** By plan and action. */
  entry(planId: string, actionId: string): Entry | undefined;
  intend(row: Intent): Promise<void>;
  conclude(row: Outcome): Promise<void>;
  close(): Promise<void>;
}

export function ledgerFile(data: string): string {
  return join(data, 'ledger.ndjson');
}

/** Opens the ledger for writing; the caller holds the lock. A line that a crash cut off is marked as such. */
export async function openLedger(data: string): Promise<Ledger> {
  const file = ledgerFile(data);
  await mkdir(dirname(file), { recursive: true });
  const isNew = !existsSync(file);
  const text = isNew ? '' : await readFile(file, 'utf8');
  const entries = entriesIn(file, text);
  const handle = await open(file, 'a');
  if (isNew) await syncFolder(dirname(file));
  if (text !== '' && !text.endsWith('\n')) await append(handle, '\n{"event":"torn"}\n');
  const keep = async (event: 'intent' | 'outcome', row: Intent | Outcome, entry: Entry) => {
    await append(handle, `${JSON.stringify({ event, ...row })}\n`);
    entries.set(keyOf(row), entry);
  };
  return {
    entry: (plan_id, action_id) => entries.get(keyOf({ plan_id, action_id })),
    intend: (row) => keep('intent', row, { open: true, row }),
    conclude: (row) => keep('outcome', row, { open: false, row }),
    close: () => handle.close(),
  };
}

/** Every action in the ledger, in the order in which they were begun. @throws TidemarkError DATA naming a damaged line. */
export async function readLedger(data: string): Promise<readonly Entry[]> {
  const file = ledgerFile(data);
  return existsSync(file) ? [...entriesIn(file, await readFile(file, 'utf8')).values()] : [];
}

function keyOf({ plan_id, action_id }: Pick<Intent, 'plan_id' | 'action_id'>): string {
  return `${plan_id} ${action_id}`;
}

async function append(handle: FileHandle, text: string): Promise<void> {
  await handle.appendFile(text);
  await handle.sync();
}

async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * A line without an end was cut off by a crash. Its intent was not acted on yet, since that waits for the disk; its outcome
 * leaves the intent open, to be found out by reading. So it may be passed over; any other damage may not.
 */
function entriesIn(file: string, text: string): Map<string, Entry> {
  const entries = new Map<string, Entry>();
  const lines = text.split('\n');
  lines.pop(); // empty after the last line's end, else the line that was cut off
  const events = lines.map((content) => line.safeParse(parsed(content)));
  for (const [index, event] of events.entries()) {
    if (events[index + 1]?.data?.event === 'torn') continue;
    if (!event.success) {
      throw new TidemarkError('DATA', `${file}:${index + 1} is damaged`, {
        hint: 'restore the ledger from a copy: it says what was done already',
      });
    }
    if (event.data.event === 'torn') continue;
    const { event: kind, ...row } = event.data;
    entries.set(keyOf(row), kind === 'intent' ? { open: true, row } : { open: false, row: row as Outcome });
  }
  return entries;
}

function parsed(content: string): unknown {
  try {
    return JSON.parse(content);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
