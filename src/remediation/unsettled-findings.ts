import type { Config } from '../config/config.ts';
import { DAY_MS } from '../core/clock.ts';
import { isUnsettled } from './execute-action.ts';
import { readLedger } from './ledger.ts';

/** After this time, a pull shows what became of the action. */
const BLOCKING_MS = DAY_MS;

/** Findings with an action whose outcome is not known yet, and why they are skipped: the action may not be repeated. */
export async function readUnsettledFindings({ data }: Config, now: Date): Promise<ReadonlyMap<string, string>> {
  const entries = (await readLedger(data)).filter(isUnsettled);
  const recent = entries.filter(({ row }) => now.getTime() - Date.parse(row.started_at) < BLOCKING_MS);
  return new Map(
    recent.map(({ row: { finding_id, plan_id, action_id } }) => [
      finding_id,
      `${action_id} of plan ${plan_id} is unconfirmed: run \`tidemark playbook ledger --settle\``,
    ]),
  );
}
