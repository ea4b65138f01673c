import { DAY_MS, daysBefore, HOSTILE_TEXTS, HOUR_MS, sized, uuid } from '../forge.ts';
import { createRandom, type Random } from '../prng.ts';
import { endAllocation, someTimeBefore, startAllocation } from './allocations.ts';
import type { SchedulerOptions } from './index.ts';
import { inventPolicies } from './policy-estate.ts';
import { nextIndex, type Plugin, type SchedulerState, type SchedulerWorld, type Volume, volumeKey } from './state.ts';
import { addExternal, addSnapshot, CEPH, EBS, externalOf, GIB, HEX, inventPlugins, NFS } from './storage.ts';
import { BACKUP_NIGHTS, type Backup, planVolumes, type Use, type VolumePlan } from './volume-plans.ts';

function inventVolume(
  state: SchedulerState,
  random: Random,
  plan: VolumePlan,
  externalId: string,
  slot: number,
): Volume {
  const writer = { AccessMode: 'single-node-writer', AttachmentMode: 'file-system' };
  const shared = { AccessMode: 'multi-node-single-writer', AttachmentMode: 'block-device' };
  const index = nextIndex(state);
  const controllers = plan.plugin === NFS ? 0 : 2;
  return {
    id: plan.id,
    namespace: plan.namespace ?? 'default',
    name: plan.name ?? plan.id,
    externalId,
    pluginId: plan.plugin,
    topologies:
      plan.plugin === NFS
        ? []
        : [{ 'topology.kubernetes.io/zone': `eu-central-1${random.pick(['a', 'b', 'c'])}`, rack: 'R "1"' }],
    capabilities: plan.use === 'readers' ? [shared, writer] : [writer],
    schedulable: plan.unschedulable !== true,
    controllersHealthy: plan.unschedulable ? 0 : controllers,
    controllersExpected: controllers,
    nodesHealthy: state.nodes.length,
    nodesExpected: state.nodes.length,
    exhaustedAt: null,
    claims: [],
    secrets: plan.leaky ? { password: `planted-volume-secret-${random.hex(16)}` } : null,
    backupSlot: plan.backup === 'regular' ? slot % BACKUP_NIGHTS : null,
    createIndex: index,
    modifyIndex: index,
  };
}

function claim(state: SchedulerState, random: Random, volume: Volume, use: Use, start: Date): void {
  const begin = (mode: 'read' | 'write') =>
    startAllocation(state, random, volume, mode, someTimeBefore(start, 60, random));
  const end = (status: string) => endAllocation(state, begin('write'), status, new Date(start.getTime() - 9 * HOUR_MS));
  if (use === 'app' || use === 'mixed') begin('write');
  if (use === 'readers') for (let reader = random.int(1, 3); reader > 0; reader--) begin('read');
  if (use === 'ended') for (const status of ['lost', 'failed']) end(status);
  if (use === 'mixed') end('complete');
  if (use === 'ghost') volume.claims.push({ allocationId: uuid(random), mode: 'read' });
}

/** The snapshots that a volume has on night 0: the last ones of its round, or what the plan says instead. */
function backUp(plugin: Plugin, random: Random, volume: Volume, backup: Backup, start: Date): void {
  const external = plugin.externals.get(volume.externalId);
  if (!external || backup === 'none') return;
  const newestDays = backup === 'stopped' ? 5 : (volume.backupSlot ?? 2);
  for (let round = 2; round >= 0; round--) {
    const at = new Date(start.getTime() - (newestDays + round * BACKUP_NIGHTS) * DAY_MS - random.int(20, 90) * 60_000);
    addSnapshot(plugin, random, external, at).ready = backup !== 'unready';
  }
}

function addPlanned(state: SchedulerState, random: Random, plan: VolumePlan, slot: number, start: Date): void {
  const plugin = state.plugins.get(plan.plugin)!;
  // One capacity is beyond 2^53, as the 64 bits of the field allow.
  const capacity = slot === 0 ? 9_007_199_254_740_993n : BigInt(random.int(1, 512)) * GIB;
  const external = addExternal(plugin, random, capacity);
  const volume = inventVolume(state, random, plan, external.id, slot);
  if (plan.exhausted) volume.exhaustedAt = daysBefore(start, 1.5);
  if (plan.abnormal !== undefined) Object.assign(external, { abnormal: true, status: plan.abnormal });
  state.volumes.set(volumeKey(volume.namespace, volume.id), volume);
  claim(state, random, volume, plan.use, start);
  backUp(plugin, random, volume, plan.backup, start);
  if (plan.missing) plugin.externals.delete(external.id);
}

/** What lies about in the storage: volumes nobody registered, snapshots past 90 days, snapshots of volumes long gone. */
function scatter(state: SchedulerState, random: Random, start: Date): void {
  const ebs = state.plugins.get(EBS)!;
  addExternal(ebs, random, 40n * GIB);
  addExternal(state.plugins.get(HEX)!, random, 7n * GIB).status = HOSTILE_TEXTS[0]!;
  addExternal(state.plugins.get(CEPH)!, random, 120n * GIB);
  const volumes = [...state.volumes.values()].filter(({ backupSlot }) => backupSlot !== null);
  const agesDays = [87.5, 88.5, 93, 101, 140, 188, 263, 377, 512];
  for (const [index, age] of agesDays.entries()) {
    const volume = volumes[index * 2]!;
    const source = externalOf(state, volume);
    if (source)
      addSnapshot(state.plugins.get(volume.pluginId)!, random, source, daysBefore(start, age), { tier: 'archive' });
  }
  for (const age of [12, 45, 160]) {
    const gone = { id: `vol-0${random.hex(16)}`, capacityBytes: 64n * GIB };
    addSnapshot(ebs, random, gone, daysBefore(start, age), { note: HOSTILE_TEXTS[0]! });
  }
}

/** About 40 volumes, 120 snapshots, 14 policies at scale 1, over four plugins and three namespaces. */
export function inventScheduler({ seed, scale, flavor, start }: SchedulerOptions): SchedulerWorld {
  const random = createRandom(`${seed}/scheduler/estate`);
  const nodes = Array.from({ length: 12 }, () => uuid(random));
  const state: SchedulerState = {
    index: 100,
    nodes,
    policies: inventPolicies(scale),
    plugins: inventPlugins(),
    volumes: new Map(),
    allocations: new Map(),
  };
  for (const [slot, plan] of planVolumes(sized(42, scale), random).entries()) {
    addPlanned(state, random, plan, slot, start);
  }
  scatter(state, random, start);
  return { seed, flavor, state };
}
