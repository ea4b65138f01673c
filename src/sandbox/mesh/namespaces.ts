import { HttpError } from '../responses.ts';
import type { Request, Route } from '../types.ts';

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
