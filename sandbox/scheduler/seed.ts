import { DAY_MS, HOUR_MS } from '../../src/core/clock.ts';
import { readEstate } from '../estate.ts';
import { daysBefore, type Random, scaleCount, uuid } from '../random.ts';
import type { ServiceOptions } from '../types.ts';
import { endAllocation, startAllocation } from './allocations.ts';
import type { SchedulerContext, Tick } from './context.ts';
import { addExternal, addPlugins, addSnapshot, CEPH, EBS, HEX, NFS, namedPlugin } from './plugins.ts';
import {
  type BackupPlan,
  type ClaimMode,
  GIB,
  type Policy,
  type PolicyPlan,
  type SchedulerEstate,
  type StoragePlugin,
  type VolumePlan,
  type VolumeRecord,
  type VolumeUse,
} from './records.ts';
import { DEFAULT_DEFINITION, findSource, setVolume } from './volumes.ts';

/** About 40 volumes, 120 snapshots and 14 policies at scale 1, over four plugins and three namespaces. */
export function seedScheduler(context: SchedulerContext, { scale, start }: ServiceOptions, random: Random): void {
  const estate = readEstate(context.estate).scheduler;
  const tick = { context, estate, day: 0, now: start, random };
  addPlugins(context);
  for (const policy of planPolicies(estate, scale)) context.policies.set(policy.name, policy);
  for (const [slot, plan] of planVolumes(estate, scaleCount(42, scale), random).entries()) {
    seedVolume(tick, plan, slot);
  }
  seedLeftovers(tick);
}

function seedVolume(tick: Tick, plan: VolumePlan, slot: number): void {
  const { context, estate, now, random } = tick;
  const plugin = namedPlugin(context, plan.plugin)!;
  const capacityBytes = plan.bytes ? BigInt(plan.bytes) : BigInt(plan.gib ?? random.int(1, 512)) * GIB;
  const external = addExternal(plugin, random, capacityBytes);
  const isLocal = plan.plugin === NFS;
  const controllers = isLocal ? 0 : 2;
  const zone = () => `eu-central-1${random.pick(['a', 'b', 'c'])}`;
  const volume = setVolume(context, {
    id: plan.id,
    namespace: plan.namespace ?? 'default',
    name: plan.name ?? plan.id,
    externalId: external.id,
    pluginId: plugin.id,
    topologies: isLocal ? [] : [{ 'topology.kubernetes.io/zone': zone(), rack: estate.rack }],
    capabilities: plan.use === 'readers' ? [SHARED, WRITER] : [WRITER],
    schedulable: plan.unschedulable !== true,
    controllersHealthy: plan.unschedulable ? 0 : controllers,
    controllersExpected: controllers,
    exhaustedAt: plan.exhausted ? daysBefore(now, 1.5) : null,
    secrets: plan.leaky ? { password: `planted-volume-secret-${random.hex(16)}` } : null,
    backupSlot: plan.backup === 'regular' ? slot % BACKUP_DAYS : null,
    definition: { ...DEFAULT_DEFINITION, Capacity: external.capacityBytes },
  });
  if (plan.abnormal !== undefined) Object.assign(external, { abnormal: true, status: plan.abnormal });
  seedClaims(tick, volume, plan.use);
  seedSnapshots(tick, plugin, volume, plan.backup);
  if (plan.missing) plugin.externals.delete(external.id);
}

const WRITER = { AccessMode: 'single-node-writer', AttachmentMode: 'file-system' };
const SHARED = { AccessMode: 'multi-node-single-writer', AttachmentMode: 'block-device' };

function seedClaims(tick: Tick, volume: VolumeRecord, use: VolumeUse): void {
  const { now, random } = tick;
  /** Between one and 60 days before. */
  const begin = (mode: ClaimMode) =>
    startAllocation(tick, volume, mode, new Date(now.getTime() - DAY_MS - random.int(0, 59 * 24) * HOUR_MS));
  const endedAt = new Date(now.getTime() - 9 * HOUR_MS);
  if (use === 'app' || use === 'mixed') begin('write');
  if (use === 'readers') for (let reader = random.int(1, 3); reader > 0; reader--) begin('read');
  if (use === 'ended')
    for (const status of ['lost', 'failed'] as const) endAllocation(tick, begin('write'), status, endedAt);
  if (use === 'mixed') endAllocation(tick, begin('write'), 'complete', endedAt);
  if (use === 'ghost') volume.claims.push({ allocationId: uuid(random), mode: 'read' });
}

/** The snapshots of a volume on day 0: the last ones of its rounds, or as the plan requires. */
function seedSnapshots({ now, random }: Tick, plugin: StoragePlugin, volume: VolumeRecord, backup: BackupPlan): void {
  const external = plugin.externals.get(volume.externalId);
  if (!external || backup === 'none') return;
  const newestDays = backup === 'stopped' ? 5 : (volume.backupSlot ?? 2);
  for (let round = 2; round >= 0; round--) {
    const at = new Date(now.getTime() - (newestDays + round * BACKUP_DAYS) * DAY_MS - random.int(20, 90) * 60_000);
    addSnapshot(plugin, random, external, at).ready = backup !== 'unready';
  }
}

/** What remains in the storage: unregistered volumes, snapshots older than 90 days, snapshots of deleted volumes. */
function seedLeftovers({ context, estate, now, random }: Tick): void {
  const ebs = namedPlugin(context, EBS)!;
  addExternal(ebs, random, 40n * GIB);
  addExternal(namedPlugin(context, HEX)!, random, 7n * GIB).status = estate.leftoverStatus;
  addExternal(namedPlugin(context, CEPH)!, random, 120n * GIB);
  const backedUp = [...context.volumes.values()].filter(({ backupSlot }) => backupSlot !== null);
  const agesDays = [87.5, 88.5, 93, 101, 140, 188, 263, 377, 512];
  for (const [index, age] of agesDays.entries()) {
    const volume = backedUp[index * 2]!;
    const source = findSource(context, volume);
    const plugin = context.plugins.get(volume.pluginId)!;
    if (source) addSnapshot(plugin, random, source, daysBefore(now, age), { tier: 'archive' });
  }
  for (const age of [12, 45, 160]) {
    const deleted = { id: `vol-0${random.hex(16)}`, capacityBytes: 64n * GIB };
    addSnapshot(ebs, random, deleted, daysBefore(now, age), { note: estate.snapshotNote });
  }
}

/** A volume with backups gets a snapshot once in so many days: always within the seven days of the rule. */
export const BACKUP_DAYS = 6;

/** The plans of `count` volumes: the special ones first, then ordinary ones. */
function planVolumes(estate: SchedulerEstate, count: number, random: Random): VolumePlan[] {
  const { volumes } = estate;
  return Array.from(
    { length: count },
    (_, slot) => volumes[slot] ?? planOrdinaryVolume(estate, slot - volumes.length, random),
  );
}

/** About a dozen ACL policies at scale 1, one of them `anonymous`. */
function planPolicies(estate: SchedulerEstate, scale: number): Policy[] {
  const { policies } = estate;
  const extra = Array.from({ length: Math.max(0, scaleCount(14, scale) - policies.length) }, (_, index) =>
    planExtraPolicy(estate, index),
  );
  return [...policies, ...extra].map(([name, description, rules, jobAcl = null], index) => {
    const createIndex = 11 + index * 3;
    return { name, description, rules, jobAcl, createIndex, modifyIndex: createIndex };
  });
}

const USES: readonly VolumeUse[] = ['app', 'app', 'app', 'readers', 'idle'];

function planOrdinaryVolume({ apps, namespaces }: SchedulerEstate, index: number, random: Random): VolumePlan {
  const [app, namespace = random.pick(namespaces), gib] = apps[index % apps.length]!;
  const id = `${app}-data-${Math.floor(index / apps.length) + 1}`;
  return { id, namespace, gib, plugin: random.pick([EBS, HEX, CEPH]), use: random.pick(USES), backup: 'regular' };
}

/** A policy that a larger estate has besides. */
function planExtraPolicy({ teams }: SchedulerEstate, index: number): PolicyPlan {
  const number = `team-${index + 1}`;
  if (teams.length === 0) return [number, `What ${number} may do`, readNamespace(number)];
  const team = teams[index % teams.length]!;
  const name = index < teams.length ? `team-${team}` : `team-${team}-${Math.floor(index / teams.length) + 1}`;
  return [name, `What the team ${team} may read`, readNamespace(team)];
}

function readNamespace(namespace: string): string {
  return `namespace "${namespace}" {\n  policy = "read"\n}\n`;
}
