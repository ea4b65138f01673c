import { createRandom } from '../prng.ts';
import type { Ask, Reply, Route } from '../types.ts';
import { findVolume } from './find.ts';
import { pageOf } from './paging.ts';
import { type Body, empty, itemsIn, json, mapIn, queryRefusal, text, textIn, withBody } from './reply.ts';
import {
  type Capability,
  type ExternalVolume,
  isRunning,
  nextIndex,
  type Plugin,
  type SchedulerWorld,
  type Snapshot,
} from './state.ts';
import { addSnapshot, externalOf, providerNodeId, volumesOf } from './storage.ts';

/** The plugin that a query names, with the capability that the call needs; a reply says what is wrong. */
function pluginFor({ state, flavor }: SchedulerWorld, ask: Ask, capability: Capability): Plugin | Reply {
  const wanted = ask.query.get('plugin_id') ?? '';
  if (wanted === '') return text(400, 'missing plugin ID');
  const byPrefix =
    flavor === 'documents' ? [...state.plugins.keys()].sort().find((id) => id.startsWith(wanted)) : undefined;
  const plugin = state.plugins.get(wanted) ?? state.plugins.get(byPrefix ?? '');
  if (!plugin) return text(500, `no such plugin: ${wanted}`);
  return plugin.capabilities.includes(capability) ? plugin : text(500, `plugin does not support ${capability}`);
}

function externalJson({ state }: SchedulerWorld, plugin: Plugin, external: ExternalVolume) {
  const claims = volumesOf(state, plugin.id, external.id).flatMap((volume) => volume.claims);
  const nodes = claims
    .map(({ allocationId }) => state.allocations.get(allocationId))
    .filter((allocation) => allocation !== undefined && isRunning(allocation))
    .map((allocation) => providerNodeId(allocation!.nodeId));
  return {
    ExternalID: external.id,
    CapacityBytes: external.capacityBytes,
    SnapshotID: external.snapshotId,
    PublishedExternalNodeIDs: [...new Set(nodes)],
    IsAbnormal: external.abnormal,
    Status: external.status,
  };
}

function listExternal(world: SchedulerWorld, ask: Ask): Reply {
  const plugin = pluginFor(world, ask, 'LIST_VOLUMES');
  if ('status' in plugin) return plugin;
  const page = pageOf(ask, world.flavor, plugin.externals.values());
  if ('status' in page) return page;
  const Volumes = page.items.map((external) => externalJson(world, plugin, external));
  return json(world, { NextToken: page.nextToken, Volumes });
}

/** Seconds since 1970 (live-services.md C3). */
const unixSeconds = (date: Date): number => Math.floor(date.getTime() / 1000);

function snapshotJson({ flavor }: SchedulerWorld, plugin: Plugin, snapshot: Snapshot) {
  return {
    CreateTime: unixSeconds(snapshot.createdAt),
    ExternalSourceVolumeID: snapshot.sourceId,
    ID: snapshot.id,
    IsReady: snapshot.ready,
    Parameters: snapshot.parameters,
    PluginID: plugin.id,
    SizeBytes: snapshot.sizeBytes,
    ...(flavor === 'hashicorp' ? { Name: '', SourceVolumeID: '' } : {}),
  };
}

function listSnapshots(world: SchedulerWorld, ask: Ask): Reply {
  const plugin = pluginFor(world, ask, 'LIST_SNAPSHOTS');
  if ('status' in plugin) return plugin;
  const page = pageOf(ask, world.flavor, plugin.snapshots.values());
  if ('status' in page) return page;
  return json(world, {
    NextToken: page.nextToken,
    Snapshots: page.items.map((item) => snapshotJson(world, plugin, item)),
  });
}

/** Takes one item of `Snapshots`; a text is the reason why not. */
function takeSnapshot(world: SchedulerWorld, item: Body, ask: Ask): string | Readonly<Record<string, unknown>> {
  const { state, flavor, seed } = world;
  const id = textIn(item, 'SourceVolumeID') || (ask.params.volume_id ?? '');
  const volume = findVolume(world, ask, id);
  if (!volume) return `volume not found: ${id}`;
  const plugin = state.plugins.get(textIn(item, 'PluginID') || volume.pluginId);
  if (!plugin) return `no such plugin: ${textIn(item, 'PluginID')}`;
  if (!plugin.capabilities.includes('CREATE_DELETE_SNAPSHOT')) return 'plugin does not support CREATE_DELETE_SNAPSHOT';
  const external = plugin.id === volume.pluginId ? externalOf(state, volume) : undefined;
  if (!external) return `rpc error: volume ${volume.externalId} not found in the storage provider`;
  const random = createRandom(`${seed}/scheduler/snapshot/${nextIndex(state)}`);
  const snapshot = addSnapshot(plugin, random, external, ask.now, mapIn(item, 'Parameters'));
  snapshot.ready = !plugin.slowSnapshots;
  return {
    ID: snapshot.id,
    SourceVolumeID: flavor === 'hashicorp' ? '' : volume.id,
    ...(flavor === 'hashicorp' ? { ExternalSourceVolumeID: external.id, PluginID: plugin.id } : {}),
    SizeBytes: snapshot.sizeBytes,
    CreateTime: unixSeconds(snapshot.createdAt),
    IsReady: snapshot.ready,
  };
}

function createSnapshots(world: SchedulerWorld): (ask: Ask) => Reply {
  return withBody((body, ask) => {
    const items = itemsIn(body, 'Snapshots');
    if (items.length === 0) return text(400, 'missing snapshot definition');
    const taken: Readonly<Record<string, unknown>>[] = [];
    for (const item of items) {
      const snapshot = takeSnapshot(world, item, ask);
      if (typeof snapshot === 'string') return text(500, snapshot);
      taken.push(snapshot);
    }
    return json(world, { Snapshots: taken });
  });
}

/** A snapshot that is gone already counts as deleted, as the container storage interface demands. */
function deleteSnapshot(world: SchedulerWorld, ask: Ask): Reply {
  const id = ask.query.get('snapshot_id') ?? '';
  const plugin = pluginFor(world, ask, 'CREATE_DELETE_SNAPSHOT');
  if ('status' in plugin) return plugin;
  if (id === '') return text(400, 'missing snapshot ID');
  plugin.snapshots.delete(id);
  return empty(world);
}

/** Where each flavor takes new snapshots, and what Nomad says on the documents' paths (live-services.md C3). */
function createRoutes(world: SchedulerWorld): Route[] {
  const answer = createSnapshots(world);
  if (world.flavor === 'documents')
    return [{ method: 'PUT', path: '/volumes/snapshot/:volume_id', writes: true, answer }];
  const notFound = () => text(404, 'resource not found');
  return [
    { method: 'PUT', path: '/volumes/snapshot', writes: true, answer },
    { method: 'POST', path: '/volumes/snapshot', writes: true, answer },
    { method: 'PUT', path: '/volume/csi/:volume_id/snapshot', writes: true, answer: notFound },
  ];
}

export function storageRoutes(world: SchedulerWorld): Route[] {
  const path = '/volumes/snapshot';
  return [
    { method: 'GET', path: '/volumes/external', answer: (ask) => queryRefusal(ask) ?? listExternal(world, ask) },
    { method: 'GET', path, answer: (ask) => queryRefusal(ask) ?? listSnapshots(world, ask) },
    { method: 'DELETE', path, writes: true, answer: (ask) => deleteSnapshot(world, ask) },
    ...createRoutes(world),
  ];
}
