import { accessOf, tokenIn, tokensOf } from '../access.ts';
import type { Flavor, Service } from '../types.ts';
import { inventScheduler } from './estate.ts';
import { storageRoutes } from './external.ts';
import { passSchedulerNight } from './nights.ts';
import { policyRoutes } from './policies.ts';
import { text } from './reply.ts';
import type { SchedulerState } from './state.ts';
import { volumeRoutes } from './volumes.ts';

export interface SchedulerOptions {
  readonly seed: number;
  /** Workspaces / 240. */
  readonly scale: number;
  readonly flavor: Flavor;
  /** The present on night 0. */
  readonly start: Date;
}

/** The scheduler: ACL policies, volumes, and what its storage plugins hold. */
export function createScheduler(options: SchedulerOptions): Service & { readonly state: SchedulerState } {
  const { seed, flavor } = options;
  const world = inventScheduler(options);
  const tokens = tokensOf('scheduler', seed);
  return {
    kind: 'scheduler',
    base: '/v1',
    routes: [...policyRoutes(world), ...volumeRoutes(world), ...storageRoutes(world)],
    authenticate: (ask, write) => {
      const token = tokenIn(ask, 'x-nomad-token');
      const access = accessOf(token, tokens);
      if (access === undefined && token !== undefined && flavor === 'hashicorp')
        return text(403, 'ACL token not found');
      return access === undefined || (write && access === 'read') ? text(403, 'Permission denied') : undefined;
    },
    error: text,
    advance: (night, now) => passSchedulerNight(world, night, now),
    state: world.state,
  };
}
