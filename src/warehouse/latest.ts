import type { ReadWarehouse } from './tables.ts';

/**
 * The time of what is recorded next, as `valid_from` of a run or as that of an acceptance: now, but always later than anything in the
 * warehouse. So neither a clock that went back nor two runs within one millisecond reorder or overlap history.
 */
export async function chooseTime(warehouse: ReadWarehouse, now: Date): Promise<Date> {
  const latest = await readLatest(warehouse);
  return latest && now <= latest ? new Date(latest.getTime() + 1) : now;
}

/** The latest time of the warehouse; undefined before the first run. */
export async function readLatest({ database, files }: ReadWarehouse): Promise<Date | undefined> {
  const [row] = await database.script(files.read('warehouse/latest_run'));
  return typeof row?.latest === 'string' ? new Date(row.latest) : undefined;
}
