import { createMailWarehouse, type MailWarehouse, prepareMailWarehouse } from '../helpers/mail-warehouse.ts';
import { workspace } from '../helpers/report-warehouse.ts';
import type { Cleanup } from '../helpers/temp.ts';

export const FIRST = '2026-11-18T02:15:00Z';
export const SECOND = '2026-11-19T02:15:00Z';
export const THIRD = '2026-11-20T02:15:00Z';

export const drifting = (id: string, more = {}) => workspace(id, { drifted: true, resources_drifted: 3, ...more });

/** A copy of a warehouse after two runs. */
export async function twoRuns(cleanup?: Cleanup) {
  const file = await prepareMailWarehouse('mail-of-two-runs', fillTwoRuns);
  return createMailWarehouse(undefined, file, cleanup);
}

/** A copy of a warehouse after one run that found nothing. */
export async function quietRun(cleanup?: Cleanup) {
  const file = await prepareMailWarehouse('mail-of-a-quiet-run', async (warehouse) => {
    await warehouse.pull(FIRST, { workspaces: [workspace('a')] });
    await warehouse.evaluate(FIRST);
  });
  return createMailWarehouse(undefined, file, cleanup);
}

async function fillTwoRuns(warehouse: MailWarehouse) {
  await warehouse.pull(FIRST, {
    workspaces: [drifting('a'), drifting('b'), drifting('gone'), workspace('c'), workspace('d')],
  });
  await warehouse.evaluate(FIRST);
  await warehouse.pull(SECOND, {
    workspaces: [drifting('a'), workspace('b'), drifting('c'), drifting('d'), workspace('e', { checks_failed: 2 })],
  });
  await warehouse.evaluate(SECOND);
}

/** The findings of the workspaces with these names are critical, and were so in each of their events. */
export async function makeCritical({ database }: MailWarehouse, names: readonly string[]): Promise<void> {
  const found = `(select finding_id from findings where subject_name in (${names.map((name) => `'${name}'`).join(', ')}))`;
  for (const table of ['findings', 'finding_events'])
    await database.run(`update ${table} set severity = 'critical' where finding_id in ${found}`);
}
