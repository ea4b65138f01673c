import type { Routing } from './router.ts';
import type { Ask, Flavor, Kind, Reply, Service } from './types.ts';

/** Looks at a request before its service does; a reply is sent in the service's place, undefined lets it pass. */
export type Intercept = (ask: Ask, service: Service) => Reply | undefined;

export interface Asking {
  readonly service: Service;
  readonly flavor: Flavor;
  readonly route: (method: string, segments: readonly string[]) => Routing;
  readonly ask: Ask;
  readonly intercept: Intercept | undefined;
  readonly overLimit: boolean;
}

/** The services' own words (live-services.md A1, B1, C1, D, E) where no route takes a request, or too many came. */
const WORDS: Readonly<Record<Kind, Readonly<Record<'unknown' | 'method' | 'limit', string>>>> = {
  platform: { unknown: 'not found', method: 'not found', limit: "You have exceeded the API's rate limit." },
  secrets: {
    unknown: 'no handler for route "%s". route entry not found.',
    method: 'unsupported operation',
    limit: 'request path "%s": rate limit quota exceeded',
  },
  scheduler: {
    unknown: '',
    method: 'Invalid method',
    limit: 'Your IP is issuing too many concurrent connections, please rate limit your calls',
  },
  autoscaler: { unknown: '404 page not found', method: 'Invalid method', limit: 'rate limit exceeded' },
  mesh: {
    unknown: 'Invalid URL path: not a recognized HTTP API endpoint',
    method: 'method not allowed',
    limit: 'rate limit exceeded, try a different server',
  },
};

/** The path below the base as decoded segments; undefined outside the base or where an escape is malformed. */
function segmentsBelow(base: string, path: string, decodeFirst: boolean): string[] | undefined {
  if (!path.startsWith(`${base}/`)) return undefined;
  try {
    const below = path.slice(base.length + 1);
    return decodeFirst ? decodeURIComponent(below).split('/') : below.split('/').map(decodeURIComponent);
  } catch {
    return undefined; // URIError: `%zz` names nothing that could be found
  }
}

/** `GET ?list=true` is Vault's other spelling of LIST, and PUT is POST there (live-services.md B1). */
function methodOf({ kind }: Service, ask: Ask): string {
  if (kind !== 'secrets') return ask.method;
  if (ask.method === 'GET' && ask.query.get('list') === 'true') return 'LIST';
  return ask.method === 'PUT' ? 'POST' : ask.method;
}

/**
 * What a service answers: the limit comes first, then the token, then the route. Nomad, Vault and Consul decode the path
 * before they route, so `%2F` in a name splits it there (live-services.md C1).
 */
export function answerAsk({ service, flavor, route, ask, intercept, overLimit }: Asking): Reply {
  const { kind, base } = service;
  const words = (topic: 'unknown' | 'method' | 'limit'): string =>
    WORDS[kind][topic].replace('%s', () => ask.path.slice(base.length + 1));
  if (overLimit) return service.error(429, words('limit'));
  const intercepted = intercept?.(ask, service);
  if (intercepted) return intercepted;
  const segments = segmentsBelow(base, ask.path, flavor === 'hashicorp' && kind !== 'platform');
  const found: Routing = segments ? route(methodOf(service, ask), segments) : { allowed: [] };
  const writes = 'route' in found && found.route.writes === true;
  const refusal = service.authenticate(ask, writes);
  if (refusal) return refusal;
  if ('route' in found) return found.route.answer({ ...ask, params: found.params });
  if (found.allowed.length === 0) return service.error(404, words('unknown'));
  // HCP Terraform routes by method and path together: a wrong method is an unknown page.
  if (kind === 'platform') return service.error(404, words('method'));
  const refused = service.error(405, words('method'));
  return { ...refused, headers: { ...refused.headers, allow: found.allowed.join(', ') } };
}
