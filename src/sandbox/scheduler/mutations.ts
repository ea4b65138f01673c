import { HOSTILE_TEXTS } from '../fixtures.ts';
import type { Random } from '../prng.ts';
import { addExternal, EBS, HEX } from './plugins.ts';
import { GIB, type SchedulerRecords } from './seed.ts';
import {
  ANONYMOUS_READ,
  ANONYMOUS_WRITE,
  ANONYMOUS_WRITE_JSON,
  BACKUP_DAYS,
  STOPPED_BACKUP,
  UNHEALTHY_VOLUME,
} from './seed-data.ts';
import type { VolumeRecord } from './volumes.ts';

/** One day of the scheduler. */
export interface Tick extends SchedulerRecords {
  readonly day: number;
  readonly now: Date;
  readonly random: Random;
}

/** The mutations besides routine, by day of a fortnight. */
export const MUTATIONS: Readonly<Record<number, (tick: Tick) => void>> = {
  0: (tick) => setAnonymous(tick, ANONYMOUS_WRITE),
  1: loseNode,
  2: loseController,
  3: loseExternal,
  4: addOrphan,
  5: (tick) => {
    markAbnormal(tick);
    setBackup(tick, findLastOrdinary(tick), false);
  },
  6: (tick) => {
    setAnonymous(tick, ANONYMOUS_READ);
    releaseLostClaims(tick);
  },
  7: swapControllers,
  8: deregisterMissing,
  9: (tick) => {
    setAnonymous(tick, ANONYMOUS_WRITE_JSON);
    dropStaleSnapshots(tick);
  },
  10: (tick) => {
    setBackup(tick, findById(tick, STOPPED_BACKUP), true);
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
  setHealth(tick, findById(tick, UNHEALTHY_VOLUME), false);
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
  const { volumes } = tick;
  const volume = findVolume(tick, (candidate) => isOrdinary(candidate) && !!volumes.external(candidate));
  const external = volume && volumes.external(volume);
  if (external) Object.assign(external, { abnormal: true, status: `impaired: ${HOSTILE_TEXTS[0]}` });
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
