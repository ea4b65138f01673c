import { createRandom } from '../random.ts';
import { HttpError } from '../responses.ts';
import type { Request, Resource, Response, Route } from '../types.ts';
import type { Allocations } from './allocations.ts';
import {
  type Body,
  checkBlockingQuery,
  mapField,
  objectsField,
  paginate,
  parseBody,
  type SchedulerContext,
  stringField,
} from './context.ts';
import {
  addSnapshot,
  type ExternalVolumeRecord,
  type Plugins,
  providerNodeId,
  type SnapshotRecord,
  type StoragePlugin,
} from './plugins.ts';
import type { Volumes } from './volumes.ts';

/** docs/services/scheduler.md#snapshots. */
export class VolumeSnapshots implements Resource {
  readonly #context: SchedulerContext;
  readonly #plugins: Plugins;
  readonly #volumes: Volumes;

  constructor(context: SchedulerContext, plugins: Plugins, volumes: Volumes) {
    this.#context = context;
    this.#plugins = plugins;
    this.#volumes = volumes;
  }

  get routes(): readonly Route[] {
    const path = '/volumes/snapshot';
    const create = { writes: true, handle: (request: Request) => this.#create(request) };
    const common: readonly Route[] = [
      { method: 'GET', path, handle: (request) => this.#list(request) },
      { method: 'DELETE', path, writes: true, handle: (request) => this.#delete(request) },
    ];
    if (this.#context.flavor === 'spec') return [...common, { method: 'PUT', path: `${path}/:volume_id`, ...create }];
    return [
      ...common,
      { method: 'PUT', path, ...create },
      { method: 'POST', path, ...create },
      // Nomad does not have this path of the specification.
      { method: 'PUT', path: '/volume/csi/:volume_id/snapshot', writes: true, handle: notFound },
    ];
  }

  #list(request: Request): Response {
    checkBlockingQuery(request);
    const plugins = this.#plugins.select(request, 'LIST_SNAPSHOTS');
    const taken = plugins.flatMap((plugin) =>
      [...plugin.snapshots.values()].map((snapshot) => ({ ...snapshot, plugin })),
    );
    const page = paginate(request, this.#context.flavor, taken);
    return this.#context.pluginList({
      NextToken: page.nextToken,
      Snapshots: page.items.map((snapshot) => this.#object(snapshot.plugin, snapshot)),
    });
  }

  /** Creates the items of `Snapshots` one by one, up to the first invalid one. */
  #create(request: Request): Response {
    const items = objectsField(parseBody(request), 'Snapshots');
    if (items.length === 0) throw new HttpError(400, 'missing snapshot definition');
    return this.#context.pluginList({ Snapshots: items.map((item) => this.#createOne(item, request)) });
  }

  #createOne(item: Body, request: Request): Readonly<Record<string, unknown>> {
    const isHashicorp = this.#context.flavor === 'hashicorp';
    refuseUnknownFields(item);
    const id = stringField(item, 'SourceVolumeID') || (request.params.volume_id ?? '');
    const volume = this.#volumes.find(request, id);
    if (!volume) throw new HttpError(500, `volume not found: ${id}`);
    const plugin = this.#plugins.records.get(stringField(item, 'PluginID') || volume.pluginId);
    if (!plugin) throw new HttpError(500, `no such plugin: ${stringField(item, 'PluginID')}`);
    if (!plugin.capabilities.includes('CREATE_DELETE_SNAPSHOT')) {
      throw new HttpError(500, 'plugin does not support CREATE_DELETE_SNAPSHOT');
    }
    const external = plugin.id === volume.pluginId ? this.#volumes.external(volume) : undefined;
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
    if (name === '' || this.#context.flavor === 'spec') return undefined;
    return [...plugin.snapshots.values()].find((snapshot) => snapshot.name === name);
  }

  #take(plugin: StoragePlugin, external: ExternalVolumeRecord, item: Body, now: Date): SnapshotRecord {
    const random = createRandom(`${this.#context.seed}/scheduler/snapshot/${this.#context.nextIndex()}`);
    const parameters = mapField(item, 'Parameters');
    const snapshot = addSnapshot(plugin, random, external, now, parameters, stringField(item, 'Name'));
    snapshot.ready = !plugin.hasSlowSnapshots;
    return snapshot;
  }

  /** Deleting a snapshot that does not exist succeeds, as the Container Storage Interface requires. */
  #delete(request: Request): Response {
    const id = request.query.get('snapshot_id') ?? '';
    const plugins = this.#plugins.select(request, 'CREATE_DELETE_SNAPSHOT');
    if (id === '') throw new HttpError(400, 'missing snapshot ID');
    for (const plugin of plugins) plugin.snapshots.delete(id);
    return this.#context.empty();
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
      ...(this.#context.flavor === 'hashicorp' ? LIVE_FIELDS : {}),
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
  readonly #context: SchedulerContext;
  readonly #plugins: Plugins;
  readonly #allocations: Allocations;
  readonly #volumes: Volumes;

  constructor(context: SchedulerContext, plugins: Plugins, allocations: Allocations, volumes: Volumes) {
    this.#context = context;
    this.#plugins = plugins;
    this.#allocations = allocations;
    this.#volumes = volumes;
  }

  get routes(): readonly Route[] {
    return [{ method: 'GET', path: '/volumes/external', handle: (request) => this.#list(request) }];
  }

  #list(request: Request): Response {
    checkBlockingQuery(request);
    const plugins = this.#plugins.selectOrAll(request, 'LIST_VOLUMES');
    const held = plugins.flatMap((plugin) =>
      [...plugin.externals.values()].map((external) => ({ ...external, plugin })),
    );
    const page = paginate(request, this.#context.flavor, held);
    return this.#context.pluginList({
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
      ...(this.#context.flavor === 'hashicorp' ? { CloneID: '', VolumeContext: null } : {}),
    };
  }

  /** The nodes of running allocations that claim the volume. */
  #publishedNodes(plugin: StoragePlugin, external: ExternalVolumeRecord): string[] {
    const nodes = this.#volumes
      .findByExternal(plugin.id, external.id)
      .flatMap(({ claims }) => claims)
      .filter(({ allocationId }) => this.#allocations.isRunning(allocationId))
      .map(({ allocationId }) => providerNodeId(this.#allocations.records.get(allocationId)!.nodeId));
    // A driver without a node says so with one empty ID.
    if (nodes.length === 0 && this.#context.flavor === 'hashicorp') return [''];
    return [...new Set(nodes)];
  }
}
