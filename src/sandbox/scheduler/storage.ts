import { createRandom, type Random } from '../prng.ts';
import type { Capability, ExternalVolume, Plugin, SchedulerState, Snapshot, Volume } from './state.ts';

export const GIB = 1024n ** 3n;
export const EBS = 'aws-ebs0';
export const HEX = 'beefcafe';
export const CEPH = 'ceph "rbd", é';
export const NFS = 'legacy-nfs';

const ALL: readonly Capability[] = ['CREATE_DELETE_VOLUME', 'LIST_VOLUMES', 'CREATE_DELETE_SNAPSHOT', 'LIST_SNAPSHOTS'];

/** Four plugins: an ordinary one, one whose name is hexadecimal, a nasty one with slow snapshots, one that can list nothing. */
export function inventPlugins(): Map<string, Plugin> {
  const plugin = (
    id: string,
    provider: string,
    capabilities: readonly Capability[],
    slowSnapshots = false,
  ): Plugin => ({
    id,
    provider,
    version: 'v1.34.0',
    capabilities,
    slowSnapshots,
    externals: new Map(),
    snapshots: new Map(),
  });
  const plugins = [
    plugin(EBS, 'ebs.csi.aws.com', ALL),
    plugin(HEX, 'pd.csi.storage.gke.io', ALL),
    plugin(CEPH, 'rbd.csi.ceph.com', ALL, true),
    plugin(NFS, 'nfs.csi.k8s.io', []),
  ];
  return new Map(plugins.map((entry) => [entry.id, entry]));
}

export function addExternal(plugin: Plugin, random: Random, capacityBytes: bigint, snapshotId = ''): ExternalVolume {
  const external = { id: `vol-0${random.hex(16)}`, capacityBytes, snapshotId, abnormal: false, status: '' };
  plugin.externals.set(external.id, external);
  return external;
}

export function addSnapshot(
  plugin: Plugin,
  random: Random,
  source: Pick<ExternalVolume, 'id' | 'capacityBytes'>,
  createdAt: Date,
  parameters: Readonly<Record<string, string>> | null = null,
): Snapshot {
  const id = `snap-0${random.hex(16)}`;
  const snapshot = { id, sourceId: source.id, sizeBytes: source.capacityBytes, createdAt, ready: true, parameters };
  plugin.snapshots.set(id, snapshot);
  return snapshot;
}

/** What the provider calls one of the scheduler's nodes. */
export function providerNodeId(nodeId: string): string {
  return `i-0${createRandom(nodeId).hex(16)}`;
}

export function externalOf(state: SchedulerState, volume: Volume): ExternalVolume | undefined {
  return state.plugins.get(volume.pluginId)?.externals.get(volume.externalId);
}

/** Registered volumes that stand for an external one: usually one, none for an orphan. */
export function volumesOf(state: SchedulerState, pluginId: string, externalId: string): Volume[] {
  return [...state.volumes.values()].filter(
    (volume) => volume.pluginId === pluginId && volume.externalId === externalId,
  );
}
