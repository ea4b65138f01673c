import type { Ask, Reply, Route } from '../types.ts';
import { findVolume, namespaceOf } from './find.ts';
import { pageOf } from './paging.ts';
import { json, queryRefusal, text } from './reply.ts';
import type { SchedulerWorld, Volume } from './state.ts';
import { volumeListItem, volumeReadJson } from './volume-view.ts';
import { volumeWriteRoutes } from './volume-writes.ts';

/** The documents' prefix rule 1: whole bytes in hexadecimal. A full node ID has dashes, which do not count. */
const isHexPrefix = (prefix: string): boolean => /^([0-9a-f]{2})*$/.test(prefix.replaceAll('-', ''));

/** The plugin parameter is a prefix in the document, and exact with Nomad, where it finds nothing over all namespaces. */
function ofPlugin({ flavor }: SchedulerWorld, ask: Ask): (volume: Volume) => boolean {
  const pluginId = ask.query.get('plugin_id') ?? '';
  if (pluginId === '') return () => true;
  if (flavor === 'documents') return (volume) => volume.pluginId.startsWith(pluginId);
  return (volume) => namespaceOf(ask) !== '*' && volume.pluginId === pluginId;
}

function onNode({ state }: SchedulerWorld, prefix: string): (volume: Volume) => boolean {
  if (prefix === '') return () => true;
  return ({ claims }) =>
    claims.some(({ allocationId }) => state.allocations.get(allocationId)?.nodeId.startsWith(prefix));
}

function listVolumes(world: SchedulerWorld, ask: Ask): Reply {
  const { state, flavor } = world;
  const type = ask.query.get('type');
  if (type === null || (type === 'host' && flavor === 'hashicorp')) return json(world, []);
  if (type !== 'csi') return text(404, 'resource not found');
  const node = ask.query.get('node_id') ?? '';
  if (flavor === 'documents' && !isHexPrefix(node))
    return text(400, 'node_id must be an even number of hexadecimal characters');
  const namespace = namespaceOf(ask);
  const prefix = flavor === 'hashicorp' ? (ask.query.get('prefix') ?? '') : '';
  const found = [...state.volumes.values()]
    .filter((volume) => namespace === '*' || volume.namespace === namespace)
    .filter((volume) => volume.id.startsWith(prefix))
    .filter(ofPlugin(world, ask))
    .filter(onNode(world, node));
  if (flavor === 'documents')
    return json(
      world,
      found.map((volume) => volumeListItem(world, volume)),
    );
  const page = pageOf(ask, flavor, found);
  if ('status' in page) return page;
  const next: Record<string, string> = page.nextToken === '' ? {} : { 'x-nomad-nexttoken': page.nextToken };
  return json(
    world,
    page.items.map((volume) => volumeListItem(world, volume)),
    next,
  );
}

export function volumeRoutes(world: SchedulerWorld): Route[] {
  return [
    { method: 'GET', path: '/volumes', answer: (ask) => queryRefusal(ask) ?? listVolumes(world, ask) },
    {
      method: 'GET',
      path: '/volume/csi/:volume_id',
      answer: (ask) => {
        const volume = findVolume(world, ask);
        return (
          queryRefusal(ask) ?? (volume ? json(world, volumeReadJson(world, volume)) : text(404, 'volume not found'))
        );
      },
    },
    ...volumeWriteRoutes(world),
  ];
}
