import { accessOf, tokenIn, tokensOf } from '../access.ts';
import type { Ask, Flavor, Reply, Service } from '../types.ts';
import { authorize } from './authorize.ts';
import { leafReply, rootsReply } from './certificates.ts';
import { inventMesh, passMeshNight } from './estate.ts';
import { text } from './reply.ts';
import type { MeshState } from './state.ts';

export interface MeshOptions {
  readonly seed: number;
  /** Workspaces / 240; the agent's part of the mesh does not grow with it. */
  readonly scale: number;
  readonly flavor: Flavor;
  /** The present on night 0. */
  readonly start: Date;
}

/** Consul's community edition refuses namespaces (live-services.md D). */
function namespaceRefusal({ query, headers }: Ask): Reply | undefined {
  const enterprise = 'Namespaces are a Consul Enterprise feature';
  if (headers['x-consul-namespace'] !== undefined)
    return text(400, `Invalid header: "X-Consul-Namespace" - ${enterprise}`);
  return query.has('ns') ? text(400, `Invalid query parameter: "ns" - ${enterprise}`) : undefined;
}

const rootsPath = '/agent/connect/ca/roots';

/** A mesh agent on its node: authorization, CA roots, leaf certificates. */
export function createMesh({ seed, flavor, start }: MeshOptions): Service & { readonly state: MeshState } {
  const state = inventMesh(seed, start);
  const tokens = tokensOf('mesh', seed);
  const world = { seed, flavor, state };
  const guarded = (answer: (ask: Ask) => Reply) => (ask: Ask) =>
    (flavor === 'hashicorp' ? namespaceRefusal(ask) : undefined) ?? answer(ask);
  return {
    kind: 'mesh',
    base: '/v1',
    routes: [
      { method: 'POST', path: '/agent/connect/authorize', answer: guarded((ask) => authorize(world, ask)) },
      { method: 'GET', path: rootsPath, answer: guarded((ask) => rootsReply(world, ask)) },
      { method: 'GET', path: '/agent/connect/ca/leaf/:service', answer: guarded((ask) => leafReply(world, ask)) },
    ],
    authenticate: (ask) => {
      const token = tokenIn(ask, 'x-consul-token');
      if (accessOf(token, tokens) !== undefined) return undefined;
      if (token !== undefined) return text(403, 'ACL not found');
      // The roots need no permission (endpoint table), so an anonymous caller may have them.
      if (ask.path === `/v1${rootsPath}`) return undefined;
      return text(403, 'Permission denied: anonymous token lacks permission "service:write"');
    },
    error: text,
    advance: (night, now) => passMeshNight(seed, state, night, now),
    state,
  };
}
