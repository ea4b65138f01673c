import { join } from 'node:path';
import { catchKnown, formatError } from '../core/errors.ts';
import { warehouseFiles } from '../warehouse/publish.ts';
import { assertReadable, type Warehouse } from '../warehouse/session.ts';
import { matchDefinition } from './action-call.ts';
import type { Playbook } from './define.ts';
import { type ActionResult, settleAction, unrecorded } from './execute-action.ts';
import { identifyRequest, isUnsettled, type LedgerEntry } from './ledger.ts';
import { assertAfterLedger } from './ledger-file.ts';
import { trySyncLedger, withLedger } from './ledger-table.ts';
import type { ApplyContext } from './observe-action.ts';
import type { Plan } from './plan-file.ts';
import { readKeptPlan } from './plan-store.ts';
import { assertSameInstallations } from './plan-targets.ts';
import { ask } from './playbook-fault.ts';
import { type Acting, withServices } from './remote.ts';

interface SettleLedgerOptions extends Acting {
  readonly playbooks: readonly Playbook[];
  /** Which of them are read. */
  readonly isWanted: (entry: LedgerEntry) => boolean;
  /** The working warehouse of a run in progress, whose table is updated. @default the published one */
  readonly warehouse?: Warehouse;
}

/**
 * Reads the subject of every open or unconfirmed action again, and records the result. It changes nothing on the services.
 * @returns the actions; those that could not be settled are unconfirmed
 * @throws TidemarkError LOCKED while a plan is applied.
 */
export async function settleLedger(options: SettleLedgerOptions): Promise<readonly ActionResult[]> {
  const { config, context, warehouse } = options;
  if (!warehouse) await assertReadable(warehouseFiles(config.data).published);
  await assertAfterLedger(config.data, context.clock);
  const copy = () => trySyncLedger(options, warehouse);
  return withLedger(options, { purpose: 'playbook ledger --settle', copy }, (ledger) =>
    withServices(options, async (remote) => {
      const results: ActionResult[] = [];
      let [read, plan]: [planId?: string, plan?: Plan] = [];
      for (const entry of ledger.entries.values()) {
        const { plan_id } = entry;
        if (!isUnsettled(entry) || !options.isWanted(entry)) continue;
        if (context.signal.aborted) break;
        // The actions of a plan follow each other in the ledger: its file, which has all of them, is read once, and not for each.
        if (read !== plan_id) [read, plan] = [plan_id, await readKeptPlan(config, plan_id)];
        const result = await settleEntry(entry, plan, { remote, ledger, config, context }, options.playbooks);
        context.log.info(`${result.plan_id} ${result.action_id}: ${result.status}: ${result.reason}`);
        results.push(result);
      }
      return results;
    }),
  );
}

async function settleEntry(
  entry: LedgerEntry,
  plan: Plan | undefined,
  deps: Omit<ApplyContext, 'plan'>,
  playbooks: readonly Playbook[],
) {
  const { config, remote } = deps;
  const action = plan?.actions.find(
    (one) => one.action_id === entry.action_id && identifyRequest(one) === identifyRequest(entry),
  );
  const definition = plan && action && ask(() => matchDefinition(plan, action, playbooks));
  const unread = (reason: string) => unrecorded(entry, 'unconfirmed', reason);
  if (!plan || !action || typeof definition !== 'object') {
    return unread(`plan ${entry.plan_id} is not in ${join(config.data, 'plans')} as it was applied: check the subject`);
  }
  const error = await assertSameInstallations(plan, config, remote).catch(catchKnown);
  if (error) return unread(formatError(error));
  return settleAction({ ...deps, plan, action, definition, previous: entry }, entry);
}
