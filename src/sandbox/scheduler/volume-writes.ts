import type { Ask, Reply, Route } from '../types.ts';
import { findVolume } from './find.ts';
import { empty, text, withBody } from './reply.ts';
import { isRunning, nextIndex, type SchedulerWorld, type Volume, volumeKey } from './state.ts';
import { create, register, takeVolumes } from './volume-take.ts';

const hasRunningClaim = ({ state }: SchedulerWorld, { claims }: Volume): boolean =>
  claims.some(({ allocationId }) => isRunning(state.allocations.get(allocationId)));

function remove({ state }: SchedulerWorld, volume: Volume): void {
  state.volumes.delete(volumeKey(volume.namespace, volume.id));
  nextIndex(state);
}

/** `force` drops the claims of allocations that ended, and still refuses where one runs. */
function deregister(world: SchedulerWorld, volume: Volume, ask: Ask): Reply {
  const force = ask.query.get('force') ?? 'false';
  if (force !== 'true' && force !== 'false') return text(400, 'invalid force value');
  const blocked = force === 'true' ? hasRunningClaim(world, volume) : volume.claims.length > 0;
  if (blocked) return text(500, `volume in use: ${volume.id}`);
  remove(world, volume);
  return empty(world);
}

function deleteVolume(world: SchedulerWorld, volume: Volume): Reply {
  const plugin = world.state.plugins.get(volume.pluginId);
  if (!plugin?.capabilities.includes('CREATE_DELETE_VOLUME'))
    return text(500, 'plugin does not support CREATE_DELETE_VOLUME');
  if (volume.claims.length > 0) return text(500, `volume in use: ${volume.id}`);
  plugin.externals.delete(volume.externalId);
  remove(world, volume);
  return empty(world);
}

/** Releases the claims that ended allocations hold on the node. */
function detach(world: SchedulerWorld, volume: Volume, ask: Ask): Reply {
  const node = ask.query.get('node') ?? '';
  if (node === '') return text(400, 'detach requires node ID');
  if (hasRunningClaim(world, volume)) return text(500, `volume in use: ${volume.id}`);
  const { allocations } = world.state;
  volume.claims = volume.claims.filter(({ allocationId }) => allocations.get(allocationId)?.nodeId !== node);
  volume.modifyIndex = nextIndex(world.state);
  return empty(world);
}

export function volumeWriteRoutes(world: SchedulerWorld): Route[] {
  const path = '/volume/csi/:volume_id';
  const onVolume = (act: (world: SchedulerWorld, volume: Volume, ask: Ask) => Reply) => (ask: Ask) => {
    const volume = findVolume(world, ask);
    return volume ? act(world, volume, ask) : text(500, 'volume not found');
  };
  const registerAll = withBody(takeVolumes(world, register(world)));
  const nomadAlias: Route[] = ['PUT', 'POST'].map((method) => ({
    method,
    path: '/volumes',
    writes: true,
    answer: registerAll,
  }));
  return [
    { method: 'PUT', path, writes: true, answer: registerAll },
    ...(world.flavor === 'hashicorp' ? nomadAlias : []),
    { method: 'PUT', path: `${path}/create`, writes: true, answer: withBody(takeVolumes(world, create(world))) },
    { method: 'DELETE', path, writes: true, answer: onVolume(deregister) },
    { method: 'DELETE', path: `${path}/delete`, writes: true, answer: onVolume(deleteVolume) },
    { method: 'DELETE', path: `${path}/detach`, writes: true, answer: onVolume(detach) },
  ];
}
