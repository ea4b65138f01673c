import { existsSync } from 'node:fs';
import { readdir, rename } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config/config.ts';
import { DAY_MS, HOUR_MS } from '../core/clock.ts';
import type { WorkContext } from '../core/context.ts';
import { catchKnown, TidemarkError } from '../core/errors.ts';
import { ignoreMissing } from '../core/fs.ts';
import { parseRunStart } from '../landing/store.ts';
import { acquireLock, type Lock } from '../warehouse/lock.ts';
import { isUnsettled } from './ledger.ts';
import { readLedger } from './ledger-table.ts';
import { PLAN_ID, type Plan, readPlan, writePlan } from './plan-file.ts';

/** The folder `data/plans/`, which keeps every plan under its ID. */

type DataFolder = Pick<Config, 'data'>;

export function planFile({ data }: DataFolder, planId: string): string {
  return join(data, 'plans', `${planId}.json`);
}

/** Keeps a plan, or its approvals beside those that are kept. @returns its file */
export async function keepPlan(config: DataFolder, plan: Plan): Promise<string> {
  const file = planFile(config, plan.plan_id);
  await withPlansLocked(config, async () => writePlan(file, await addKeptApprovals(config, plan)));
  return file;
}

/** Two people may approve a plan in the same moment: no other process changes it between what `work` reads and what it writes. */
export async function withPlansLocked<T>(config: DataFolder, work: () => Promise<T>): Promise<T> {
  const lock = await lockPlans(config);
  return work().finally(() => lock.release());
}

const LOCK_ATTEMPTS = 1000;
const RETRY_EVERY_MS = 10;

/** Others hold it for milliseconds. @throws TidemarkError LOCKED where it is not free within ten seconds */
async function lockPlans({ data }: DataFolder): Promise<Lock> {
  for (let left = LOCK_ATTEMPTS; ; left--) {
    const lock = await acquireLock(join(data, 'plans.lock'), 'a change of a plan').catch(catchKnown);
    if (!(lock instanceof TidemarkError)) return lock;
    if (lock.code !== 'LOCKED' || left === 0) throw lock;
    await sleep(RETRY_EVERY_MS);
  }
}

/** One person may approve a plan by its ID, and another one by a file. Of two approvals by one name, that of `plan` counts. */
export async function addKeptApprovals(config: DataFolder, plan: Plan): Promise<Plan> {
  const kept = await readKeptPlan(config, plan.plan_id);
  if (kept?.digest !== plan.digest) return plan;
  const others = kept.approvals.filter(({ by }) => plan.approvals.every((approval) => approval.by !== by));
  return { ...plan, approvals: [...plan.approvals, ...others] };
}

/**
 * Renames a file that holds a plan to `FILE.PLAN_ID`, so that nobody applies it in place of the plan that was asked for. A file with
 * anything else stays.
 * @param isKept which plans stay
 * @returns the new name; undefined where nothing was renamed
 */
export async function setPlanAside(file: string, isKept: (plan: Plan) => boolean): Promise<string | undefined> {
  const plan = await readUsablePlan(file);
  if (plan === undefined || isKept(plan)) return undefined;
  const aside = `${file}.${plan.plan_id}`;
  await rename(file, aside);
  return aside;
}

const MAX_LISTED = 5;

/**
 * A plan and its file, from its path, its ID or the beginning of its ID. A file has the approvals of the kept plan as well.
 * @throws TidemarkError USAGE where there is none or more than one, and as `readPlan`
 */
export async function findPlan(config: DataFolder, cwd: string, reference: string) {
  const file = resolve(cwd, reference);
  if (existsSync(file)) return { file, plan: await addKeptApprovals(config, await readPlan(file)) };
  const ids = PLAN_ID.test(reference) ? (await listPlanIds(config)).filter((id) => id.startsWith(reference)) : [];
  const [id, ...others] = ids;
  if (id !== undefined && (others.length === 0 || id === reference)) {
    const kept = planFile(config, id);
    return { file: kept, plan: await readPlan(kept, id) };
  }
  const problem =
    id === undefined
      ? `${reference} is neither a file nor the ID of a plan in ${join(config.data, 'plans')}`
      : `${reference} is the beginning of ${ids.length} plan IDs, such as ${ids.slice(0, MAX_LISTED).join(', ')}`;
  throw new TidemarkError('USAGE', problem, { hint: '`tidemark playbook plan` prints the ID of the plan it makes' });
}

/** The plan of an ID; undefined where it is not kept, or its file is damaged. */
export async function readKeptPlan(config: DataFolder, planId: string): Promise<Plan | undefined> {
  return PLAN_ID.test(planId) ? readUsablePlan(planFile(config, planId), planId) : undefined;
}

/** The plan of a file; undefined where the file has none that could be applied. */
async function readUsablePlan(file: string, planId?: string): Promise<Plan | undefined> {
  const plan = await readPlan(file, planId).catch(catchKnown);
  return plan instanceof TidemarkError ? undefined : plan;
}

/** The plans that are kept, oldest first. */
export async function listPlanIds({ data }: DataFolder): Promise<readonly string[]> {
  const names = (await readdir(join(data, 'plans')).catch(ignoreMissing)) ?? [];
  const ids = names.filter((name) => name.endsWith('.json')).map((name) => name.slice(0, -'.json'.length));
  return ids.filter((id) => PLAN_ID.test(id)).sort();
}

/** The files of expired plans older than `planDays`, except those with an action that is not settled. The ledger keeps what was applied. */
export async function listOldPlans(config: Config, { clock, log }: WorkContext): Promise<readonly string[]> {
  const minAgeMs = Math.max(config.planDays * DAY_MS, config.planHours * HOUR_MS);
  const old = (await listPlanIds(config)).filter((id) => {
    const createdMs = parseRunStart(id.slice('p-'.length));
    return createdMs !== undefined && clock.now().getTime() - createdMs > minAgeMs;
  });
  if (old.length === 0) return [];
  const entries = await readLedger(config).catch(catchKnown);
  if (entries instanceof TidemarkError) {
    log.warn(`plans older than \`planDays\` are kept: ${entries.message}`);
    return [];
  }
  const unsettled = new Set([...entries.values()].filter(isUnsettled).map(({ plan_id }) => plan_id));
  return old.filter((id) => !unsettled.has(id)).map((id) => planFile(config, id));
}
