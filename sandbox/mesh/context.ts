import type { EcKey } from '../pki.ts';
import { HttpError } from '../responses.ts';
import type { Request, Route } from '../types.ts';

/** Who signs certificates. */
export interface Issuer {
  readonly name: string;
  readonly key: EcKey;
}

/** What the resources of one mesh share. */
export class MeshContext {
  readonly trustDomain: string;
  /** The intermediate of the active root. */
  issuer: Issuer | undefined;
  #index = 40;

  constructor(trustDomain: string) {
    this.trustDomain = trustDomain;
  }

  /** The next modification index. */
  advanceIndex(by = 1): number {
    this.#index += by;
    return this.#index;
  }
}

/** The namespace of a request: docs/services/mesh.md#namespaces. The sandbox's tokens belong to no namespace. */
export function meshNamespace({ query, headers }: Request, inBody?: unknown): string {
  const candidates = [inBody, query.get('ns'), headers['x-mesh-namespace']];
  return candidates.find((name): name is string => typeof name === 'string' && name !== '') ?? 'default';
}

/** The route as Consul's community edition serves it, which rejects namespaces. */
export function rejectNamespaces(route: Route): Route {
  const message = 'Namespaces are a Consul Enterprise feature';
  return {
    ...route,
    handle: (request) => {
      if (request.headers['x-consul-namespace'] !== undefined) {
        throw new HttpError(400, `Invalid header: "X-Consul-Namespace" - ${message}`);
      }
      if (request.query.has('ns')) throw new HttpError(400, `Invalid query parameter: "ns" - ${message}`);
      return route.handle(request);
    },
  };
}

export function indexHeaders(index: number, hasLeader = true): Record<string, string> {
  return {
    'x-consul-index': String(index),
    'x-consul-knownleader': String(hasLeader),
    'x-consul-lastcontact': '0',
  };
}
