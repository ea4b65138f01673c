import { DAY_MS, HOUR_MS } from '../../src/core/clock.ts';
import type { Random } from '../random.ts';
import { GIB } from './estate.ts';
import { addExternal, addSnapshot, EBS, HEX, type StoragePlugin } from './plugins.ts';
import { BACKUP_DAYS, type SchedulerRecords } from './seed.ts';
import type { VolumeRecord } from './volumes.ts';

const SNAPSHOTS_KEPT = 4;
/** Backups do not delete snapshots older than this: whoever created them must. */
const PRUNED_DAYS = 60;
/** Share of the claims whose application is redeployed in a day. */
const REDEPLOYED_SHARE = 0.03;

/** Advances all records to the given day. */
export function tickScheduler(tick: Tick): void {
  for (const plugin of tick.plugins.records.values()) completeSnapshots(plugin, tick.now);
  for (const volume of tick.volumes.records.values()) {
    backUp(tick, volume);
    redeploy(tick, volume);
  }
  const today = tick.day % 14;
  const rules = tick.estate.anonymousRules[today];
  if (rules !== undefined) setAnonymous(tick, rules);
  MUTATIONS[today]?.(tick);
  collectGarbage(tick);
}

/** Snapshots of the last day become ready. Those that a plan calls unready are older than day 0 and remain so. */
function completeSnapshots(plugin: StoragePlugin, now: Date): void {
  for (const snapshot of plugin.snapshots.values()) {
    if (!snapshot.ready && now.getTime() - snapshot.createdAt.getTime() <= DAY_MS) snapshot.ready = true;
  }
}

function backUp({ plugins, volumes, day, now, random }: Tick, volume: VolumeRecord): void {
  const plugin = plugins.records.get(volume.pluginId);
  const external = volumes.external(volume);
  if (!plugin || !external || volume.backupSlot === null || (day + volume.backupSlot) % BACKUP_DAYS !== 0) return;
  addSnapshot(plugin, random, external, new Date(now.getTime() - random.int(20, 90) * 60_000));
  pruneSnapshots(plugin, external.id, now);
}

function pruneSnapshots(plugin: StoragePlugin, sourceId: string, now: Date): void {
  const prunable = [...plugin.snapshots.values()]
    .filter((snapshot) => snapshot.sourceId === sourceId)
    .filter(({ createdAt }) => now.getTime() - createdAt.getTime() < PRUNED_DAYS * DAY_MS)
    .sort((a, b) => b.createdAt.getTime() - a.createdAt.getTime());
  for (const { id } of prunable.slice(SNAPSHOTS_KEPT)) plugin.snapshots.delete(id);
}

/** Some applications are redeployed: the old allocation completes, and a new one takes over its claim. */
function redeploy({ allocations, now, random }: Tick, volume: VolumeRecord): void {
  for (const claim of [...volume.claims]) {
    const old = allocations.records.get(claim.allocationId);
    if (!old || !allocations.isRunning(old.id) || !random.chance(REDEPLOYED_SHARE)) continue;
    const at = new Date(now.getTime() - random.int(1, 20) * HOUR_MS);
    allocations.end(old, 'complete', at);
    volume.claims = volume.claims.filter((kept) => kept !== claim);
    const next = allocations.start(random, volume, claim.mode, at);
    next.previousAllocation = old.id;
  }
}

/** The servers delete allocations that no longer hold a claim. */
function collectGarbage({ volumes, allocations }: Tick): void {
  const claimed = new Set(
    [...volumes.records.values()].flatMap(({ claims }) => claims.map(({ allocationId }) => allocationId)),
  );
  for (const id of [...allocations.records.keys()]) if (!claimed.has(id)) allocations.records.delete(id);
}

/** One day of the scheduler. */
interface Tick extends SchedulerRecords {
  readonly day: number;
  readonly now: Date;
  readonly random: Random;
}

/** The mutations besides routine, by day of a fortnight. */
const MUTATIONS: Readonly<Record<number, (tick: Tick) => void>> = {
  1: loseNode,
  2: loseController,
  3: loseExternal,
  4: addOrphan,
  5: (tick) => {
    markAbnormal(tick);
    setBackup(tick, findLastOrdinary(tick), false);
  },
  6: releaseLostClaims,
  7: swapControllers,
  8: deregisterMissing,
  9: dropStaleSnapshots,
  10: (tick) => {
    setBackup(tick, findById(tick, tick.estate.stoppedBackup), true);
    healAbnormal(tick);
  },
  11: loseNode,
  12: dropOrphan,
  13: (tick) => setBackup(tick, findLastOrdinary(tick), true),
};

function findVolume({ volumes }: Tick, test: (volume: VolumeRecord) => boolean): VolumeRecord | undefined {
  return [...volumes.records.values()].find(test);
}

function findById(tick: Tick, id: string): VolumeRecord | undefined {
  return findVolume(tick, (volume) => volume.id === id);
}

/** Whether the volume is none of the special ones. */
function isOrdinary({ id }: VolumeRecord): boolean {
  return /-data-\d+$/.test(id);
}

function findLastOrdinary({ volumes }: Tick): VolumeRecord | undefined {
  return [...volumes.records.values()].filter(isOrdinary).at(-1);
}

/** A node fails: the allocations of one volume are lost, and their claims remain. */
function loseNode(tick: Tick): void {
  const { allocations, now } = tick;
  const running = ({ claims }: VolumeRecord) =>
    claims.filter(({ allocationId }) => allocations.isRunning(allocationId));
  const volume = findVolume(tick, (candidate) => isOrdinary(candidate) && running(candidate).length > 0);
  for (const { allocationId } of volume ? running(volume) : []) {
    allocations.end(allocations.records.get(allocationId)!, 'lost', now);
  }
}

function releaseLostClaims(tick: Tick): void {
  const { allocations, context } = tick;
  const volume = findVolume(
    tick,
    ({ claims }) => claims.length > 0 && claims.every(({ allocationId }) => allocations.isTerminal(allocationId)),
  );
  if (volume) Object.assign(volume, { claims: [], modifyIndex: context.nextIndex() });
}

function setHealth({ context }: Tick, volume: VolumeRecord | undefined, isHealthy: boolean): void {
  if (!volume) return;
  const controllersHealthy = isHealthy ? volume.controllersExpected : 0;
  Object.assign(volume, { schedulable: isHealthy, controllersHealthy, modifyIndex: context.nextIndex() });
}

function isUnschedulable({ schedulable }: VolumeRecord): boolean {
  return !schedulable;
}

function loseController(tick: Tick): void {
  const isVictim = (volume: VolumeRecord) => isOrdinary(volume) && volume.schedulable && volume.claims.length > 0;
  setHealth(tick, findVolume(tick, isVictim), false);
  setHealth(tick, findVolume(tick, isUnschedulable), true);
}

function swapControllers(tick: Tick): void {
  setHealth(tick, findVolume(tick, isUnschedulable), true);
  setHealth(tick, findById(tick, tick.estate.unhealthyVolume), false);
}

/** Somebody deletes a volume in the provider's console. */
function loseExternal(tick: Tick): void {
  const { plugins, volumes } = tick;
  const volume = findVolume(
    tick,
    (candidate) => isOrdinary(candidate) && candidate.claims.length === 0 && !!volumes.external(candidate),
  );
  if (volume) plugins.records.get(volume.pluginId)?.externals.delete(volume.externalId);
}

/** Somebody deregisters a missing volume; its snapshots remain without a volume. */
function deregisterMissing(tick: Tick): void {
  const { volumes } = tick;
  const missing = findVolume(tick, (volume) => volume.claims.length === 0 && !volumes.external(volume));
  if (missing) volumes.delete(missing);
}

function addOrphan({ plugins, random }: Tick): void {
  const plugin = plugins.named(HEX);
  if (plugin) addExternal(plugin, random, BigInt(random.int(1, 90)) * GIB);
}

function dropOrphan({ plugins, volumes }: Tick): void {
  const plugin = plugins.named(HEX);
  const orphan = [...(plugin?.externals.keys() ?? [])].find((id) => volumes.findByExternal(HEX, id).length === 0);
  if (orphan !== undefined) plugin?.externals.delete(orphan);
}

function markAbnormal(tick: Tick): void {
  const { volumes, estate } = tick;
  const volume = findVolume(tick, (candidate) => isOrdinary(candidate) && !!volumes.external(candidate));
  const external = volume && volumes.external(volume);
  if (external) Object.assign(external, { abnormal: true, status: estate.impairedStatus });
}

function healAbnormal({ plugins }: Tick): void {
  for (const plugin of plugins.records.values()) {
    const external = [...plugin.externals.values()].find(({ abnormal }) => abnormal);
    if (external) Object.assign(external, { abnormal: false, status: '' });
  }
}

function setAnonymous({ policies, context }: Tick, rules: string): void {
  const policy = policies.records.get('anonymous');
  if (policy) Object.assign(policy, { rules, modifyIndex: context.nextIndex() });
}

/** Removes one volume from the round of backups, or returns it to the round from the next day on. */
function setBackup({ context, day }: Tick, volume: VolumeRecord | undefined, hasBackups: boolean): void {
  if (!volume) return;
  volume.backupSlot = hasBackups ? BACKUP_DAYS - 1 - (day % BACKUP_DAYS) : null;
  volume.modifyIndex = context.nextIndex();
}

function dropStaleSnapshots({ plugins }: Tick): void {
  const snapshots = plugins.named(EBS)?.snapshots;
  const oldest = [...(snapshots?.values() ?? [])].sort((a, b) => a.createdAt.getTime() - b.createdAt.getTime());
  for (const { id } of oldest.slice(0, 2)) snapshots?.delete(id);
}
