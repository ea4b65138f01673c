import { createRandom } from '../prng.ts';
import type { Ask, Reply } from '../types.ts';
import { namespaceOf } from './find.ts';
import { type Body, bytesIn, empty, itemsIn, json, mapIn, text, textIn } from './reply.ts';
import { type Capabilities, nextIndex, type Plugin, type SchedulerWorld, type Volume, volumeKey } from './state.ts';
import { addExternal } from './storage.ts';
import { volumeListItem } from './volume-view.ts';

/** Takes one item of `Volumes`; a text is the reason why not. */
type Take = (item: Body, identity: Identity, plugin: Plugin) => string | Volume;
type Identity = { readonly id: string; readonly namespace: string };

function identityOf(item: Body, ask: Ask, flavor: SchedulerWorld['flavor']): Identity {
  const inPath = flavor === 'documents' ? (ask.params.volume_id ?? '') : '';
  const namespace = textIn(item, 'Namespace') || namespaceOf(ask);
  return { id: textIn(item, 'ID') || inPath, namespace };
}

/** Nomad's validation of a volume, whose failure is a 500 there (live-services.md C1). */
function invalid(item: Body, { id }: Identity): string | undefined {
  if (id === '') return 'validation: missing volume id';
  if (textIn(item, 'PluginID') === '') return 'validation: missing plugin id';
  const capabilities = itemsIn(item, 'RequestedCapabilities');
  return capabilities.length === 0 ? 'validation: must include at least one capability block' : undefined;
}

function capabilitiesIn(item: Body): Capabilities[] {
  return itemsIn(item, 'RequestedCapabilities').map((capability) => ({
    AccessMode: textIn(capability, 'AccessMode'),
    AttachmentMode: textIn(capability, 'AttachmentMode'),
  }));
}

/** Flat maps, or Nomad's `{Segments: {…}}`. */
function topologiesIn(item: Body): Record<string, string>[] {
  return itemsIn(item, 'Topologies').map((entry) =>
    mapIn('Segments' in entry ? entry : { Segments: entry }, 'Segments'),
  );
}

/** A volume as registered: schedulable, unclaimed. Secrets that came with it are kept nowhere. */
function newVolume(world: SchedulerWorld, item: Body, { id, namespace }: Identity, externalId: string): Volume {
  const index = nextIndex(world.state);
  const pluginId = textIn(item, 'PluginID');
  const replaced = world.state.volumes.get(volumeKey(namespace, id));
  return {
    id,
    namespace,
    name: textIn(item, 'Name') || id,
    externalId,
    pluginId,
    topologies: topologiesIn(item),
    capabilities: capabilitiesIn(item),
    schedulable: true,
    controllersHealthy: 1,
    controllersExpected: 1,
    nodesHealthy: world.state.nodes.length,
    nodesExpected: world.state.nodes.length,
    exhaustedAt: null,
    claims: replaced?.claims ?? [],
    secrets: replaced?.secrets ?? null,
    backupSlot: replaced?.backupSlot ?? null,
    createIndex: replaced?.createIndex ?? index,
    modifyIndex: index,
  };
}

/** Registering twice is an error in the document; Nomad merges since 1.3.0, but not into another plugin's volume. */
function conflict({ state, flavor }: SchedulerWorld, item: Body, { id, namespace }: Identity): string | undefined {
  const existing = state.volumes.get(volumeKey(namespace, id));
  if (!existing) return undefined;
  if (flavor === 'documents') return `volume already registered: ${id}`;
  const externalId = textIn(item, 'ExternalID');
  const moved =
    existing.pluginId !== textIn(item, 'PluginID') || (externalId !== '' && existing.externalId !== externalId);
  return moved ? `unable to update volume: ${id}` : undefined;
}

export function register(world: SchedulerWorld): Take {
  return (item, identity, plugin) => {
    const externalId = textIn(item, 'ExternalID');
    if (externalId === '') return 'validation: missing external id';
    // Rule 4: it must be there in the storage already.
    if (!plugin.externals.has(externalId)) return `volume does not exist in the storage provider: ${externalId}`;
    return newVolume(world, item, identity, externalId);
  };
}

export function create(world: SchedulerWorld): Take {
  return (item, identity, plugin) => {
    if (!plugin.capabilities.includes('CREATE_DELETE_VOLUME')) return 'plugin does not support CREATE_DELETE_VOLUME';
    const [min, max] = [bytesIn(item, 'RequestedCapacityMin'), bytesIn(item, 'RequestedCapacityMax')];
    if (max !== 0n && max < min) return 'validation: requested capacity minimum exceeds the maximum';
    const snapshotId = textIn(item, 'SnapshotID');
    if (snapshotId !== '' && !plugin.snapshots.has(snapshotId)) return `snapshot not found: ${snapshotId}`;
    const existing = world.state.volumes.get(volumeKey(identity.namespace, identity.id));
    if (existing) return newVolume(world, item, identity, existing.externalId);
    const random = createRandom(`${world.seed}/scheduler/create/${world.state.index}/${identity.id}`);
    return newVolume(world, item, identity, addExternal(plugin, random, min === 0n ? max : min, snapshotId).id);
  };
}

export function takeVolumes(world: SchedulerWorld, take: Take): (body: Body, ask: Ask) => Reply {
  const { state, flavor } = world;
  return (body, ask) => {
    const items = itemsIn(body, 'Volumes');
    if (items.length === 0) return text(400, 'missing volume definition');
    const taken: Volume[] = [];
    for (const item of items) {
      const identity = identityOf(item, ask, flavor);
      const plugin = state.plugins.get(textIn(item, 'PluginID'));
      const reason = invalid(item, identity) ?? conflict(world, item, identity);
      if (reason !== undefined) return text(500, reason);
      if (!plugin) return text(500, `no such plugin: ${textIn(item, 'PluginID')}`);
      const volume = take(item, identity, plugin);
      if (typeof volume === 'string') return text(500, volume);
      state.volumes.set(volumeKey(volume.namespace, volume.id), volume);
      taken.push(volume);
    }
    if (flavor === 'documents') return empty(world);
    const Volumes = taken.map((volume) => volumeListItem(world, volume));
    return json(world, { Volumes, Warnings: '', Index: state.index, LastContact: 0, KnownLeader: true, NextToken: '' });
  };
}
