import { DAY_MS, HOUR_MS } from '../../src/core/clock.ts';
import { readEstate } from '../estate.ts';
import { createRandom } from '../random.ts';
import { FORTNIGHT } from '../types.ts';
import { endAllocation, isRunning, isTerminal, startAllocation } from './allocations.ts';
import type { SchedulerContext, Tick } from './context.ts';
import { addExternal, addSnapshot, EBS, HEX, namedPlugin } from './plugins.ts';
import { GIB, type StoragePlugin, type VolumeRecord } from './records.ts';
import { BACKUP_DAYS } from './seed.ts';
import { deleteVolume, findByExternal, findSource } from './volumes.ts';

const SNAPSHOTS_KEPT = 4;
/** Backups do not delete snapshots older than this: whoever created them must. */
const PRUNED_DAYS = 60;
/** Share of the claims whose application is redeployed in a day. */
const REDEPLOYED_SHARE = 0.03;

/** Advances all records to the given day. */
export function tickScheduler(context: SchedulerContext, day: number, now: Date): void {
  const random = createRandom(`${context.seed}/scheduler/night/${day}`);
  const tick = { context, estate: readEstate(context.estate).scheduler, day, now, random };
  for (const plugin of context.plugins.values()) completeSnapshots(plugin, now);
  for (const volume of context.volumes.values()) {
    backUp(tick, volume);
    redeploy(tick, volume);
  }
  const today = day % FORTNIGHT;
  const rules = tick.estate.anonymousRules[today];
  const anonymous = context.policies.get('anonymous');
  if (rules !== undefined && anonymous) Object.assign(anonymous, { rules, modifyIndex: context.nextIndex() });
  MUTATIONS[today]?.(tick);
  collectGarbage(tick);
}

/** Snapshots of the last day become ready. Those that a plan calls unready are older than day 0 and remain so. */
function completeSnapshots(plugin: StoragePlugin, now: Date): void {
  for (const snapshot of plugin.snapshots.values()) {
    if (!snapshot.ready && now.getTime() - snapshot.createdAt.getTime() <= DAY_MS) snapshot.ready = true;
  }
}

function backUp({ context, day, now, random }: Tick, volume: VolumeRecord): void {
  const plugin = context.plugins.get(volume.pluginId);
  const external = findSource(context, volume);
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
function redeploy(tick: Tick, volume: VolumeRecord): void {
  const { context, now, random } = tick;
  for (const claim of [...volume.claims]) {
    const old = context.allocations.get(claim.allocationId);
    if (!old || !isRunning(context, old.id) || !random.chance(REDEPLOYED_SHARE)) continue;
    const at = new Date(now.getTime() - random.int(1, 20) * HOUR_MS);
    endAllocation(tick, old, 'complete', at);
    volume.claims = volume.claims.filter((kept) => kept !== claim);
    const next = startAllocation(tick, volume, claim.mode, at);
    next.previousAllocation = old.id;
  }
}

/** The servers delete allocations that no longer hold a claim. */
function collectGarbage({ context }: Tick): void {
  const claimed = new Set(
    [...context.volumes.values()].flatMap(({ claims }) => claims.map(({ allocationId }) => allocationId)),
  );
  for (const id of [...context.allocations.keys()]) if (!claimed.has(id)) context.allocations.delete(id);
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
    const stopped = findVolume(tick, ({ id }) => id === tick.estate.stoppedBackup);
    setBackup(tick, stopped, true);
    healAbnormal(tick);
  },
  11: loseNode,
  12: dropOrphan,
  13: (tick) => setBackup(tick, findLastOrdinary(tick), true),
};

function findVolume({ context }: Tick, test: (volume: VolumeRecord) => boolean): VolumeRecord | undefined {
  return [...context.volumes.values()].find(test);
}

/** Whether the volume is none of the special ones. */
function isOrdinary({ id }: VolumeRecord): boolean {
  return /-data-\d+$/.test(id);
}

function findLastOrdinary({ context }: Tick): VolumeRecord | undefined {
  return [...context.volumes.values()].filter(isOrdinary).at(-1);
}

/** A node fails: the allocations of one volume are lost, and their claims remain. */
function loseNode(tick: Tick): void {
  const { context, now } = tick;
  const running = ({ claims }: VolumeRecord) => claims.filter(({ allocationId }) => isRunning(context, allocationId));
  const volume = findVolume(tick, (candidate) => isOrdinary(candidate) && running(candidate).length > 0);
  for (const { allocationId } of volume ? running(volume) : []) {
    endAllocation(tick, context.allocations.get(allocationId)!, 'lost', now);
  }
}

function releaseLostClaims(tick: Tick): void {
  const { context } = tick;
  const volume = findVolume(
    tick,
    ({ claims }) => claims.length > 0 && claims.every(({ allocationId }) => isTerminal(context, allocationId)),
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
  const failing = findVolume(tick, ({ id }) => id === tick.estate.unhealthyVolume);
  setHealth(tick, failing, false);
}

/** Somebody deletes a volume in the provider's console. */
function loseExternal(tick: Tick): void {
  const { context } = tick;
  const volume = findVolume(
    tick,
    (candidate) => isOrdinary(candidate) && candidate.claims.length === 0 && !!findSource(context, candidate),
  );
  if (volume) context.plugins.get(volume.pluginId)?.externals.delete(volume.externalId);
}

/** Somebody deregisters a missing volume; its snapshots remain without a volume. */
function deregisterMissing(tick: Tick): void {
  const { context } = tick;
  const missing = findVolume(tick, (volume) => volume.claims.length === 0 && !findSource(context, volume));
  if (missing) deleteVolume(context, missing);
}

function addOrphan({ context, random }: Tick): void {
  const plugin = namedPlugin(context, HEX);
  if (plugin) addExternal(plugin, random, BigInt(random.int(1, 90)) * GIB);
}

function dropOrphan({ context }: Tick): void {
  const plugin = namedPlugin(context, HEX);
  const orphan = [...(plugin?.externals.keys() ?? [])].find((id) => findByExternal(context, HEX, id).length === 0);
  if (orphan !== undefined) plugin?.externals.delete(orphan);
}

function markAbnormal(tick: Tick): void {
  const { context, estate } = tick;
  const volume = findVolume(tick, (candidate) => isOrdinary(candidate) && !!findSource(context, candidate));
  const external = volume && findSource(context, volume);
  if (external) Object.assign(external, { abnormal: true, status: estate.impairedStatus });
}

function healAbnormal({ context }: Tick): void {
  for (const plugin of context.plugins.values()) {
    const external = [...plugin.externals.values()].find(({ abnormal }) => abnormal);
    if (external) Object.assign(external, { abnormal: false, status: '' });
  }
}

/** Removes one volume from the round of backups, or returns it to the round from the next day on. */
function setBackup({ context, day }: Tick, volume: VolumeRecord | undefined, hasBackups: boolean): void {
  if (!volume) return;
  volume.backupSlot = hasBackups ? BACKUP_DAYS - 1 - (day % BACKUP_DAYS) : null;
  volume.modifyIndex = context.nextIndex();
}

function dropStaleSnapshots({ context }: Tick): void {
  const snapshots = namedPlugin(context, EBS)?.snapshots;
  const oldest = [...(snapshots?.values() ?? [])].sort((a, b) => a.createdAt.getTime() - b.createdAt.getTime());
  for (const { id } of oldest.slice(0, 2)) snapshots?.delete(id);
}
