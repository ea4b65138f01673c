import { DAY_MS, HOUR_MS } from '../../core/duration.ts';
import { MUTATIONS, type Tick } from './mutations.ts';
import { addSnapshot, type StoragePlugin } from './plugins.ts';
import { BACKUP_DAYS } from './seed-data.ts';
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
  MUTATIONS[tick.day % 14]?.(tick);
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
