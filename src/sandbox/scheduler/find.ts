import type { Ask } from '../types.ts';
import { type SchedulerWorld, type Volume, volumeKey } from './state.ts';

export function namespaceOf({ query }: Ask): string {
  return query.get('namespace') ?? 'default';
}

/** The volume of the path's ID, in the one namespace of the query: `*` stands for all on lists only. */
export function findVolume({ state }: SchedulerWorld, ask: Ask, id = ask.params.volume_id ?? ''): Volume | undefined {
  return state.volumes.get(volumeKey(namespaceOf(ask), id));
}
