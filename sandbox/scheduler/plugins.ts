import { readEstate } from '../estate.ts';
import { createRandom, type Random } from '../random.ts';
import { HttpError } from '../router.ts';
import type { Request } from '../types.ts';
import type { SchedulerContext } from './context.ts';
import type { Capability, ExternalVolumeRecord, SnapshotRecord, StoragePlugin } from './records.ts';

export const EBS = 'aws-ebs0';
export const HEX = 'beefcafe';
export const CEPH = 'ceph "rbd", é';
export const NFS = 'legacy-nfs';

const ALL: readonly Capability[] = ['CREATE_DELETE_VOLUME', 'LIST_VOLUMES', 'CREATE_DELETE_SNAPSHOT', 'LIST_SNAPSHOTS'];

/** Four plugins: an ordinary one, one with a hexadecimal name, one with a hostile name and slow snapshots, one that lists nothing. */
const PROVIDERS: readonly (readonly [name: string, provider: string, capabilities: readonly Capability[]])[] = [
  [EBS, 'ebs.csi.aws.com', ALL],
  [HEX, 'pd.csi.storage.gke.io', ALL],
  [CEPH, 'rbd.csi.ceph.com', ALL],
  [NFS, 'nfs.csi.k8s.io', []],
];

export function addPlugins(context: SchedulerContext): void {
  for (const [name, provider, capabilities] of PROVIDERS) {
    const id = flavorId(context, name);
    context.plugins.set(id, {
      id,
      provider,
      version: 'v1.34.0',
      capabilities,
      hasSlowSnapshots: name === CEPH,
      hidesPages: name === HEX && context.flavor === 'hashicorp',
      externals: new Map(),
      snapshots: new Map(),
    });
  }
}

/** The ID of one of the four plugins in this flavor. */
function flavorId(context: SchedulerContext, name: string): string {
  const { estate, flavor } = context;
  return readEstate(estate).scheduler.plugins[flavor][name] ?? name;
}

/** One of the four plugins. */
export function namedPlugin(context: SchedulerContext, name: string): StoragePlugin | undefined {
  return context.plugins.get(flavorId(context, name));
}

/**
 * The plugins that `plugin_id` selects, which must have the capability. In the specification an ID is a prefix that is decoded to
 * bytes: docs/services/scheduler.md#prefixes. @throws HttpError 400, 500
 */
export function selectPlugins({ plugins, flavor }: SchedulerContext, { query }: Request, capability: Capability) {
  const id = query.get('plugin_id') ?? '';
  const isSpec = flavor === 'spec';
  // The specification lists the volumes of all plugins without an ID.
  const isAll = isSpec && id === '' && capability === 'LIST_VOLUMES';
  if (isSpec && id === '' && !isAll) throw new HttpError(400, 'missing plugin ID');
  if (isSpec && !isAll && !/^(?:[0-9a-f]{2})+$/iu.test(id)) {
    throw new HttpError(400, 'plugin_id must have an even number of hexadecimal characters');
  }
  const found = [...plugins.values()].filter((plugin) => (isSpec ? plugin.id.startsWith(id) : plugin.id === id));
  if (found.length === 0) throw new HttpError(500, isSpec ? `no such plugin: ${id}` : 'no such plugin');
  const capable = found.filter(({ capabilities }) => capabilities.includes(capability));
  if (capable.length === 0) throw lacking(capability);
  return capable;
}

export function lacking(capability: Capability): HttpError {
  return new HttpError(500, `plugin does not support ${capability}`);
}

export function addExternal(plugin: StoragePlugin, random: Random, capacityBytes: bigint, snapshotId = '') {
  const external = { id: `vol-0${random.hex(16)}`, capacityBytes, snapshotId, abnormal: false, status: '' };
  plugin.externals.set(external.id, external);
  return external;
}

export function addSnapshot(
  plugin: StoragePlugin,
  random: Random,
  source: Pick<ExternalVolumeRecord, 'id' | 'capacityBytes'>,
  createdAt: Date,
  parameters: Readonly<Record<string, string>> | null = null,
  name = '',
): SnapshotRecord {
  const id = `snap-0${random.hex(16)}`;
  const { id: sourceId, capacityBytes: sizeBytes } = source;
  const snapshot = { id, sourceId, sizeBytes, createdAt, ready: true, parameters, name };
  plugin.snapshots.set(id, snapshot);
  return snapshot;
}

/** The provider's id of one of the scheduler's nodes. */
export function providerNodeId(nodeId: string): string {
  return `i-0${createRandom(nodeId).hex(16)}`;
}
