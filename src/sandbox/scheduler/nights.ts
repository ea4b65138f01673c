import { DAY_MS, HOUR_MS } from '../forge.ts';
import { createRandom, type Random } from '../prng.ts';
import { endAllocation, startAllocation } from './allocations.ts';
import { EVENTS } from './events.ts';
import { isRunning, type Plugin, type SchedulerWorld, type Volume } from './state.ts';
import { addSnapshot, externalOf } from './storage.ts';
import { BACKUP_NIGHTS } from './volume-plans.ts';

export interface Night {
  readonly world: SchedulerWorld;
  readonly night: number;
  readonly now: Date;
  readonly random: Random;
}

const SNAPSHOTS_KEPT = 4;
/** Snapshots past this age are no part of the round any more: whoever took them must drop them. */
const ROUND_DAYS = 60;
/** Of all claims, so many change hands in a night. */
const CHURN = 0.03;

function settleSnapshots(plugin: Plugin, now: Date): void {
  for (const snapshot of plugin.snapshots.values()) {
    // What its plan calls unready was taken before the first night and stays so.
    if (!snapshot.ready && now.getTime() - snapshot.createdAt.getTime() <= DAY_MS) snapshot.ready = true;
  }
}

function prune(plugin: Plugin, sourceId: string, now: Date): void {
  const round = [...plugin.snapshots.values()]
    .filter((snapshot) => snapshot.sourceId === sourceId)
    .filter(({ createdAt }) => now.getTime() - createdAt.getTime() < ROUND_DAYS * DAY_MS)
    .sort((a, b) => b.createdAt.getTime() - a.createdAt.getTime());
  for (const { id } of round.slice(SNAPSHOTS_KEPT)) plugin.snapshots.delete(id);
}

function backUp({ world: { state }, night, now, random }: Night, volume: Volume): void {
  const plugin = state.plugins.get(volume.pluginId);
  const external = externalOf(state, volume);
  if (!plugin || !external || volume.backupSlot === null || (night + volume.backupSlot) % BACKUP_NIGHTS !== 0) return;
  addSnapshot(plugin, random, external, new Date(now.getTime() - random.int(20, 90) * 60_000));
  prune(plugin, external.id, now);
}

/** Some applications are deployed anew: the old allocation completes and gives its claim to the next. */
function redeploy({ world: { state }, now, random }: Night, volume: Volume): void {
  for (const claim of [...volume.claims]) {
    const old = state.allocations.get(claim.allocationId);
    if (!old || !isRunning(old) || !random.chance(CHURN)) continue;
    const at = new Date(now.getTime() - random.int(1, 20) * HOUR_MS);
    endAllocation(state, old, 'complete', at);
    volume.claims = volume.claims.filter((kept) => kept !== claim);
    const next = startAllocation(state, random, volume, claim.mode, at);
    next.previousAllocation = old.id;
  }
}

/** The servers forget allocations that hold no claim any more. */
function collectGarbage({ state }: SchedulerWorld): void {
  const held = new Set([...state.volumes.values()].flatMap(({ claims }) => claims.map((claim) => claim.allocationId)));
  for (const id of [...state.allocations.keys()]) if (!held.has(id)) state.allocations.delete(id);
}

export function passSchedulerNight(world: SchedulerWorld, night: number, now: Date): void {
  const tonight: Night = { world, night, now, random: createRandom(`${world.seed}/scheduler/night/${night}`) };
  for (const plugin of world.state.plugins.values()) settleSnapshots(plugin, now);
  for (const volume of world.state.volumes.values()) {
    backUp(tonight, volume);
    redeploy(tonight, volume);
  }
  EVENTS[night % 14]?.(tonight);
  collectGarbage(world);
}
