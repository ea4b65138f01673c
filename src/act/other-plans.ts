import type { Config } from '../config/config.ts';
import { canonicalJson } from '../core/canonical-json.ts';
import { DAY_MS } from '../core/clock.ts';
import type { JsonValue } from './define.ts';
import {
  type ActionKey,
  type ActionOutcome,
  identifyRequest,
  isUnsettled,
  type LedgerEntries,
  type LedgerEntry,
  type LedgerRequest,
} from './ledger.ts';
import { type Action, findingIds, type Plan } from './plan-file.ts';
import { readKeptAction } from './plan-store.ts';

/** After this time, a pull shows the effect of an action. */
const BLOCKING_MS = DAY_MS;

/** An action that may still take effect, so that no plan may repeat it. */
export interface UnsettledAction {
  readonly entry: LedgerEntry;
  readonly findingIds: readonly string[];
  /** As canonical JSON; undefined where there is none, or its plan is not kept. */
  readonly body: string | undefined;
}

/** The actions of the last 24 hours whose outcome is not known. */
export async function findUnsettledActions(
  config: Pick<Config, 'data'>,
  entries: LedgerEntries,
  now: Date,
): Promise<readonly UnsettledAction[]> {
  const recent = [...entries.values()].filter(
    (entry) => isUnsettled(entry) && now.getTime() - Date.parse(entry.started_at) < BLOCKING_MS,
  );
  return Promise.all(
    recent.map(async (entry) => {
      const kept = await readKeptAction(config, entry);
      if (!kept) return { entry, findingIds: [entry.finding_id], body: undefined };
      return { entry, findingIds: findingIds(kept.action), body: canonicalJson(kept.action.body) };
    }),
  );
}

/** The unsettled action of another plan that an action would repeat. The body may differ where both are for the same finding. */
export function findRepeated(
  action: Action,
  planId: string,
  unsettled: readonly UnsettledAction[],
): UnsettledAction | undefined {
  const ids = findingIds(action);
  const request = identifyRequest(action);
  return unsettled
    .filter(({ entry }) => entry.plan_id !== planId && identifyRequest(entry) === request)
    .find(
      ({ body, findingIds: others }) => body === canonicalJson(action.body) || others.some((id) => ids.includes(id)),
    );
}

/** What other plans applied since a plan was made. */
export function listDoneElsewhere(
  { plan_id, created_at }: Pick<Plan, 'plan_id' | 'created_at'>,
  entries: LedgerEntries,
): readonly ActionOutcome[] {
  return [...entries.values()].filter(
    (row): row is ActionOutcome =>
      row.event === 'outcome' && row.status === 'applied' && row.plan_id !== plan_id && row.finished_at >= created_at,
  );
}

/**
 * The action of another plan that did what an action would do, as the subject shows: it is as wanted, or as the other one left it.
 * @param observed the state of a subject that is not as wanted
 */
export function findSame(
  action: LedgerRequest & Pick<Action, 'finding_id' | 'finding_ids'>,
  done: readonly ActionOutcome[],
  observed?: JsonValue,
): ActionOutcome | undefined {
  const same = done.filter((row) => identifyRequest(row) === identifyRequest(action));
  return same.findLast(
    ({ finding_id, after }) =>
      observed === undefined ||
      (findingIds(action).includes(finding_id) && canonicalJson(after) === canonicalJson(observed)),
  );
}

export function explainUnsettled({ plan_id, action_id }: ActionKey): string {
  return `${action_id} of plan ${plan_id} is unconfirmed: run \`tidemark playbook ledger --settle\``;
}
