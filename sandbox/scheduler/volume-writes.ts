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
  refuseUnknownFields,
  requestNamespace,
  type SchedulerContext,
  stringField,
} from './context.ts';
import { addExternal, lacking } from './plugins.ts';
import type { VolumeCapability, VolumeDefinition, VolumeRecord } from './records.ts';
import { deleteVolume, findVolume, setVolume, volumeDocument, volumeKey } from './volumes.ts';

/** An item of `Volumes`, with what it names. */
type Item = ReturnType<typeof parseItem>;

/** The calls that change volumes: register, create, deregister, delete, detach. */
export const volumeWriteRoutes = (flavor: Flavor): RouteTable<SchedulerContext> => {
  const path = '/volume/csi/:volume_id';
  const write = { right: 'write-volume', asksPlugin: true } as const;
  const right = flavor === 'spec' ? write.right : 'mount-volume';
  const register = save(registeredExternal);
  const nomadPaths = {
    'PUT /volumes': { ...write, handle: register },
    'POST /volumes': { ...write, handle: register },
  };
  return {
    [`PUT ${path}`]: { ...write, handle: register },
    ...(flavor === 'hashicorp' && nomadPaths),
    [`PUT ${path}/create`]: { ...write, handle: save(createExternal) },
    [`DELETE ${path}`]: { ...write, handle: deregister },
    [`DELETE ${path}/delete`]: { ...write, handle: destroy },
    [`DELETE ${path}/detach`]: { ...write, right, handle: detach },
  };
};

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
  deleteVolume(context, volume);
  return context.empty();
}

/** Deletes the volume in the storage provider, too. As measured, Nomad does so before it looks for claims. */
function destroy(request: Request, context: SchedulerContext): Response {
  const volume = requireVolume(request, context);
  const plugin = context.plugins.get(volume.pluginId);
  if (!plugin?.capabilities.includes('CREATE_DELETE_VOLUME')) throw lacking('CREATE_DELETE_VOLUME');
  const isInUse = volume.claims.length > 0;
  if (!isInUse || context.flavor === 'hashicorp') plugin.externals.delete(volume.externalId);
  if (isInUse) throw inUse(volume);
  deleteVolume(context, volume);
  return context.empty();
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

/** Saves the items of `Volumes` one by one, up to the first invalid one. @param resolve finds or creates the external volume */
const save = (resolve: typeof createExternal) => (request: Request, context: SchedulerContext) => {
  const items = objectsField(parseBody(request), 'Volumes');
  if (items.length === 0) throw new HttpError(400, 'missing volume definition');
  const saved = items.map((body) => {
    const item = parseItem(context, body, request);
    return saveVolume(context, item, resolve(item, context));
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
};

/** Nomad's validation, which fails with 500: docs/services/scheduler.md#errors. */
function parseItem(context: SchedulerContext, body: Body, request: Request) {
  const isSpec = context.flavor === 'spec';
  refuseUnknownFields(body, isSpec ? FIELDS : [...FIELDS, ...READ_ONLY]);
  const id = stringField(body, 'ID') || (isSpec ? (request.params.volume_id ?? '') : '');
  const namespace = stringField(body, 'Namespace') || requestNamespace(request);
  const pluginId = stringField(body, 'PluginID');
  if (id === '') throw new HttpError(500, 'validation: missing volume id');
  if (pluginId === '') throw new HttpError(500, 'validation: missing plugin id');
  if (objectsField(body, 'RequestedCapabilities').length === 0) {
    throw new HttpError(500, 'validation: must include at least one capability block');
  }
  /** The volume that has this name already. */
  const replaced = context.volumes.get(volumeKey(namespace, id));
  // Registering twice is an error in the specification; Nomad merges since 1.3.0, but not into another plugin's volume.
  if (replaced && isSpec) throw new HttpError(500, `volume already registered: ${id}`);
  const externalId = stringField(body, 'ExternalID') || replaced?.externalId;
  const isMoved = replaced && (replaced.pluginId !== pluginId || replaced.externalId !== externalId);
  if (isMoved) throw new HttpError(500, `unable to update volume: ${id}`);
  const plugin = context.plugins.get(pluginId);
  if (!plugin) throw new HttpError(500, `no such plugin: ${pluginId}`);
  return { body, id, namespace, plugin, replaced };
}

function createExternal({ body, id, plugin, replaced }: Item, context: SchedulerContext): string {
  if (!plugin.capabilities.includes('CREATE_DELETE_VOLUME')) throw lacking('CREATE_DELETE_VOLUME');
  const [min, max] = [bytesField(body, 'RequestedCapacityMin'), bytesField(body, 'RequestedCapacityMax')];
  if (max !== 0n && max < min) {
    throw new HttpError(500, 'validation: requested capacity minimum exceeds the maximum');
  }
  const snapshotId = stringField(body, 'SnapshotID');
  if (snapshotId !== '' && !plugin.snapshots.has(snapshotId)) {
    throw new HttpError(500, `snapshot not found: ${snapshotId}`);
  }
  if (replaced) return replaced.externalId;
  const random = createRandom(`${context.seed}/scheduler/create/${context.index}/${id}`);
  return addExternal(plugin, random, min === 0n ? max : min, snapshotId).id;
}

/** A registered volume must exist in the storage provider. */
function registeredExternal({ body, plugin }: Item): string {
  const externalId = stringField(body, 'ExternalID');
  if (externalId === '') throw new HttpError(500, 'validation: missing external id');
  if (plugin.externals.has(externalId)) return externalId;
  throw new HttpError(500, `volume does not exist in the storage provider: ${externalId}`);
}

/** A volume that is registered again keeps its claims. Secrets in the item are not stored. */
function saveVolume(context: SchedulerContext, item: Item, externalId: string): VolumeRecord {
  const { body, id, namespace, plugin, replaced } = item;
  return setVolume(context, {
    id,
    namespace,
    name: stringField(body, 'Name') || id,
    externalId,
    pluginId: plugin.id,
    topologies: parseTopologies(body),
    capabilities: parseCapabilities(body),
    definition: parseDefinition(body, plugin.externals.get(externalId)?.capacityBytes ?? 0n),
    ...(replaced && keptFields(replaced)),
  });
}

const keptFields = ({ claims, secrets, backupSlot, createIndex }: VolumeRecord) => ({
  claims,
  secrets,
  backupSlot,
  createIndex,
});

function inUse({ id }: VolumeRecord): HttpError {
  return new HttpError(500, `volume in use: ${id}`);
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
