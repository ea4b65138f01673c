import { accessOf, tokenIn, tokensOf } from '../access.ts';
import type { Flavor, Reply, Route, Service } from '../types.ts';
import { inventSecrets } from './estate.ts';
import { keyRoutes } from './keys.ts';
import { meshRoutes } from './mesh.ts';
import { passNight } from './nights.ts';
import { providerRoutes } from './providers.ts';
import { refuse } from './reply.ts';
import type { SecretsState } from './state.ts';

export interface SecretsOptions {
  readonly seed: number;
  /** Workspaces / 240. */
  readonly scale: number;
  readonly flavor: Flavor;
  /** The present on night 0. */
  readonly start: Date;
}

/** Vault's clients ask for a list with a slash at the end. */
const withSlash = (route: Route): Route[] =>
  route.method === 'LIST' ? [route, { ...route, path: `${route.path}/` }] : [route];

/** Vault wraps its router's refusals (live-services.md B1). */
const wrapped = (message: string): string => `1 error occurred:\n\t* ${message}\n\n`;

function error(status: number, message: string): Reply {
  return refuse(status, status === 403 || status === 405 ? wrapped(message) : message);
}

/** The key management engine and the mesh credentials engine of one secrets server. */
export function createSecrets({
  seed,
  scale,
  flavor,
  start,
}: SecretsOptions): Service & { readonly state: SecretsState } {
  const world = inventSecrets({ seed, scale, flavor, start });
  const tokens = tokensOf('secrets', seed);
  const header = flavor === 'hashicorp' ? 'x-vault-token' : 'x-store-token';
  return {
    kind: 'secrets',
    base: '/v1',
    routes: [...keyRoutes(world), ...providerRoutes(world), ...meshRoutes(world)].flatMap(withSlash),
    authenticate: (ask, write) => {
      const access = accessOf(tokenIn(ask, header), tokens);
      return access === undefined || (write && access === 'read') ? error(403, 'permission denied') : undefined;
    },
    error,
    advance: (night, now) => passNight(world, night, now),
    state: world.state,
  };
}
