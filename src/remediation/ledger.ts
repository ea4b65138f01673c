import { type FileHandle, open, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { TidemarkError } from '../core/errors.ts';
import { makeFolder, PRIVATE_FILE, syncFolder } from '../core/fs.ts';
import { plural } from '../core/plural.ts';
import type { Lock } from '../warehouse/lock.ts';
import type { JsonValue } from './define.ts';

const ACTION_STATUSES = ['applied', 'skipped', 'failed', 'unconfirmed'] as const;
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
  /** How the service answered an action whose outcome was read: `ambiguous` is a 5xx, a reset or a time-out. */
  answer: z.enum(['accepted', 'ambiguous']).optional(),
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

/** Whether an earlier apply left it open whether the action took effect. */
export function isUnsettled(entry: LedgerEntry): boolean {
  return entry.isOpen || entry.row.status === 'unconfirmed';
}

/** The lock of an apply, as far as the ledger needs it. */
type LedgerLock = Pick<Lock, 'assertHeld' | 'assertUnpaused'>;

type ActionKey = Pick<ActionIntent, 'plan_id' | 'action_id'>;

/** The append-only record of every intent and outcome, open for writing. A record is on disk when its call returns. */
export class Ledger {
  readonly #handle: FileHandle;
  readonly #entries: Map<string, LedgerEntry>;
  readonly #lock: LedgerLock;

  private constructor(handle: FileHandle, entries: Map<string, LedgerEntry>, lock: LedgerLock) {
    this.#handle = handle;
    this.#entries = entries;
    this.#lock = lock;
  }

  /**
   * Opens the ledger of a data folder. Each line is written only while `lock` is held. A line that a crash cut off is marked.
   * @throws TidemarkError DATA where it is damaged, or missing although `recordedActions` were copied from it.
   */
  static async open(data: string, lock: LedgerLock, recordedActions = 0): Promise<Ledger> {
    const file = ledgerFile(data);
    await makeFolder(dirname(file));
    const text = await readText(file);
    if (text === undefined) assertNeverWritten(file, recordedActions);
    const entries = parseLedger(file, text ?? '');
    const ledger = new Ledger(await open(file, 'a', PRIVATE_FILE), entries, lock);
    if (text === undefined) await syncFolder(dirname(file));
    if (text && !text.endsWith('\n')) await ledger.#append('\n{"event":"truncated"}\n');
    return ledger;
  }

  entry(key: ActionKey): LedgerEntry | undefined {
    return this.#entries.get(toKey(key));
  }

  /** @throws LockError also if the process was paused: what the action depends on may be outdated. */
  async recordIntent(row: ActionIntent): Promise<void> {
    this.#lock.assertUnpaused();
    await this.#append(`${JSON.stringify({ event: 'intent', ...row })}\n`);
    this.#entries.set(toKey(row), { isOpen: true, row });
  }

  async recordOutcome(row: ActionOutcome): Promise<void> {
    await this.#append(`${JSON.stringify({ event: 'outcome', ...row })}\n`);
    this.#entries.set(toKey(row), { isOpen: false, row });
  }

  /** Every entry, in the order in which the actions were started. */
  entries(): readonly LedgerEntry[] {
    return [...this.#entries.values()];
  }

  close(): Promise<void> {
    return this.#handle.close();
  }

  async #append(text: string): Promise<void> {
    this.#lock.assertHeld();
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
  return [...parseLedger(file, (await readText(file)) ?? '').values()];
}

export async function isLedgerMissing(data: string): Promise<boolean> {
  return (await readText(ledgerFile(data))) === undefined;
}

/** Undefined where there is no ledger. @throws TidemarkError DATA where something else has its name. */
async function readText(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw new TidemarkError('DATA', `${file} cannot be read as a ledger (${code})`, { cause, hint: RESTORE_HINT });
  }
}

const RESTORE_HINT = 'restore the ledger from a backup: it records which actions were applied';

/** Without its ledger, an apply would repeat actions. @throws TidemarkError DATA that names the way out. */
export function assertNeverWritten(file: string, recordedActions: number): void {
  if (recordedActions === 0) return;
  throw new TidemarkError(
    'DATA',
    `${file} is missing, and the table actions has ${plural(recordedActions, 'row')} of it`,
    {
      hint: 'restore it from a backup, or write it from the table with `tidemark playbook ledger --restore`',
    },
  );
}

function toKey({ plan_id, action_id }: ActionKey): string {
  return `${plan_id} ${action_id}`;
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
        hint: RESTORE_HINT,
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

/** The text of a ledger with these rows. The copy shows only by the reason that a skipped subject is satisfied. */
export function toLedgerText(rows: readonly LedgerRow[]): string {
  const lines = rows.map(({ status, finished_at, ...row }) => {
    if (finished_at === null) return { event: 'intent', ...row, reason: null };
    const satisfied = status === 'applied' || (row.reason ?? '').startsWith(NO_CHANGE_NEEDED);
    return { event: 'outcome', ...row, status, finished_at, satisfied };
  });
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}

/** How the reason begins where an action is skipped because the subject is already as the action would leave it. */
export const NO_CHANGE_NEEDED = 'no change needed';
