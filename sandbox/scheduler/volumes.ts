import { createRandom } from '../random.ts';
import { HttpError } from '../responses.ts';
import type { Request, Resource, Response, Route } from '../types.ts';
import { type Allocations, type Claimable, type ClaimMode, toNanoseconds } from './allocations.ts';
import { checkBlockingQuery, paginateByKey, requestNamespace, type SchedulerContext } from './context.ts';
import { type ExternalVolumeRecord, HEX, type Plugins } from './plugins.ts';

export interface VolumeCapability {
  readonly AccessMode: string;
  readonly AttachmentMode: string;
}

/** What a registration says beside the fields with names of their own; Nomad returns it. */
export interface VolumeDefinition {
  readonly capacityMin: bigint;
  readonly capacityMax: bigint;
  readonly mountOptions: { readonly FSType: string; readonly MountFlags: readonly string[] } | null;
  readonly parameters: Readonly<Record<string, string>> | null;
  readonly context: Readonly<Record<string, string>> | null;
  readonly requestedTopologies: unknown;
  readonly cloneId: string;
  readonly snapshotId: string;
}

export const DEFAULT_DEFINITION: VolumeDefinition = {
  capacityMin: 0n,
  capacityMax: 0n,
  mountOptions: { FSType: 'ext4', MountFlags: ['noatime'] },
  parameters: null,
  context: null,
  requestedTopologies: null,
  cloneId: '',
  snapshotId: '',
};

export interface VolumeRecord extends Claimable {
  readonly name: string;
  readonly externalId: string;
  readonly pluginId: string;
  readonly topologies: readonly Readonly<Record<string, string>>[];
  readonly capabilities: readonly VolumeCapability[];
  schedulable: boolean;
  controllersHealthy: number;
  controllersExpected: number;
  nodesHealthy: number;
  nodesExpected: number;
  exhaustedAt: Date | null;
  /** Planted in one volume: a server that leaks. */
  secrets: Readonly<Record<string, string>> | null;
  /** The day of a backup round (`BACKUP_DAYS`) on which its snapshot is created; null when it has no backups. */
  backupSlot: number | null;
  readonly createIndex: number;
  /** What the storage provider said when the volume was registered: Nomad does not ask it again. */
  readonly capacityBytes: bigint;
  readonly definition: VolumeDefinition;
}

/** docs/services/scheduler.md#volumes; the calls that change volumes are in `volume-writes.ts`. */
export class Volumes implements Resource {
  /** By `volumeKey`. */
  readonly records = new Map<string, VolumeRecord>();
  /** The index of the last deletion. */
  #deletedAt = 1;
  readonly #context: SchedulerContext;
  readonly #plugins: Plugins;
  readonly #allocations: Allocations;

  constructor(context: SchedulerContext, plugins: Plugins, allocations: Allocations) {
    this.#context = context;
    this.#plugins = plugins;
    this.#allocations = allocations;
  }

  get routes(): readonly Route[] {
    return [
      { method: 'GET', path: '/volumes', right: 'list-volumes', handle: (request) => this.#list(request) },
      { method: 'GET', path: '/volume/csi/:volume_id', right: 'read-volume', handle: (request) => this.#read(request) },
    ];
  }

  /** The volume in the one namespace of the query: `*` means all for lists only. */
  find(request: Request, id = request.params.volume_id ?? ''): VolumeRecord | undefined {
    return this.records.get(volumeKey(requestNamespace(request), id));
  }

  /** The volumes registered for an external one: usually one, none for an orphan. */
  findByExternal(pluginId: string, externalId: string): VolumeRecord[] {
    return [...this.records.values()].filter(
      (volume) => volume.pluginId === pluginId && volume.externalId === externalId,
    );
  }

  /** The volume in the storage provider. */
  external({ pluginId, externalId }: VolumeRecord): ExternalVolumeRecord | undefined {
    return this.#plugins.findExternal(pluginId, externalId);
  }

  set(volume: VolumeRecord): void {
    this.records.set(volumeKey(volume.namespace, volume.id), volume);
  }

  delete({ namespace, id }: VolumeRecord): void {
    this.records.delete(volumeKey(namespace, id));
    this.#deletedAt = this.#context.nextIndex();
  }

  /** The index of the last change of any volume, which answers about volumes have in Nomad. */
  #json(body: unknown, headers: Readonly<Record<string, string>> = {}): Response {
    return this.#context.json(body, {
      ...this.#context.tableHeaders(this.records.values(), this.#deletedAt),
      ...headers,
    });
  }

  listItem(volume: VolumeRecord) {
    const count = (mode: ClaimMode): number => volume.claims.filter((claim) => claim.mode === mode).length;
    return { ...this.#commonFields(volume), CurrentReaders: count('read'), CurrentWriters: count('write') };
  }

  #list(request: Request): Response {
    checkBlockingQuery(request);
    const isHashicorp = this.#context.flavor === 'hashicorp';
    const type = request.query.get('type');
    if (type === null || (type === 'host' && isHashicorp)) return this.#json([]);
    if (type !== 'csi') throw new HttpError(404, 'resource not found');
    const found = this.#filter(request);
    if (!isHashicorp) return this.#json(found.map((volume) => this.listItem(volume)));
    // Nomad pages in the order of namespace and ID, and the token is the next of them.
    const page = paginateByKey(request, found, ({ namespace, id }) => `${namespace}.${id}`);
    return this.#json(
      page.items.map((volume) => this.listItem(volume)),
      page.nextToken === '' ? {} : { 'x-nomad-nexttoken': page.nextToken },
    );
  }

  #read(request: Request): Response {
    checkBlockingQuery(request);
    const volume = this.find(request);
    if (!volume) throw new HttpError(404, 'volume not found');
    return this.#json(this.document(volume));
  }

  #filter(request: Request): VolumeRecord[] {
    const isSpec = this.#context.flavor === 'spec';
    const node = request.query.get('node_id') ?? '';
    for (const name of isSpec ? ['node_id', 'plugin_id'] : []) {
      if (isHexPrefix(request.query.get(name) ?? '')) continue;
      throw new HttpError(400, `${name} must have an even number of hexadecimal characters`);
    }
    const namespace = requestNamespace(request);
    const prefix = isSpec ? '' : (request.query.get('prefix') ?? '');
    const pluginId = request.query.get('plugin_id') ?? '';
    return [...this.records.values()].filter(
      (volume) =>
        (namespace === '*' || volume.namespace === namespace) &&
        volume.id.startsWith(prefix) &&
        this.#isOfPlugin(volume, pluginId, namespace) &&
        this.#isOnNode(volume, node),
    );
  }

  /** A prefix in the specification. In Nomad it is exact, and finds nothing over all namespaces. */
  #isOfPlugin(volume: VolumeRecord, pluginId: string, namespace: string): boolean {
    if (pluginId === '') return true;
    if (this.#context.flavor === 'spec') return volume.pluginId.startsWith(pluginId);
    return namespace !== '*' && volume.pluginId === pluginId;
  }

  #isOnNode({ claims }: VolumeRecord, prefix: string): boolean {
    if (prefix === '') return true;
    const { records } = this.#allocations;
    return claims.some(({ allocationId }) => records.get(allocationId)?.nodeId.startsWith(prefix));
  }

  /** The fields that the list item and the read response share. */
  #commonFields(volume: VolumeRecord) {
    const plugin = this.#plugins.records.get(volume.pluginId);
    const isHashicorp = this.#context.flavor === 'hashicorp';
    // The driver of one plugin says nothing of the node, and Nomad keeps the empty place.
    const unknown = volume.pluginId === HEX ? [null] : [];
    const segments = [...unknown, ...volume.topologies.map((topology) => ({ Segments: topology }))];
    const hasModes = volume.claims.length > 0 || !isHashicorp;
    return {
      ID: volume.id,
      ExternalID: volume.externalId,
      Namespace: volume.namespace,
      Name: volume.name,
      Topologies: isHashicorp ? (segments.length === 0 ? null : segments) : volume.topologies,
      AccessMode: hasModes ? (volume.capabilities[0]?.AccessMode ?? '') : '',
      AttachmentMode: hasModes ? (volume.capabilities[0]?.AttachmentMode ?? '') : '',
      Schedulable: volume.schedulable,
      PluginID: volume.pluginId,
      Provider: plugin?.provider ?? '',
      ControllerRequired: (plugin?.capabilities.length ?? 0) > 0,
      ControllersHealthy: volume.controllersHealthy,
      ControllersExpected: volume.controllersExpected,
      NodesHealthy: volume.nodesHealthy,
      NodesExpected: volume.nodesExpected,
      ResourceExhausted: this.#resourceExhausted(volume),
      // Versions of Nomad without these times return 0.
      ...(isHashicorp ? { CreateTime: 0, ModifyTime: 0 } : {}),
      CreateIndex: volume.createIndex,
      ModifyIndex: volume.modifyIndex,
    };
  }

  /** An integer in the specification, which does not give the unit (here nanoseconds); a time or null in Nomad. */
  #resourceExhausted({ id, exhaustedAt }: VolumeRecord): bigint | number | string | null {
    if (this.#context.flavor === 'hashicorp') return exhaustedAt?.toISOString() ?? null;
    return exhaustedAt ? toNanoseconds(exhaustedAt, createRandom(id)) : 0;
  }

  /** The response to a read. */
  document(volume: VolumeRecord) {
    const { records } = this.#allocations;
    const version = this.#plugins.records.get(volume.pluginId)?.version ?? '';
    const known = volume.claims.flatMap(({ allocationId }) => records.get(allocationId) ?? []);
    const leaked = volume.secrets ? { Secrets: volume.secrets } : {};
    return {
      ...this.#commonFields(volume),
      RequestedCapabilities: volume.capabilities,
      Allocations: known.map((allocation) => this.#allocations.document(allocation)),
      ReadAllocs: this.#claimMap(volume, 'read'),
      WriteAllocs: this.#claimMap(volume, 'write'),
      ...(this.#context.flavor === 'hashicorp'
        ? { ProviderVersion: version, ...this.#nomadFields(volume) }
        : { Version: version, ...leaked }),
    };
  }

  /** Claims by allocation ID. With the specification the writers are complete objects, which it permits. */
  #claimMap(volume: VolumeRecord, mode: ClaimMode) {
    const isComplete = this.#context.flavor === 'spec' && mode === 'write';
    const entries = volume.claims
      .filter((claim) => claim.mode === mode)
      .map(({ allocationId }) => {
        const allocation = this.#allocations.records.get(allocationId);
        return [allocationId, isComplete && allocation ? this.#allocations.document(allocation) : null] as const;
      });
    return Object.fromEntries(entries);
  }

  #nomadFields(volume: VolumeRecord) {
    const { definition } = volume;
    const flags = definition.mountOptions?.MountFlags ?? [];
    return {
      Secrets: volume.secrets,
      MountOptions: definition.mountOptions && {
        FSType: definition.mountOptions.FSType,
        MountFlags: flags.length === 0 ? null : ['[REDACTED]'],
      },
      Parameters: definition.parameters,
      Context: definition.context,
      RequestedTopologies: definition.requestedTopologies,
      Capacity: volume.capacityBytes,
      RequestedCapacityMin: definition.capacityMin,
      RequestedCapacityMax: definition.capacityMax,
      CloneID: definition.cloneId,
      SnapshotID: definition.snapshotId,
    };
  }
}

export function volumeKey(namespace: string, id: string): string {
  return JSON.stringify([namespace, id]);
}

/** docs/services/scheduler.md#prefixes: whole bytes in hexadecimal. The dashes of a full node ID do not count. */
function isHexPrefix(prefix: string): boolean {
  return /^([0-9a-f]{2})*$/.test(prefix.replaceAll('-', ''));
}
