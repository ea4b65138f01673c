import { join } from 'node:path';
import { z } from 'zod';
import { canonicalJson } from '../core/canonical-json.ts';
import { DAY_MS } from '../core/clock.ts';
import { groupBy } from '../core/group-by.ts';
import type { JsonValue } from './define.ts';
import type { Action, Plan } from './plan-file.ts';

/** The lines of the ledger, the append-only file of every intent and outcome. */

const ACTION_STATUSES = ['applied', 'skipped', 'failed', 'unconfirmed'] as const;
export type ActionStatus = (typeof ACTION_STATUSES)[number];

const json: z.ZodType<JsonValue> = z.json();
/** As `Date` writes it: what blocks, settles or expires an action compares times. */
const time = z.iso.datetime();
const fields = {
  plan_id: z.string(),
  action_id: z.string(),
  playbook: z.string(),
  operation: z.string(),
  target: z.string(),
  params: z.record(z.string(), json),
  finding_id: z.string(),
  /** Set where the action answers several findings. */
  finding_ids: z.array(z.string()).optional(),
  reason: z.string().nullable(),
  approved_by: z.string(),
  started_at: time,
  before: json,
  after: json,
  /** What an undo accepts, so that no job applies the same again. */
  accepts: z.object({ finding_ids: z.array(z.string()), until: time }).optional(),
};

const intentLine = z.object({ event: z.literal('intent'), ...fields });
const outcomeLine = z.object({
  event: z.literal('outcome'),
  ...fields,
  status: z.enum(ACTION_STATUSES),
  finished_at: time,
  /** The subject is as the action leaves it, whoever changed it. */
  satisfied: z.boolean(),
  /** How the service answered an action whose outcome was read: `ambiguous` is a kill, a 5xx, a reset, a time-out or a refusal of a gateway. */
  answer: z.enum(['accepted', 'ambiguous']).optional(),
});
/** Marks the line before it as cut off by a crash. */
const truncatedLine = z.object({ event: z.literal('truncated') });
/** The first line of a ledger from which old actions were removed, with the end of the one that it replaced. */
const prunedLine = z.object({
  event: z.literal('pruned'),
  at: time,
  /** How many went. */
  actions: z.int(),
  lines: z.int(),
  digest: z.string(),
});
export const ledgerLine = z.discriminatedUnion('event', [intentLine, outcomeLine, truncatedLine, prunedLine]);
export type LedgerEvent = z.infer<typeof ledgerLine>;

export type ActionIntent = z.infer<typeof intentLine>;
export type ActionOutcome = z.infer<typeof outcomeLine>;

/** The latest record of an action: an intent where it was started, and no outcome was recorded. */
export type LedgerEntry = ActionIntent | ActionOutcome;

/** Whether an earlier apply left it open whether the action took effect. */
export function isUnsettled(entry: LedgerEntry): boolean {
  return entry.event === 'intent' || entry.status === 'unconfirmed';
}

/** After this time, a pull shows the effect of an action. */
const BLOCKING_MS = DAY_MS;

/** The actions of the last 24 hours whose outcome is not known: they may still take effect, so that no other plan may repeat them. */
export function listBlocking(entries: LedgerEntries, now: Date): readonly LedgerEntry[] {
  return [...entries.values()].filter(
    (entry) => isUnsettled(entry) && now.getTime() - Date.parse(entry.started_at) < BLOCKING_MS,
  );
}

export function explainUnsettled({ plan_id, action_id }: ActionKey): string {
  return `${action_id} of plan ${plan_id} is unconfirmed: run \`tidemark playbook ledger --settle\``;
}

/** Whether no later apply may change it. */
export function isFinal({ status }: Pick<ActionOutcome, 'status'>): boolean {
  return status === 'applied' || status === 'skipped';
}

/** The outcome of an entry, where no later apply may change it. */
export function takeFinal(entry: LedgerEntry | undefined): ActionOutcome | undefined {
  return entry?.event === 'outcome' && isFinal(entry) ? entry : undefined;
}

type Request = Pick<ActionIntent, 'operation' | 'target' | 'params'>;

/** Equal for actions that send the same request, whatever its body. */
export function identifyRequest(action: Request): string {
  return canonicalJson([action.operation, action.target, action.params]);
}

type ActionKey = Pick<ActionIntent, 'plan_id' | 'action_id'>;

export function toKey({ plan_id, action_id }: ActionKey): string {
  return `${plan_id} ${action_id}`;
}

/** The latest record of each action, in the order in which the actions were started. */
export type LedgerEntries = ReadonlyMap<string, LedgerEntry>;

/**
 * Reads the ledger once, for `findLater`: a later plan that was applied to the subject of an action. It undid the action, or did it again
 * after someone else had undone it. `undoing`: what would undo it.
 */
export function indexLater(entries: LedgerEntries) {
  const places = new Map([...entries.keys()].map((key, place) => [key, place]));
  const placeOf = (key: ActionKey) => places.get(toKey(key)) ?? -1;
  const isApplied = (entry: LedgerEntry) => takeFinal(entry)?.status === 'applied';
  const applied = groupBy([...entries.values()].filter(isApplied), identifyRequest);
  return function findLater(row: Omit<LedgerEntry, 'event'>, undoing: Request): LedgerEntry | undefined {
    // Only where the call names what the undo changes: two snapshots of one volume are created by the same call.
    const isNamed = Object.entries(row.params).every(([name, value]) => undoing.params[name] === value);
    const again = isNamed ? (applied.get(identifyRequest(row)) ?? []) : [];
    const same = applied.get(identifyRequest(undoing)) ?? [];
    return [...same, ...again.filter(({ finding_id }) => finding_id === row.finding_id)].find(
      (other) =>
        other.plan_id !== row.plan_id &&
        (other.started_at > row.started_at || (other.started_at === row.started_at && placeOf(other) > placeOf(row))), // a retry keeps its place
    );
  };
}

/** Reads the ledger once, for the plan that has changed the subject of an action since what its plan undoes. */
export function indexSinceUndone(entries: LedgerEntries, plan: Pick<Plan, 'plan_id' | 'undoes'>) {
  if (plan.undoes === undefined) return () => undefined;
  const findLater = indexLater(entries);
  const undone = [...entries.values()].filter(({ plan_id }) => plan_id === plan.undoes);
  const byFinding = groupBy(undone, ({ finding_id }) => finding_id);
  return (action: Action) =>
    byFinding
      .get(action.finding_id)
      ?.map((one) => findLater(one, action))
      .find((later) => later !== undefined && later.plan_id !== plan.plan_id);
}

export function explainLater({ plan_id }: Pick<ActionKey, 'plan_id'>): string {
  return `plan ${plan_id} has changed it since`;
}

export function ledgerFile(data: string): string {
  return join(data, 'ledger.ndjson');
}

/** An entry as `tidemark playbook ledger --json` prints it: an interrupted action has no outcome of its own. */
export type LedgerRow = Omit<LedgerEntry, 'event'> &
  Pick<ActionOutcome, 'status' | 'answer'> & { readonly finished_at: string | null };

export function toLedgerRow({ event, ...entry }: LedgerEntry): LedgerRow {
  const reason = 'interrupted: apply the plan again to find out whether it was applied';
  return 'status' in entry ? entry : { ...entry, status: 'unconfirmed', reason, finished_at: null };
}
