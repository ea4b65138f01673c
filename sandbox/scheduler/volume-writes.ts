import { createRandom } from '../random.ts';
import { HttpError } from '../responses.ts';
import type { Request, Resource, Response, Route } from '../types.ts';
import { type Body, bytesField, objectsField, parseBody, requestNamespace, stringField } from './context.ts';
import { addExternal, type StoragePlugin } from './plugins.ts';
import type { SchedulerRecords } from './seed.ts';
import { parseCapabilities, parseDefinition, parseTopologies, refuseUnknownFields } from './volume-body.ts';
import { type VolumeRecord, volumeKey } from './volumes.ts';

type Identity = Pick<VolumeRecord, 'id' | 'namespace'>;

/** Finds or creates the external volume of one item of `Volumes`; returns its id. */
type ResolveExternal = (item: Body, identity: Identity, plugin: StoragePlugin) => string;

/** The calls that change volumes: register, create, deregister, delete, detach. */
export class VolumeWrites implements Resource {
  readonly #records: SchedulerRecords;

  constructor(records: SchedulerRecords) {
    this.#records = records;
  }

  get routes(): readonly Route[] {
    const path = '/volume/csi/:volume_id';
    const write = { writes: true, right: 'write-volume', asksPlugin: true } as const;
    const right = this.#records.context.flavor === 'spec' ? write.right : 'mount-volume';
    const register = {
      ...write,
      handle: (request: Request) => this.#save(request, (item, _, plugin) => registeredExternal(item, plugin)),
    };
    const create: ResolveExternal = (item, identity, plugin) => this.#createExternal(item, identity, plugin);
    const nomadPaths = ['PUT', 'POST'].map((method) => ({ method, path: '/volumes', ...register }));
    return [
      { method: 'PUT', path, ...register },
      ...(this.#records.context.flavor === 'hashicorp' ? nomadPaths : []),
      { method: 'PUT', path: `${path}/create`, ...write, handle: (request) => this.#save(request, create) },
      { method: 'DELETE', path, ...write, handle: (request) => this.#deregister(request) },
      { method: 'DELETE', path: `${path}/delete`, ...write, handle: (request) => this.#delete(request) },
      { method: 'DELETE', path: `${path}/detach`, ...write, right, handle: (request) => this.#detach(request) },
    ];
  }

  #find(request: Request): VolumeRecord {
    const volume = this.#records.volumes.find(request);
    if (volume) return volume;
    const isSpec = this.#records.context.flavor === 'spec';
    throw new HttpError(500, isSpec ? 'volume not found' : `volume not found: ${request.params.volume_id}`);
  }

  /** `force` drops the claims of allocations that ended; a running one still blocks. */
  #deregister(request: Request): Response {
    const volume = this.#find(request);
    const force = request.query.get('force') ?? 'false';
    if (force !== 'true' && force !== 'false') throw new HttpError(400, 'invalid force value');
    const isBlocked = force === 'true' ? this.#hasRunningClaim(volume) : volume.claims.length > 0;
    if (isBlocked) throw inUse(volume);
    return this.#remove(volume);
  }

  /** Deletes the volume in the storage provider, too. */
  #delete(request: Request): Response {
    const volume = this.#find(request);
    const plugin = this.#records.plugins.records.get(volume.pluginId);
    if (!plugin?.capabilities.includes('CREATE_DELETE_VOLUME')) throw cannotCreateOrDelete();
    if (volume.claims.length > 0) throw inUse(volume);
    plugin.externals.delete(volume.externalId);
    return this.#remove(volume);
  }

  /** Releases the claims that ended allocations hold on the node. */
  #detach(request: Request): Response {
    const volume = this.#find(request);
    const node = request.query.get('node') ?? '';
    if (node === '') throw new HttpError(400, 'detach requires node ID');
    // As measured: it never works, whoever claims the volume.
    if (this.#records.context.flavor === 'hashicorp' && !this.#records.context.canDetach)
      throw new HttpError(500, 'Unknown allocation');
    if (this.#hasRunningClaim(volume)) throw inUse(volume);
    const { records } = this.#records.allocations;
    volume.claims = volume.claims.filter(({ allocationId }) => records.get(allocationId)?.nodeId !== node);
    volume.modifyIndex = this.#records.context.nextIndex();
    return this.#records.context.empty();
  }

  #hasRunningClaim({ claims }: VolumeRecord): boolean {
    return claims.some(({ allocationId }) => this.#records.allocations.isRunning(allocationId));
  }

  #remove(volume: VolumeRecord): Response {
    this.#records.volumes.delete(volume);
    return this.#records.context.empty();
  }

  /** Saves the items of `Volumes` one by one, up to the first invalid one. */
  #save(request: Request, resolveExternal: ResolveExternal): Response {
    const items = objectsField(parseBody(request), 'Volumes');
    if (items.length === 0) throw new HttpError(400, 'missing volume definition');
    const saved = items.map((item) => {
      const identity = this.#identity(item, request);
      const plugin = this.#validate(item, identity);
      const volume = this.#createVolume(item, identity, plugin, resolveExternal(item, identity, plugin));
      this.#records.volumes.set(volume);
      return volume;
    });
    if (this.#records.context.flavor === 'spec') return this.#records.context.empty();
    return this.#records.context.json({
      Volumes: saved.map((volume) => this.#records.volumes.document(volume)),
      Warnings: '',
      Index: this.#records.context.index,
      LastContact: 0,
      KnownLeader: true,
      NextToken: '',
    });
  }

  #identity(item: Body, request: Request): Identity {
    refuseUnknownFields(item, this.#records.context.flavor);
    const inPath = this.#records.context.flavor === 'spec' ? (request.params.volume_id ?? '') : '';
    const namespace = stringField(item, 'Namespace') || requestNamespace(request);
    return { id: stringField(item, 'ID') || inPath, namespace };
  }

  /** Nomad's validation, which fails with 500: docs/services/scheduler.md#errors. Returns the plugin of the item. */
  #validate(item: Body, identity: Identity): StoragePlugin {
    if (identity.id === '') throw new HttpError(500, 'validation: missing volume id');
    const pluginId = stringField(item, 'PluginID');
    if (pluginId === '') throw new HttpError(500, 'validation: missing plugin id');
    if (objectsField(item, 'RequestedCapabilities').length === 0) {
      throw new HttpError(500, 'validation: must include at least one capability block');
    }
    this.#checkConflict(item, identity);
    const plugin = this.#records.plugins.records.get(pluginId);
    if (!plugin) throw new HttpError(500, `no such plugin: ${pluginId}`);
    return plugin;
  }

  /** Registering twice is an error in the specification; Nomad merges since 1.3.0, but not into another plugin's volume. */
  #checkConflict(item: Body, { id, namespace }: Identity): void {
    const existing = this.#records.volumes.records.get(volumeKey(namespace, id));
    if (!existing) return;
    if (this.#records.context.flavor === 'spec') throw new HttpError(500, `volume already registered: ${id}`);
    const externalId = stringField(item, 'ExternalID');
    const isMoved =
      existing.pluginId !== stringField(item, 'PluginID') || (externalId !== '' && existing.externalId !== externalId);
    if (isMoved) throw new HttpError(500, `unable to update volume: ${id}`);
  }

  #createExternal(item: Body, { id, namespace }: Identity, plugin: StoragePlugin): string {
    if (!plugin.capabilities.includes('CREATE_DELETE_VOLUME')) throw cannotCreateOrDelete();
    const [min, max] = [bytesField(item, 'RequestedCapacityMin'), bytesField(item, 'RequestedCapacityMax')];
    if (max !== 0n && max < min) {
      throw new HttpError(500, 'validation: requested capacity minimum exceeds the maximum');
    }
    const snapshotId = stringField(item, 'SnapshotID');
    if (snapshotId !== '' && !plugin.snapshots.has(snapshotId)) {
      throw new HttpError(500, `snapshot not found: ${snapshotId}`);
    }
    const existing = this.#records.volumes.records.get(volumeKey(namespace, id));
    if (existing) return existing.externalId;
    const random = createRandom(`${this.#records.context.seed}/scheduler/create/${this.#records.context.index}/${id}`);
    return addExternal(plugin, random, min === 0n ? max : min, snapshotId).id;
  }

  /** A volume as registered: schedulable and unclaimed. Secrets in the item are not stored. */
  #createVolume(item: Body, { id, namespace }: Identity, plugin: StoragePlugin, externalId: string): VolumeRecord {
    const { nodes } = this.#records.context;
    const index = this.#records.context.nextIndex();
    const replaced = this.#records.volumes.records.get(volumeKey(namespace, id));
    return {
      id,
      namespace,
      name: stringField(item, 'Name') || id,
      externalId,
      pluginId: stringField(item, 'PluginID'),
      topologies: parseTopologies(item),
      capabilities: parseCapabilities(item),
      schedulable: true,
      controllersHealthy: 1,
      controllersExpected: 1,
      nodesHealthy: nodes.length,
      nodesExpected: nodes.length,
      exhaustedAt: null,
      claims: replaced?.claims ?? [],
      secrets: replaced?.secrets ?? null,
      backupSlot: replaced?.backupSlot ?? null,
      createIndex: replaced?.createIndex ?? index,
      modifyIndex: index,
      capacityBytes: plugin.externals.get(externalId)?.capacityBytes ?? 0n,
      definition: parseDefinition(item),
    };
  }
}

/** A registered volume must exist in the storage provider. */
function registeredExternal(item: Body, plugin: StoragePlugin): string {
  const externalId = stringField(item, 'ExternalID');
  if (externalId === '') throw new HttpError(500, 'validation: missing external id');
  if (!plugin.externals.has(externalId)) {
    throw new HttpError(500, `volume does not exist in the storage provider: ${externalId}`);
  }
  return externalId;
}

function inUse({ id }: VolumeRecord): HttpError {
  return new HttpError(500, `volume in use: ${id}`);
}

function cannotCreateOrDelete(): HttpError {
  return new HttpError(500, 'plugin does not support CREATE_DELETE_VOLUME');
}
