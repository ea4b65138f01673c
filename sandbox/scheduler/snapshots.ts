import { createRandom } from '../random.ts';
import { HttpError } from '../responses.ts';
import type { Request, Resource, Response, Route } from '../types.ts';
import { type Body, checkBlockingQuery, mapField, objectsField, paginate, parseBody, stringField } from './context.ts';
import {
  addSnapshot,
  type ExternalVolumeRecord,
  providerNodeId,
  type SnapshotRecord,
  type StoragePlugin,
} from './plugins.ts';
import type { SchedulerRecords } from './seed.ts';

/** docs/services/scheduler.md#snapshots. */
export class VolumeSnapshots implements Resource {
  readonly #records: SchedulerRecords;

  constructor(records: SchedulerRecords) {
    this.#records = records;
  }

  get routes(): readonly Route[] {
    const path = '/volumes/snapshot';
    const write = { writes: true, right: 'write-volume', asksPlugin: true } as const;
    const create = { ...write, handle: (request: Request) => this.#create(request) };
    const common: readonly Route[] = [
      { method: 'GET', path, right: 'list-volumes', asksPlugin: true, handle: (request) => this.#list(request) },
      { method: 'DELETE', path, ...write, handle: (request) => this.#delete(request) },
    ];
    if (this.#records.context.flavor === 'spec')
      return [...common, { method: 'PUT', path: `${path}/:volume_id`, ...create }];
    return [
      ...common,
      { method: 'PUT', path, ...create },
      { method: 'POST', path, ...create },
      // Nomad does not have this path of the specification.
      { method: 'PUT', path: '/volume/csi/:volume_id/snapshot', ...write, handle: notFound },
    ];
  }

  #list(request: Request): Response {
    checkBlockingQuery(request);
    const plugins = this.#records.plugins.select(request, 'LIST_SNAPSHOTS');
    const taken = plugins.flatMap((plugin) =>
      [...plugin.snapshots.values()].map((snapshot) => ({ ...snapshot, plugin })),
    );
    const page = paginate(request, this.#records.context.flavor, taken);
    return this.#records.context.pluginList({
      NextToken: page.nextToken,
      Snapshots: page.items.map((snapshot) => this.#object(snapshot.plugin, snapshot)),
    });
  }

  /** Creates the items of `Snapshots` one by one, up to the first invalid one. */
  #create(request: Request): Response {
    const items = objectsField(parseBody(request), 'Snapshots');
    if (items.length === 0) throw new HttpError(400, 'missing snapshot definition');
    return this.#records.context.pluginList({ Snapshots: items.map((item) => this.#createOne(item, request)) });
  }

  #createOne(item: Body, request: Request): Readonly<Record<string, unknown>> {
    const isHashicorp = this.#records.context.flavor === 'hashicorp';
    refuseUnknownFields(item);
    const id = stringField(item, 'SourceVolumeID') || (request.params.volume_id ?? '');
    const volume = this.#records.volumes.find(request, id);
    if (!volume) throw new HttpError(500, `volume not found: ${id}`);
    const plugin = this.#records.plugins.records.get(stringField(item, 'PluginID') || volume.pluginId);
    if (!plugin) throw new HttpError(500, `no such plugin: ${stringField(item, 'PluginID')}`);
    if (!plugin.capabilities.includes('CREATE_DELETE_SNAPSHOT')) {
      throw new HttpError(500, 'plugin does not support CREATE_DELETE_SNAPSHOT');
    }
    const external = plugin.id === volume.pluginId ? this.#records.volumes.external(volume) : undefined;
    if (!external) {
      throw new HttpError(500, `rpc error: volume ${volume.externalId} not found in the storage provider`);
    }
    const snapshot = this.#findNamed(plugin, item) ?? this.#take(plugin, external, item, request.now);
    return {
      ID: snapshot.id,
      SourceVolumeID: isHashicorp ? '' : volume.id,
      ...(isHashicorp ? { ...LIVE_FIELDS, ExternalSourceVolumeID: external.id, PluginID: '', Parameters: null } : {}),
      SizeBytes: snapshot.sizeBytes,
      CreateTime: toUnixSeconds(snapshot.createdAt),
      IsReady: snapshot.ready,
    };
  }

  /** A name that exists is its snapshot: the Container Storage Interface requires it of a driver. */
  #findNamed(plugin: StoragePlugin, item: Body): SnapshotRecord | undefined {
    const name = stringField(item, 'Name');
    if (name === '' || this.#records.context.flavor === 'spec') return undefined;
    return [...plugin.snapshots.values()].find((snapshot) => snapshot.name === name);
  }

  #take(plugin: StoragePlugin, external: ExternalVolumeRecord, item: Body, now: Date): SnapshotRecord {
    const random = createRandom(
      `${this.#records.context.seed}/scheduler/snapshot/${this.#records.context.nextIndex()}`,
    );
    const parameters = mapField(item, 'Parameters');
    const snapshot = addSnapshot(plugin, random, external, now, parameters, stringField(item, 'Name'));
    snapshot.ready = !plugin.hasSlowSnapshots;
    return snapshot;
  }

  /** Deleting a snapshot that does not exist succeeds, as the Container Storage Interface requires. */
  #delete(request: Request): Response {
    const id = request.query.get('snapshot_id') ?? '';
    const plugins = this.#records.plugins.select(request, 'CREATE_DELETE_SNAPSHOT');
    if (id === '') throw new HttpError(400, 'missing snapshot ID');
    for (const plugin of plugins) plugin.snapshots.delete(id);
    return this.#records.context.empty();
  }

  #object(plugin: StoragePlugin, snapshot: SnapshotRecord) {
    return {
      CreateTime: toUnixSeconds(snapshot.createdAt),
      ExternalSourceVolumeID: snapshot.sourceId,
      ID: snapshot.id,
      IsReady: snapshot.ready,
      Parameters: snapshot.parameters,
      PluginID: plugin.id,
      SizeBytes: snapshot.sizeBytes,
      ...(this.#records.context.flavor === 'hashicorp' ? LIVE_FIELDS : {}),
    };
  }
}

/** Nomad's other fields of a snapshot, which its drivers leave empty. */
const LIVE_FIELDS = { Name: '', SourceVolumeID: '', Secrets: null };

const FIELDS = ['ID', 'SourceVolumeID', 'ExternalSourceVolumeID', 'PluginID', 'Name', 'Secrets', 'Parameters'];

/** Clients of Nomad send all fields of its structure, empty ones too. @throws HttpError 400 */
function refuseUnknownFields(item: Body): void {
  const unknown = Object.entries(item).find(([field, value]) => !FIELDS.includes(field) && Boolean(value));
  if (unknown) throw new HttpError(400, `unknown field ${unknown[0]}`);
}

function toUnixSeconds(date: Date): number {
  return Math.floor(date.getTime() / 1000);
}

function notFound(): never {
  throw new HttpError(404, 'resource not found');
}

/** docs/services/scheduler.md#external-volumes. */
export class ExternalVolumes implements Resource {
  readonly #records: SchedulerRecords;

  constructor(records: SchedulerRecords) {
    this.#records = records;
  }

  get routes(): readonly Route[] {
    return [
      {
        method: 'GET',
        path: '/volumes/external',
        right: 'list-volumes',
        asksPlugin: true,
        handle: (request) => this.#list(request),
      },
    ];
  }

  #list(request: Request): Response {
    checkBlockingQuery(request);
    const plugins = this.#records.plugins.selectOrAll(request, 'LIST_VOLUMES');
    const held = plugins.flatMap((plugin) =>
      [...plugin.externals.values()].map((external) => ({ ...external, plugin })),
    );
    const page = paginate(request, this.#records.context.flavor, held);
    return this.#records.context.pluginList({
      // One driver honours the size of a page and never names a next one.
      NextToken: plugins.some(({ hidesPages }) => hidesPages) ? '' : page.nextToken,
      Volumes: page.items.map((external) => this.#object(external.plugin, external)),
    });
  }

  #object(plugin: StoragePlugin, external: ExternalVolumeRecord) {
    return {
      ExternalID: external.id,
      CapacityBytes: external.capacityBytes,
      SnapshotID: external.snapshotId,
      PublishedExternalNodeIDs: this.#publishedNodes(plugin, external),
      IsAbnormal: external.abnormal,
      Status: external.status,
      ...(this.#records.context.flavor === 'hashicorp' ? { CloneID: '', VolumeContext: null } : {}),
    };
  }

  /** The nodes of running allocations that claim the volume. */
  #publishedNodes(plugin: StoragePlugin, external: ExternalVolumeRecord): string[] {
    const nodes = this.#records.volumes
      .findByExternal(plugin.id, external.id)
      .flatMap(({ claims }) => claims)
      .filter(({ allocationId }) => this.#records.allocations.isRunning(allocationId))
      .map(({ allocationId }) => providerNodeId(this.#records.allocations.records.get(allocationId)!.nodeId));
    // A driver without a node says so with one empty ID.
    if (nodes.length === 0 && this.#records.context.flavor === 'hashicorp') return [''];
    return [...new Set(nodes)];
  }
}
