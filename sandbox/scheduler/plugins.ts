import { createRandom, type Random } from '../random.ts';
import { HttpError } from '../responses.ts';
import type { EstateName, Flavor, Request } from '../types.ts';
import type { SchedulerContext } from './context.ts';

export type Capability = 'CREATE_DELETE_VOLUME' | 'LIST_VOLUMES' | 'CREATE_DELETE_SNAPSHOT' | 'LIST_SNAPSHOTS';

/** A volume in the storage provider. */
export interface ExternalVolumeRecord {
  readonly id: string;
  capacityBytes: bigint;
  snapshotId: string;
  abnormal: boolean;
  /** The provider's own words; empty when normal. */
  status: string;
}

export interface SnapshotRecord {
  readonly id: string;
  /** External ID of its volume, which may no longer exist. */
  readonly sourceId: string;
  readonly sizeBytes: bigint;
  readonly createdAt: Date;
  ready: boolean;
  readonly parameters: Readonly<Record<string, string>> | null;
  /** The name that the caller gave; the same name again is the same snapshot. */
  readonly name?: string;
}

/** A storage plugin with the volumes and snapshots of its provider. */
export interface StoragePlugin {
  readonly id: string;
  readonly provider: string;
  readonly version: string;
  readonly capabilities: readonly Capability[];
  /** Whether a snapshot is ready only on the day after it was created. */
  readonly hasSlowSnapshots: boolean;
  /** Whether its list of volumes honours `per_page` and names no next page, as the reference driver does. */
  hidesPages: boolean;
  externals: Map<string, ExternalVolumeRecord>;
  snapshots: Map<string, SnapshotRecord>;
}

export const EBS = 'aws-ebs0';
export const HEX = 'beefcafe';
export const CEPH = 'ceph "rbd", é';
export const NFS = 'legacy-nfs';

/**
 * The IDs of the plugins. The specification asks for hexadecimal ones: docs/services/scheduler.md#prefixes. One plugin does
 * not have any.
 */
const IDS: Readonly<Record<EstateName, Readonly<Record<Flavor, Readonly<Record<string, string>>>>>> = {
  company: {
    spec: { [EBS]: 'eb50', [HEX]: '9cd0', [CEPH]: 'ce9400' },
    hashicorp: { [EBS]: 'aws-ebs', [HEX]: 'gcp-pd', [CEPH]: 'ceph-rbd' },
  },
  hostile: { spec: { [EBS]: 'eb50', [CEPH]: 'ce9400' }, hashicorp: {} },
};

const ALL: readonly Capability[] = ['CREATE_DELETE_VOLUME', 'LIST_VOLUMES', 'CREATE_DELETE_SNAPSHOT', 'LIST_SNAPSHOTS'];

/** Four plugins: an ordinary one, one with a hexadecimal name, one with a hostile name and slow snapshots, one that lists nothing. */
export class Plugins {
  readonly records = new Map<string, StoragePlugin>();
  readonly #context: SchedulerContext;

  constructor(context: SchedulerContext) {
    this.#context = context;
    this.#add(EBS, 'ebs.csi.aws.com', ALL);
    this.#add(HEX, 'pd.csi.storage.gke.io', ALL);
    this.#add(CEPH, 'rbd.csi.ceph.com', ALL, true);
    this.#add(NFS, 'nfs.csi.k8s.io', []);
  }

  /** The ID of one of the four plugins in this flavor. */
  flavorId(name: string): string {
    const { estate, flavor } = this.#context;
    return IDS[estate][flavor][name] ?? name;
  }

  /** One of the four plugins. */
  named(name: string): StoragePlugin | undefined {
    return this.records.get(this.flavorId(name));
  }

  /** The plugins that `plugin_id` selects, which must have the capability. @throws HttpError 400, 500 */
  select({ query }: Request, capability: Capability): readonly StoragePlugin[] {
    const id = query.get('plugin_id') ?? '';
    const isHashicorp = this.#context.flavor === 'hashicorp';
    if (id === '') throw isHashicorp ? new HttpError(500, 'no such plugin') : new HttpError(400, 'missing plugin ID');
    const found = this.#find(id);
    if (found.length === 0) throw new HttpError(500, isHashicorp ? 'no such plugin' : `no such plugin: ${id}`);
    return withCapability(found, capability);
  }

  /** As `select`; the specification lists the volumes of all plugins without `plugin_id`. @throws HttpError 400, 500 */
  selectOrAll(request: Request, capability: Capability): readonly StoragePlugin[] {
    const isOptional = this.#context.flavor === 'spec' && !request.query.get('plugin_id');
    return isOptional ? withCapability([...this.records.values()], capability) : this.select(request, capability);
  }

  findExternal(pluginId: string, externalId: string): ExternalVolumeRecord | undefined {
    return this.records.get(pluginId)?.externals.get(externalId);
  }

  /** In the specification an ID is a prefix that is decoded to bytes: docs/services/scheduler.md#prefixes. */
  #find(id: string): readonly StoragePlugin[] {
    if (this.#context.flavor !== 'spec') return [this.records.get(id) ?? []].flat();
    if (!/^(?:[0-9a-f]{2})+$/iu.test(id)) {
      throw new HttpError(400, 'plugin_id must have an even number of hexadecimal characters');
    }
    return [...this.records.values()].filter((plugin) => plugin.id.startsWith(id));
  }

  #add(name: string, provider: string, capabilities: readonly Capability[], hasSlowSnapshots = false): void {
    const id = this.flavorId(name);
    this.records.set(id, {
      id,
      provider,
      version: 'v1.34.0',
      capabilities,
      hasSlowSnapshots,
      hidesPages: name === HEX && this.#context.flavor === 'hashicorp',
      externals: new Map(),
      snapshots: new Map(),
    });
  }
}

function withCapability(plugins: readonly StoragePlugin[], capability: Capability): readonly StoragePlugin[] {
  const capable = plugins.filter(({ capabilities }) => capabilities.includes(capability));
  if (capable.length === 0) throw new HttpError(500, `plugin does not support ${capability}`);
  return capable;
}

export function addExternal(
  plugin: StoragePlugin,
  random: Random,
  capacityBytes: bigint,
  snapshotId = '',
): ExternalVolumeRecord {
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
  const snapshot = {
    id,
    sourceId: source.id,
    sizeBytes: source.capacityBytes,
    createdAt,
    ready: true,
    parameters,
    name,
  };
  plugin.snapshots.set(id, snapshot);
  return snapshot;
}

/** The provider's id of one of the scheduler's nodes. */
export function providerNodeId(nodeId: string): string {
  return `i-0${createRandom(nodeId).hex(16)}`;
}
