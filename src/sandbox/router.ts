import type { Route } from './types.ts';

export interface Match {
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
}

export type Routing = Match | { readonly allowed: readonly string[] };

function paramsOf(pattern: readonly string[], segments: readonly string[]): Record<string, string> | undefined {
  if (pattern.length !== segments.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, part] of pattern.entries()) {
    const segment = segments[index]!;
    if (part.startsWith(':')) {
      if (segment === '') return undefined;
      params[part.slice(1)] = segment;
    } else if (part !== segment) {
      return undefined;
    }
  }
  return params;
}

/** Literal segments win over `:name`, so `/volumes/external` is never a volume called `external`. */
const literalsFirst = (a: readonly string[], b: readonly string[]): number =>
  b.filter((part) => !part.startsWith(':')).length - a.filter((part) => !part.startsWith(':')).length;

/** Finds the route of a decoded path; where only the method is wrong, tells the methods that the path takes. */
export function createRouter(routes: readonly Route[]): (method: string, segments: readonly string[]) => Routing {
  const patterns = routes
    .map((route) => ({ route, parts: route.path.split('/').slice(1) }))
    .sort((a, b) => literalsFirst(a.parts, b.parts));
  return (method, segments) => {
    const allowed: string[] = [];
    for (const { route, parts } of patterns) {
      const params = paramsOf(parts, segments);
      if (params && route.method === method) return { route, params };
      if (params) allowed.push(route.method);
    }
    return { allowed };
  };
}
