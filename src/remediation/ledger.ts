import { existsSync } from 'node:fs';
import { type FileHandle, mkdir, open, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import type { Config } from '../config/config.ts';
import { formatError, TidemarkError } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import type { Warehouse } from '../warehouse/session.ts';
import type { JsonValue } from './define.ts';
import { ensureWarehouseId } from './warehouse-id.ts';

export const ACTION_STATUSES = ['applied', 'skipped', 'failed', 'unconfirmed'] as const;
export type ActionStatus = (typeof ACTION_STATUSES)[number];

const json: z.ZodType<JsonValue> = z.json();
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

const intentLine = z.object({ event: z.literal('intent'), ...fields });
const outcomeLine = z.object({
  event: z.literal('outcome'),
  ...fields,
  status: z.enum(ACTION_STATUSES),
  finished_at: z.string(),
  /** The subject is as the action leaves it, whoever changed it. */
  satisfied: z.boolean(),
});
/** Marks the line before it as cut off by a crash. */
const truncatedLine = z.object({ event: z.literal('truncated') });
const ledgerLine = z.preprocess(
  renameLegacyKeys,
  z.discriminatedUnion('event', [intentLine, outcomeLine, truncatedLine]),
);

/** Version 0.1 wrote `torn` for `truncated` and `so` for `satisfied`. */
function renameLegacyKeys(line: unknown): unknown {
  if (typeof line !== 'object' || line === null) return line;
  const { event, so, ...rest } = line as Readonly<Record<string, unknown>>;
  return { event: event === 'torn' ? 'truncated' : event, ...(so !== undefined && { satisfied: so }), ...rest };
}

export type ActionIntent = Omit<z.infer<typeof intentLine>, 'event'>;
export type ActionOutcome = Omit<z.infer<typeof outcomeLine>, 'event'>;

/** The latest record of an action. `isOpen`: it was started, and no outcome was recorded. */
export type LedgerEntry =
  | { readonly isOpen: true; readonly row: ActionIntent }
  | { readonly isOpen: false; readonly row: ActionOutcome };

type ActionKey = Pick<ActionIntent, 'plan_id' | 'action_id'>;

/** The append-only record of every intent and outcome, open for writing. A record is on disk when its call returns. */
export class Ledger {
  readonly #handle: FileHandle;
  readonly #entries: Map<string, LedgerEntry>;

  private constructor(handle: FileHandle, entries: Map<string, LedgerEntry>) {
    this.#handle = handle;
    this.#entries = entries;
  }

  /** Opens the ledger of a data folder. The caller holds the lock. A line that a crash cut off is marked. */
  static async open(data: string): Promise<Ledger> {
    const file = ledgerFile(data);
    await mkdir(dirname(file), { recursive: true });
    const isNew = !existsSync(file);
    const text = isNew ? '' : await readFile(file, 'utf8');
    const entries = parseLedger(file, text);
    const ledger = new Ledger(await open(file, 'a'), entries);
    if (isNew) await syncFolder(dirname(file));
    if (text !== '' && !text.endsWith('\n')) await ledger.#append('\n{"event":"truncated"}\n');
    return ledger;
  }

  entry(key: ActionKey): LedgerEntry | undefined {
    return this.#entries.get(toKey(key));
  }

  async recordIntent(row: ActionIntent): Promise<void> {
    await this.#append(`${JSON.stringify({ event: 'intent', ...row })}\n`);
    this.#entries.set(toKey(row), { isOpen: true, row });
  }

  async recordOutcome(row: ActionOutcome): Promise<void> {
    await this.#append(`${JSON.stringify({ event: 'outcome', ...row })}\n`);
    this.#entries.set(toKey(row), { isOpen: false, row });
  }

  close(): Promise<void> {
    return this.#handle.close();
  }

  async #append(text: string): Promise<void> {
    await this.#handle.appendFile(text);
    await this.#handle.sync();
  }
}

export function ledgerFile(data: string): string {
  return join(data, 'ledger.ndjson');
}

/** The entry of every action, in the order in which they were started. @throws TidemarkError DATA naming a damaged line. */
export async function readLedger(data: string): Promise<readonly LedgerEntry[]> {
  const file = ledgerFile(data);
  return existsSync(file) ? [...parseLedger(file, await readFile(file, 'utf8')).values()] : [];
}

function toKey({ plan_id, action_id }: ActionKey): string {
  return `${plan_id} ${action_id}`;
}

/** Syncs the entry of a new file in its folder. */
async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * A line without an end was cut off by a crash, and may be skipped: nothing is sent before its intent is on disk, and an intent
 * without an outcome is resolved by reading the subject. No other damage may be skipped.
 */
function parseLedger(file: string, text: string): Map<string, LedgerEntry> {
  const entries = new Map<string, LedgerEntry>();
  const lines = text.split('\n');
  lines.pop(); // empty after a complete last line, otherwise the line that was cut off
  const events = lines.map((content) => ledgerLine.safeParse(parseJson(content)));
  for (const [index, event] of events.entries()) {
    if (events[index + 1]?.data?.event === 'truncated') continue;
    if (!event.success) {
      throw new TidemarkError('DATA', `${file}:${index + 1} is damaged`, {
        hint: 'restore the ledger from a backup: it records which actions were applied',
      });
    }
    if (event.data.event === 'truncated') continue;
    const { event: kind, ...row } = event.data;
    entries.set(toKey(row), kind === 'intent' ? { isOpen: true, row } : { isOpen: false, row: row as ActionOutcome });
  }
  return entries;
}

function parseJson(content: string): unknown {
  try {
    return JSON.parse(content);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** A row of `tidemark playbook ledger --json` and of the table `actions`. */
export interface LedgerRow {
  readonly plan_id: string;
  readonly action_id: string;
  readonly playbook: string;
  readonly operation: string;
  readonly target: string;
  readonly params: unknown;
  readonly finding_id: string;
  readonly status: ActionStatus;
  readonly reason: string | null;
  readonly approved_by: string;
  readonly started_at: string;
  readonly finished_at: string | null;
  readonly before: unknown;
  readonly after: unknown;
}

const INTERRUPTED = 'interrupted: apply the plan again to find out whether it was applied';

export function toLedgerRow(entry: LedgerEntry): LedgerRow {
  const { plan_id, action_id, playbook, operation, target, params, finding_id } = entry.row;
  const { approved_by, started_at, before, after } = entry.row;
  return {
    plan_id,
    action_id,
    playbook,
    operation,
    target,
    params,
    finding_id,
    status: entry.isOpen ? 'unconfirmed' : entry.row.status,
    reason: entry.isOpen ? INTERRUPTED : entry.row.reason,
    approved_by,
    started_at,
    finished_at: entry.isOpen ? null : entry.row.finished_at,
    before,
    after,
  };
}

/**
 * Copies the ledger to the table `actions`, and assigns an ID to a warehouse without one. Called in every run.
 * @throws TidemarkError DATA for a damaged ledger. With `log` the error is logged instead, and the table is left unchanged.
 */
export async function syncLedger(warehouse: Warehouse, { data }: Config, log?: Log): Promise<void> {
  const { database, files } = warehouse;
  await ensureWarehouseId(warehouse);
  const rows = await readRows(data, log);
  if (!rows) return;
  await database.transaction(async () => {
    await database.run(await files.read('remediation/clear_actions'));
    await database.run(await files.read('remediation/insert_actions'), { rows: JSON.stringify(rows) });
  });
}

async function readRows(data: string, log: Log | undefined): Promise<readonly LedgerRow[] | undefined> {
  try {
    return (await readLedger(data)).map(toLedgerRow);
  } catch (error) {
    if (!log || !(error instanceof TidemarkError)) throw error;
    log.warn(`the table actions was not updated: ${formatError(error)}`);
    return undefined;
  }
}
