import { randomUUID } from 'node:crypto';
import type { Config, Target } from '../config/config.ts';
import { canonicalJson } from '../core/canonical-json.ts';
import { catchKnown, formatError, TidemarkError } from '../core/errors.ts';
import { valueAt } from '../core/json-path.ts';
import { stripControls } from '../core/log.ts';
import { type OpenWarehouse, type Warehouse, withPublished, withWarehouse } from '../warehouse/session.ts';
import type { Action, Plan, PlanTarget } from './plan-file.ts';
import type { Acting, RemoteServices } from './remote.ts';

/** What a plan is of: its warehouse, and its targets as the configuration names them and as their services say they are. */

export async function describeTargets(names: ReadonlySet<string>, { targets }: Config, remote: RemoteServices) {
  const used = targets.filter(({ name }) => names.has(name));
  return Promise.all(
    used.map(async (target) => ({ ...configured(target), identity: await remote.identify(target.name) })),
  );
}

function configured({ name, kind, url, organization, namespace, mounts }: Target): Omit<PlanTarget, 'identity'> {
  const { keymgmt, mesh } = mounts;
  const paths = { keymgmt, mesh: typeof mesh === 'string' ? mesh : [...mesh] };
  return { name, kind, url, organization: organization ?? null, namespace: namespace ?? null, mounts: paths };
}

/**
 * Verifies that the targets of a plan are the installations that it was made on. Nothing is asked where the configuration differs.
 * @param asked the only target whose service is asked. @default all
 * @throws TidemarkError UNSAFE; ServiceError where a service cannot say what it is.
 */
export async function assertSameInstallations(plan: Plan, { targets }: Config, remote: RemoteServices, asked?: string) {
  const described = assertNamesTargets(plan);
  for (const { identity: _, ...then } of described) {
    const target = targets.find(({ name }) => name === then.name);
    if (!target) {
      throw new TidemarkError('UNSAFE', `target ${then.name} of plan ${plan.plan_id} is not configured`, {
        hint: 'configure it, or plan again',
      });
    }
    assertSameFields(plan, then.name, then, configured(target));
  }
  for (const { name, identity } of described) {
    if (identity !== null && name === (asked ?? name))
      assertSameFields(plan, name, identity, (await remote.identify(name)) ?? {});
  }
}

interface ActedOn extends Pick<Acting, 'config'> {
  readonly plan: Plan;
  readonly remote: RemoteServices;
  readonly action: Pick<Action, 'target'>;
}

/** Which other installation than that of the plan answers for the target of an action, or why that is not known; undefined for the same. */
export async function explainOther({ plan, config, remote, action }: ActedOn): Promise<string | undefined> {
  const error = await assertSameInstallations(plan, config, remote, action.target).catch(catchKnown);
  return error instanceof TidemarkError ? formatError(error) : undefined;
}

/** @throws TidemarkError UNSAFE for a plan of version 0.1, or with an action on a target that it does not describe. */
export function assertNamesTargets({ plan_id, targets, actions }: Plan): readonly PlanTarget[] {
  if (targets && actions.every(({ target }) => targets.some(({ name }) => name === target))) return targets;
  throw new TidemarkError('UNSAFE', `plan ${plan_id} does not say which installation it was made for`, {
    hint: 'it is of an earlier version of tidemark, or was changed: plan again, or undo by hand what it did',
  });
}

/** @throws TidemarkError UNSAFE for a plan that was made from another warehouse. */
export async function assertSameWarehouse({ plan_id, warehouse_id }: Plan, config: Config): Promise<void> {
  if ((await withPublished(config, findWarehouseId)) === warehouse_id) return;
  throw new TidemarkError('UNSAFE', `plan ${plan_id} was made from another warehouse than ${config.data}`, {
    hint: 'name its configuration with --config, or make a new plan',
  });
}

function assertSameFields({ plan_id }: Plan, name: string, then: object, now: object): void {
  const shown = (value: unknown) =>
    value === null ? 'not known' : stripControls(typeof value === 'string' ? value : JSON.stringify(value));
  for (const [field, value] of Object.entries(then)) {
    const present = valueAt(now, field) ?? null;
    if (canonicalJson(value) === canonicalJson(present)) continue;
    throw new TidemarkError(
      'UNSAFE',
      `plan ${plan_id} was made for another installation of target ${name}: its ${field} was ${shown(value)} and is ${shown(present)}`,
      { hint: 'check the configuration, or plan again' },
    );
  }
}

/** The ID of the published warehouse: one that only `tidemark pull` has written gets it under the lock. */
export async function identifyPublished({ config, context: { log, clock } }: Acting): Promise<string> {
  const known = await withPublished(config, findWarehouseId);
  return known ?? withWarehouse({ config, purpose: 'playbook', now: clock.now(), log }, ensureWarehouseId);
}

/** The ID of a warehouse, which gets one if it has none. */
export async function ensureWarehouseId(warehouse: Warehouse): Promise<string> {
  const sql = warehouse.files.read('remediation/set_warehouse_id');
  await warehouse.database.run(sql, { warehouse_id: randomUUID() });
  return String(await findWarehouseId(warehouse));
}

async function findWarehouseId({ database, files }: OpenWarehouse): Promise<string | undefined> {
  const [row] = await database.rows(files.read('remediation/warehouse_id'));
  return row ? String(row.warehouse_id) : undefined;
}
