import { HOSTILE_TEXTS } from '../forge.ts';
import { endAllocation } from './allocations.ts';
import type { Night } from './nights.ts';
import { ANONYMOUS_READ, ANONYMOUS_WRITE, ANONYMOUS_WRITE_JSON } from './policy-estate.ts';
import { isRunning, isTerminal, nextIndex, type SchedulerState, type Volume, volumeKey } from './state.ts';
import { addExternal, EBS, externalOf, GIB, HEX, volumesOf } from './storage.ts';
import { BACKUP_NIGHTS, SICK_VOLUME, STOPPED_BACKUP } from './volume-plans.ts';

function firstVolume({ volumes }: SchedulerState, fits: (volume: Volume) => boolean): Volume | undefined {
  return [...volumes.values()].find(fits);
}

const ordinary = ({ id }: Volume): boolean => /-data-\d+$/.test(id);

const named = (state: SchedulerState, id: string): Volume | undefined =>
  firstVolume(state, (volume) => volume.id === id);
const lastOrdinary = (state: SchedulerState): Volume | undefined => [...state.volumes.values()].filter(ordinary).at(-1);

/** A node dies: the allocations of one volume are lost, and their claims stay. */
function loseNode({ world: { state }, now }: Night): void {
  const allocationsOf = ({ claims }: Volume) => claims.map(({ allocationId }) => state.allocations.get(allocationId));
  const victim = firstVolume(state, (volume) => ordinary(volume) && allocationsOf(volume).some(isRunning));
  for (const allocation of victim ? allocationsOf(victim) : []) {
    if (allocation && isRunning(allocation)) endAllocation(state, allocation, 'lost', now);
  }
}

function releaseLostClaims({ world: { state } }: Night): void {
  const ended = ({ claims }: Volume) =>
    claims.length > 0 && claims.every(({ allocationId }) => isTerminal(state.allocations.get(allocationId)));
  const released = firstVolume(state, ended);
  if (released) Object.assign(released, { claims: [], modifyIndex: nextIndex(state) });
}

function setHealth(state: SchedulerState, volume: Volume | undefined, healthy: boolean): void {
  if (!volume) return;
  const controllersHealthy = healthy ? volume.controllersExpected : 0;
  Object.assign(volume, { schedulable: healthy, controllersHealthy, modifyIndex: nextIndex(state) });
}

function loseController({ world: { state } }: Night): void {
  setHealth(
    state,
    firstVolume(state, (volume) => ordinary(volume) && volume.schedulable && volume.claims.length > 0),
    false,
  );
  setHealth(
    state,
    firstVolume(state, ({ schedulable }) => !schedulable),
    true,
  );
}

function swapControllers({ world: { state } }: Night): void {
  setHealth(
    state,
    firstVolume(state, ({ schedulable }) => !schedulable),
    true,
  );
  setHealth(state, named(state, SICK_VOLUME), false);
}

/** Somebody deletes a volume in the provider's console. */
function loseExternal({ world: { state } }: Night): void {
  const victim = firstVolume(
    state,
    (volume) => ordinary(volume) && volume.claims.length === 0 && !!externalOf(state, volume),
  );
  if (victim) state.plugins.get(victim.pluginId)?.externals.delete(victim.externalId);
}

/** The scheduler forgets a volume that is missing; its snapshots stay, of a volume that is gone. */
function deregisterMissing({ world: { state } }: Night): void {
  const missing = firstVolume(state, (volume) => volume.claims.length === 0 && !externalOf(state, volume));
  if (missing) state.volumes.delete(volumeKey(missing.namespace, missing.id));
}

function addOrphan({ world: { state }, random }: Night): void {
  const plugin = state.plugins.get(HEX);
  if (plugin) addExternal(plugin, random, BigInt(random.int(1, 90)) * GIB);
}

function dropOrphan({ world: { state } }: Night): void {
  const plugin = state.plugins.get(HEX);
  const orphan = [...(plugin?.externals.keys() ?? [])].find((id) => volumesOf(state, HEX, id).length === 0);
  if (orphan !== undefined) plugin?.externals.delete(orphan);
}

function markAbnormal({ world: { state } }: Night): void {
  const victim = firstVolume(state, (volume) => ordinary(volume) && !!externalOf(state, volume));
  const external = victim && externalOf(state, victim);
  if (external) Object.assign(external, { abnormal: true, status: `impaired: ${HOSTILE_TEXTS[0]}` });
}

function healAbnormal({ world: { state } }: Night): void {
  for (const plugin of state.plugins.values()) {
    const external = [...plugin.externals.values()].find(({ abnormal }) => abnormal);
    if (external) Object.assign(external, { abnormal: false, status: '' });
  }
}

function setAnonymous({ world: { state } }: Night, rules: string): void {
  const policy = state.policies.get('anonymous');
  if (policy) Object.assign(policy, { rules, modifyIndex: nextIndex(state) });
}

/** Takes one volume out of the round of backups, or back in from the next night on. */
function setBackup({ world: { state }, night }: Night, volume: Volume | undefined, backedUp: boolean): void {
  if (!volume) return;
  volume.backupSlot = backedUp ? BACKUP_NIGHTS - 1 - (night % BACKUP_NIGHTS) : null;
  volume.modifyIndex = nextIndex(state);
}

function dropStaleSnapshots({ world: { state } }: Night): void {
  const snapshots = state.plugins.get(EBS)?.snapshots;
  const oldest = [...(snapshots?.values() ?? [])].sort((a, b) => a.createdAt.getTime() - b.createdAt.getTime());
  for (const { id } of oldest.slice(0, 2)) snapshots?.delete(id);
}

/** What happens besides routine, by night of a fortnight. */
export const EVENTS: Readonly<Record<number, (night: Night) => void>> = {
  0: (night) => setAnonymous(night, ANONYMOUS_WRITE),
  1: loseNode,
  2: loseController,
  3: loseExternal,
  4: addOrphan,
  5: (night) => {
    markAbnormal(night);
    setBackup(night, lastOrdinary(night.world.state), false);
  },
  6: (night) => {
    setAnonymous(night, ANONYMOUS_READ);
    releaseLostClaims(night);
  },
  7: swapControllers,
  8: deregisterMissing,
  9: (night) => {
    setAnonymous(night, ANONYMOUS_WRITE_JSON);
    dropStaleSnapshots(night);
  },
  10: (night) => {
    setBackup(night, named(night.world.state, STOPPED_BACKUP), true);
    healAbnormal(night);
  },
  11: loseNode,
  12: dropOrphan,
  13: (night) => setBackup(night, lastOrdinary(night.world.state), true),
};
