import { createRandom, words } from '../random.ts';
import { HttpError } from '../router.ts';
import type { Flavor, Request, Response, RouteTable } from '../types.ts';
import { isRunning } from './allocations.ts';
import {
  type Body,
  bytesField,
  mapField,
  objectsField,
  parseBody,
  requestNamespace,
  type SchedulerContext,
  stringField,
} from './context.ts';
import { addExternal } from './plugins.ts';
import type { StoragePlugin, VolumeCapability, VolumeDefinition, VolumeRecord } from './records.ts';
import { deleteVolume, findVolume, setVolume, volumeDocument, volumeKey } from './volumes.ts';

type Identity = Pick<VolumeRecord, 'id' | 'namespace'>;

/** Finds or creates the external volume of one item of `Volumes`; returns its id. */
type ResolveExternal = (item: Body, identity: Identity, plugin: StoragePlugin) => string;

/** The calls that change volumes: register, create, deregister, delete, detach. */
export const volumeWriteRoutes = (flavor: Flavor): RouteTable<SchedulerContext> => {
  const path = '/volume/csi/:volume_id';
  const write = { right: 'write-volume', asksPlugin: true } as const;
  const right = flavor === 'spec' ? write.right : 'mount-volume';
  const nomadPaths = {
    'PUT /volumes': { ...write, handle: register },
    'POST /volumes': { ...write, handle: register },
  };
  return {
    [`PUT ${path}`]: { ...write, handle: register },
    ...(flavor === 'hashicorp' && nomadPaths),
    [`PUT ${path}/create`]: { ...write, handle: create },
    [`DELETE ${path}`]: { ...write, handle: deregister },
    [`DELETE ${path}/delete`]: { ...write, handle: destroy },
    [`DELETE ${path}/detach`]: { ...write, right, handle: detach },
  };
};

function register(request: Request, context: SchedulerContext): Response {
  return save(context, request, (item, _, plugin) => registeredExternal(item, plugin));
}

function create(request: Request, context: SchedulerContext): Response {
  return save(context, request, (item, identity, plugin) => createExternal(context, item, identity, plugin));
}

function requireVolume(request: Request, context: SchedulerContext): VolumeRecord {
  const volume = findVolume(context, request);
  if (volume) return volume;
  const isSpec = context.flavor === 'spec';
  throw new HttpError(500, isSpec ? 'volume not found' : `volume not found: ${request.params.volume_id}`);
}

/** `force` drops the claims of allocations that ended; a running one still blocks. */
function deregister(request: Request, context: SchedulerContext): Response {
  const volume = requireVolume(request, context);
  const force = request.query.get('force') ?? 'false';
  if (force !== 'true' && force !== 'false') throw new HttpError(400, 'invalid force value');
  const isBlocked = force === 'true' ? hasRunningClaim(context, volume) : volume.claims.length > 0;
  if (isBlocked) throw inUse(volume);
  return remove(context, volume);
}

/** Deletes the volume in the storage provider, too. */
function destroy(request: Request, context: SchedulerContext): Response {
  const volume = requireVolume(request, context);
  const plugin = context.plugins.get(volume.pluginId);
  if (!plugin?.capabilities.includes('CREATE_DELETE_VOLUME')) throw cannotCreateOrDelete();
  if (volume.claims.length > 0) throw inUse(volume);
  plugin.externals.delete(volume.externalId);
  return remove(context, volume);
}

/** Releases the claims that ended allocations hold on the node. */
function detach(request: Request, context: SchedulerContext): Response {
  const volume = requireVolume(request, context);
  const node = request.query.get('node') ?? '';
  if (node === '') throw new HttpError(400, 'detach requires node ID');
  // As measured: it never works, whoever claims the volume.
  if (context.flavor === 'hashicorp' && !context.canDetach) throw new HttpError(500, 'Unknown allocation');
  if (hasRunningClaim(context, volume)) throw inUse(volume);
  const { allocations } = context;
  volume.claims = volume.claims.filter(({ allocationId }) => allocations.get(allocationId)?.nodeId !== node);
  volume.modifyIndex = context.nextIndex();
  return context.empty();
}

function hasRunningClaim(context: SchedulerContext, { claims }: VolumeRecord): boolean {
  return claims.some(({ allocationId }) => isRunning(context, allocationId));
}

function remove(context: SchedulerContext, volume: VolumeRecord): Response {
  deleteVolume(context, volume);
  return context.empty();
}

/** Saves the items of `Volumes` one by one, up to the first invalid one. */
function save(context: SchedulerContext, request: Request, resolveExternal: ResolveExternal): Response {
  const items = objectsField(parseBody(request), 'Volumes');
  if (items.length === 0) throw new HttpError(400, 'missing volume definition');
  const saved = items.map((item) => {
    const identity = identify(context, item, request);
    const plugin = validateItem(context, item, identity);
    return saveVolume(context, item, identity, plugin, resolveExternal(item, identity, plugin));
  });
  if (context.flavor === 'spec') return context.empty();
  return context.json({
    Volumes: saved.map((volume) => volumeDocument(context, volume)),
    Warnings: '',
    Index: context.index,
    LastContact: 0,
    KnownLeader: true,
    NextToken: '',
  });
}

function identify(context: SchedulerContext, item: Body, request: Request): Identity {
  refuseUnknownFields(item, context.flavor);
  const inPath = context.flavor === 'spec' ? (request.params.volume_id ?? '') : '';
  const namespace = stringField(item, 'Namespace') || requestNamespace(request);
  return { id: stringField(item, 'ID') || inPath, namespace };
}

/** Nomad's validation, which fails with 500: docs/services/scheduler.md#errors. Returns the plugin of the item. */
function validateItem(context: SchedulerContext, item: Body, identity: Identity): StoragePlugin {
  if (identity.id === '') throw new HttpError(500, 'validation: missing volume id');
  const pluginId = stringField(item, 'PluginID');
  if (pluginId === '') throw new HttpError(500, 'validation: missing plugin id');
  if (objectsField(item, 'RequestedCapabilities').length === 0) {
    throw new HttpError(500, 'validation: must include at least one capability block');
  }
  checkConflict(context, item, identity);
  const plugin = context.plugins.get(pluginId);
  if (!plugin) throw new HttpError(500, `no such plugin: ${pluginId}`);
  return plugin;
}

/** Registering twice is an error in the specification; Nomad merges since 1.3.0, but not into another plugin's volume. */
function checkConflict(context: SchedulerContext, item: Body, { id, namespace }: Identity): void {
  const existing = context.volumes.get(volumeKey(namespace, id));
  if (!existing) return;
  if (context.flavor === 'spec') throw new HttpError(500, `volume already registered: ${id}`);
  const externalId = stringField(item, 'ExternalID');
  const isMoved =
    existing.pluginId !== stringField(item, 'PluginID') || (externalId !== '' && existing.externalId !== externalId);
  if (isMoved) throw new HttpError(500, `unable to update volume: ${id}`);
}

function createExternal(
  context: SchedulerContext,
  item: Body,
  { id, namespace }: Identity,
  plugin: StoragePlugin,
): string {
  if (!plugin.capabilities.includes('CREATE_DELETE_VOLUME')) throw cannotCreateOrDelete();
  const [min, max] = [bytesField(item, 'RequestedCapacityMin'), bytesField(item, 'RequestedCapacityMax')];
  if (max !== 0n && max < min) {
    throw new HttpError(500, 'validation: requested capacity minimum exceeds the maximum');
  }
  const snapshotId = stringField(item, 'SnapshotID');
  if (snapshotId !== '' && !plugin.snapshots.has(snapshotId)) {
    throw new HttpError(500, `snapshot not found: ${snapshotId}`);
  }
  const existing = context.volumes.get(volumeKey(namespace, id));
  if (existing) return existing.externalId;
  const random = createRandom(`${context.seed}/scheduler/create/${context.index}/${id}`);
  return addExternal(plugin, random, min === 0n ? max : min, snapshotId).id;
}

/** A volume that is registered again keeps its claims. Secrets in the item are not stored. */
function saveVolume(
  context: SchedulerContext,
  item: Body,
  { id, namespace }: Identity,
  plugin: StoragePlugin,
  externalId: string,
): VolumeRecord {
  const replaced = context.volumes.get(volumeKey(namespace, id));
  return setVolume(context, {
    id,
    namespace,
    name: stringField(item, 'Name') || id,
    externalId,
    pluginId: stringField(item, 'PluginID'),
    topologies: parseTopologies(item),
    capabilities: parseCapabilities(item),
    definition: parseDefinition(item, plugin.externals.get(externalId)?.capacityBytes ?? 0n),
    ...(replaced && keptFields(replaced)),
  });
}

const keptFields = ({ claims, secrets, backupSlot, createIndex }: VolumeRecord) => ({
  claims,
  secrets,
  backupSlot,
  createIndex,
});

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

/** Every field of a volume in the documents of the two flavors: what is read by the service is no input. */
const FIELDS = words(`
  ID Name Namespace ExternalID PluginID SnapshotID CloneID AccessMode AttachmentMode RequestedCapabilities
  RequestedCapacityMin RequestedCapacityMax RequestedTopologies Topologies MountOptions Secrets Parameters
  Context Type
`);

/** What Nomad returns and does not read: its clients send all fields of their structure, empty ones too. */
const READ_ONLY = words(`
  Allocations ReadAllocs WriteAllocs Schedulable Provider ProviderVersion ControllerRequired ControllersHealthy
  ControllersExpected NodesHealthy NodesExpected ResourceExhausted Capacity CreateIndex ModifyIndex CreateTime
  ModifyTime ExtraKeysHCL
`);

/** @throws HttpError 400 for a field that would not be kept */
function refuseUnknownFields(item: Body, flavor: Flavor): void {
  const known = flavor === 'spec' ? FIELDS : [...FIELDS, ...READ_ONLY];
  const unknown = Object.keys(item).find((field) => !known.includes(field));
  if (unknown !== undefined) throw new HttpError(400, `unknown field ${unknown}`);
}

/** FSType is FsType in the specification; Go reads both. */
function parseDefinition(item: Body, capacityBytes: bigint): VolumeDefinition {
  const options = item.MountOptions as Body | null | undefined;
  const flags = options?.MountFlags;
  return {
    MountOptions: options
      ? {
          FSType: stringField(options, 'FSType') || stringField(options, 'FsType'),
          MountFlags: Array.isArray(flags) ? flags.map(String) : [],
        }
      : null,
    Parameters: item.Parameters ? mapField(item, 'Parameters') : null,
    Context: item.Context ? mapField(item, 'Context') : null,
    RequestedTopologies: item.RequestedTopologies ?? null,
    Capacity: capacityBytes,
    RequestedCapacityMin: bytesField(item, 'RequestedCapacityMin'),
    RequestedCapacityMax: bytesField(item, 'RequestedCapacityMax'),
    CloneID: stringField(item, 'CloneID'),
    SnapshotID: stringField(item, 'SnapshotID'),
  };
}

function parseCapabilities(item: Body): VolumeCapability[] {
  return objectsField(item, 'RequestedCapabilities').map((capability) => ({
    AccessMode: stringField(capability, 'AccessMode'),
    AttachmentMode: stringField(capability, 'AttachmentMode'),
  }));
}

/** Flat maps, or Nomad's `{Segments: {…}}`. */
function parseTopologies(item: Body): Record<string, string>[] {
  return objectsField(item, 'Topologies').map((entry) =>
    mapField('Segments' in entry ? entry : { Segments: entry }, 'Segments'),
  );
}
