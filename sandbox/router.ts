import { stringify } from 'lossless-json';
import type { ErrorSource, Flavor, Kind, Request, Response, Route, RouteTable, Service } from './types.ts';

export const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'LIST']);

/** Adds members that are no part of the state: tests copy, compare and restore the others. */
export function addHidden<T extends object, H extends object>(state: T, hidden: H): T & H {
  for (const [name, value] of Object.entries(hidden)) Object.defineProperty(state, name, { value, writable: true });
  return state as T & H;
}

/** The routes of a table, whose handlers get this context. */
export function bindRoutes<C>(context: C, ...tables: readonly RouteTable<C>[]): readonly Route[] {
  return tables.flatMap(Object.entries<RouteTable<C>[string]>).map(([key, entry]) => {
    const [method = '', path = ''] = key.split(' ');
    const { handle, ...options } = typeof entry === 'function' ? { handle: entry } : entry;
    return { method, path, writes: !READS.has(method), ...options, handle: (request) => handle(request, context) };
  });
}

/** Inspects a request before its service does. A response replaces the service's own; undefined lets the request pass. */
export type FaultHook = (request: Request, service: Service) => Response | undefined;

type Messages = readonly [unknownPath: string, wrongMethod: string, rateLimited: string];

/** The products' own messages; `%s` is the path. See #errors of each page in docs/services. */
const MESSAGES: Readonly<Record<Kind, Messages>> = {
  platform: ['not found', 'not found', "You have exceeded the API's rate limit."],
  secrets: [
    'no handler for route "%s". route entry not found.',
    'unsupported operation',
    'request path "%s": rate limit quota exceeded',
  ],
  scheduler: ['', 'Invalid method', 'Your IP is issuing too many concurrent connections, please rate limit your calls'],
  autoscaler: ['404 page not found', 'Invalid method', 'rate limit exceeded'],
  mesh: [
    'Invalid URL path: not a recognized HTTP API endpoint',
    'method not allowed',
    'rate limit exceeded, try a different server',
  ],
  registry: ['Not Found', 'Method Not Allowed', 'Too Many Requests'],
};

/** Produces the response of one service to a request: rate limit first, then the fault hook, the token and the route. */
export class Router {
  readonly #service: Service;
  /** Nomad, Vault and Consul decode the path before they route, so `%2F` in a name splits it there. */
  readonly #decodesFirst: boolean;
  readonly #patterns: readonly { readonly route: Route; readonly parts: readonly string[] }[];

  constructor(service: Service, flavor: Flavor) {
    this.#service = service;
    this.#decodesFirst = flavor === 'hashicorp' && service.kind !== 'platform';
    this.#patterns = service.routes
      .map((route) => ({ route, parts: route.path.split('/').slice(1) }))
      .sort((a, b) => countLiterals(b.parts) - countLiterals(a.parts));
  }

  route(request: Request, isOverLimit: boolean, faultHook?: FaultHook): Response {
    return this.#answer(() => this.#route(request, isOverLimit, faultHook));
  }

  #route(request: Request, isOverLimit: boolean, faultHook: FaultHook | undefined): Response {
    const [unknownPath, wrongMethod, rateLimited] = MESSAGES[this.#service.kind];
    if (isOverLimit) return this.#error(429, rateLimited, request);
    const fault = faultHook?.(request, this.#service);
    if (fault) return fault;
    const { route, params, allowed } = this.#lookup(request);
    const complete = { ...request, params };
    const refusal = route?.isPublic ? undefined : this.#service.authenticate(complete, route);
    if (refusal) return this.#service.onResponse?.(refusal) ?? refusal;
    if (route) return this.#handle(route, complete);
    // HCP Terraform routes by method and path together: a wrong method is an unknown page.
    if (allowed.length === 0 || this.#service.kind === 'platform') return this.#error(404, unknownPath, request);
    const response = this.#error(405, wrongMethod, request);
    return { ...response, headers: { ...response.headers, allow: allowed.join(', ') } };
  }

  #handle(route: Route, request: Request): Response {
    const response = this.#answer(() => route.handle(request));
    return this.#service.onResponse?.(response) ?? response;
  }

  /** The response that `respond` makes, or its error in the form of the service. */
  #answer(respond: () => Response): Response {
    try {
      return respond();
    } catch (error) {
      if (error instanceof HttpError) return this.#service.error(error.status, error.message, error.source);
      throw error;
    }
  }

  /**
   * Literal segments win over `:name`, so `/volumes/external` is never a volume called `external`. Without a route, `allowed` has the
   * methods of the path, none for an unknown one.
   */
  #lookup(request: Request) {
    const { base } = this.#service;
    const isAtRoot = !request.path.startsWith(`${base}/`);
    const segments = decodeSegments(isAtRoot ? '' : base, request.path, this.#decodesFirst);
    if (!segments) return { params: {}, allowed: [] } as const;
    const method = effectiveMethod(this.#service, request);
    const allowed: string[] = [];
    for (const { route, parts } of this.#patterns) {
      if ((route.isAtRoot ?? false) !== isAtRoot) continue;
      const params = matchSegments(parts, segments);
      if (params && route.method === method) return { route, params, allowed } as const;
      if (params) allowed.push(route.method);
    }
    return { params: {}, allowed } as const;
  }

  #error(status: number, message: string, { path }: Request): Response {
    const text = message.replace('%s', () => path.slice(this.#service.base.length + 1));
    return this.#service.error(status, text);
  }
}

function countLiterals(pattern: readonly string[]): number {
  return pattern.filter((part) => !part.startsWith(':')).length;
}

function matchSegments(pattern: readonly string[], segments: readonly string[]): Record<string, string> | undefined {
  const isName = (part: string) => part.startsWith(':');
  const fits = (part: string, index: number) => (isName(part) ? segments[index] !== '' : segments[index] === part);
  if (pattern.length !== segments.length || !pattern.every(fits)) return undefined;
  return Object.fromEntries(
    pattern.flatMap((part, index) => (isName(part) ? [[part.slice(1), segments[index]!]] : [])),
  );
}

/** The decoded segments of the path below the base; undefined outside the base or for a malformed escape. */
function decodeSegments(base: string, path: string, decodesFirst: boolean): string[] | undefined {
  if (!path.startsWith(`${base}/`)) return undefined;
  try {
    const relative = path.slice(base.length + 1);
    return decodesFirst ? decodeURIComponent(relative).split('/') : relative.split('/').map(decodeURIComponent);
  } catch {
    return undefined; // URIError: `%zz` is no name of anything
  }
}

/** What Go's `strconv.ParseBool` takes for true and for false. */
const GO_TRUE = /^(1|t|T|TRUE|true|True)$/;
const GO_FALSE = /^(0|f|F|FALSE|false|False)$/;

/** Vault accepts `GET ?list=true` for LIST, with any Go boolean, and PUT for POST: docs/services/secrets.md#listing. */
function effectiveMethod({ kind }: Service, request: Request): string {
  if (kind !== 'secrets') return request.method;
  const list = request.query.get('list');
  if (request.method === 'GET' && list !== null && list !== '') {
    if (GO_TRUE.test(list)) return 'LIST';
    if (!GO_FALSE.test(list)) throw new HttpError(400, `failed to parse list: invalid boolean ${JSON.stringify(list)}`);
  }
  return request.method === 'PUT' ? 'POST' : request.method;
}

/** Thrown by a handler; the router responds with the service's own form of an error. */
export class HttpError extends Error {
  readonly status: number;
  readonly source: ErrorSource | undefined;

  constructor(status: number, message: string, source?: ErrorSource) {
    super(message);
    this.status = status;
    this.source = source;
  }
}

export function textResponse(status: number, message: string): Response {
  return { status, headers: { 'content-type': 'text/plain; charset=utf-8' }, body: message };
}

/** JSON text in which bigints are written digit for digit. */
export function jsonResponse(body: unknown, headers: Readonly<Record<string, string>> = {}): Response {
  return { status: 200, headers: { 'content-type': 'application/json', ...headers }, body: stringify(body)! };
}

/** The object that a body is. `refuse` makes the service's own error of the reason. @throws HttpError */
export function parseObject(
  text: string,
  refuse: (reason: string) => HttpError,
  parse: (text: string) => unknown = JSON.parse,
): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = parse(text);
  } catch (error) {
    throw refuse(error instanceof Error ? error.message : 'body is not JSON');
  }
  if (isObject(value)) return value;
  throw refuse('body is not an object');
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
