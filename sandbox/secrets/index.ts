import { globPattern, parseRuleItems, readCapabilities } from '../hcl.ts';
import { createRandom, uuid } from '../random.ts';
import { addHidden, bindRoutes } from '../router.ts';
import { permits, type TokenRecord, TokenStore } from '../tokens.ts';
import type { Request, Response, Route, RouteTable, Service, ServiceOptions } from '../types.ts';
import type { SecretsContext } from './context.ts';
import {
  badRequest,
  dataResponse,
  errorResponse,
  flatDataResponse,
  jsonResponse,
  listField,
  parseInput,
} from './envelope.ts';
import { seedSecrets, tickSecrets } from './estate.ts';
import { keyRoutes, providerRoutes } from './keys.ts';
import { credentialRoutes, roleRoutes } from './mesh-roles.ts';

/** The key management engine and the mesh credentials engine of one secrets server. */
export class SecretsService implements Service {
  readonly kind = 'secrets';
  readonly base = '/v1';
  readonly error = wrappedError;
  readonly state: SecretsContext;
  readonly routes: readonly Route[];

  constructor(options: ServiceOptions) {
    const isHashicorp = options.flavor === 'hashicorp';
    const mount = isHashicorp ? 'consul' : 'mesh';
    const tokens = new TokenStore('secrets', options, [isHashicorp ? 'x-vault-token' : 'x-store-token']);
    const records: Omit<SecretsContext, 'tokens'> = {
      ...options,
      mount,
      keys: new Map(),
      providers: new Map(),
      roles: new Map(),
      access: undefined,
      generated: [],
      condition: 'active',
    };
    this.state = addHidden(records, { tokens });
    seedSecrets(this.state);
    const tables = [keyRoutes, providerRoutes, credentialRoutes(mount, options.flavor), roleRoutes(mount)];
    if (isHashicorp) tables.unshift(accessRoutes);
    this.routes = bindRoutes(this.state, ...tables).flatMap(withTrailingSlash);
  }

  authenticate(request: Request, route: Route | undefined): Response | undefined {
    const { condition, flavor, tokens } = this.state;
    if (condition === 'sealed') return errorResponse(503, 'Vault is sealed');
    if (condition === 'standby') return errorResponse(503, 'Vault is in standby mode and no active node is known');
    const token = tokens.find(request);
    // An unknown token has no policy that could be named, so Vault does not wrap the error.
    if (!token) return flavor === 'spec' ? wrappedDenial() : errorResponse(403, 'permission denied');
    if (DEFAULT_PATHS.includes(route?.path ?? '')) return undefined;
    return permits(token, route, () => allows(token, request, route, this.state)) ? undefined : wrappedDenial();
  }

  tick(day: number, now: Date): void {
    tickSecrets(this.state, day, now);
  }
}

/** Vault's clients request a list with a slash at the end. */
function withTrailingSlash(route: Route): Route[] {
  return route.method === 'LIST' ? [route, { ...route, path: `${route.path}/` }] : [route];
}

/** Vault wraps the errors of its router: docs/services/secrets.md#errors. */
function wrappedError(status: number, message: string): Response {
  const isWrapped = status === 403 || status === 405;
  return errorResponse(status, isWrapped ? `1 error occurred:\n\t* ${message}\n\n` : message);
}

const ROOT = ['root'];
const DENY = ['deny'];
const LOOKUP_SELF = '/auth/token/lookup-self';
const CAPABILITIES_SELF = '/sys/capabilities-self';
/** Vault's policy `default` permits them to every token. */
const DEFAULT_PATHS: readonly string[] = [LOOKUP_SELF, CAPABILITIES_SELF, '/sys/internal/ui/mounts'];

/** What a method needs on a path. Vault asks for `create` where the path does not exist; here either is enough. */
const CAPABILITIES: Readonly<Record<string, readonly string[]>> = {
  GET: ['read'],
  LIST: ['list'],
  POST: ['create', 'update'],
  DELETE: ['delete'],
};

/** Its support ended on 2025-10-21. */
export const VAULT_VERSION = '1.20.3';

/**
 * Who a token is and what it may do (docs/services/secrets.md#authentication), and what Vault says about itself, with the flavor of the
 * real products: health, and which engines are mounted where.
 */
const accessRoutes: RouteTable<SecretsContext> = {
  [`GET ${LOOKUP_SELF}`]: lookupSelf,
  [`POST ${CAPABILITIES_SELF}`]: capabilitiesSelf,
  'GET /sys/health': { isPublic: true, handle: health },
  'HEAD /sys/health': { isPublic: true, handle: health },
  'GET /sys/seal-status': { isPublic: true, handle: sealStatus },
  'GET /sys/mounts': (request, { seed }) => flatDataResponse(request, listMounts(seed)),
  'GET /sys/internal/ui/mounts': (request, { seed }) =>
    dataResponse(request, { auth: AUTH_MOUNTS, secret: listMounts(seed) }),
};

function allows(token: TokenRecord, request: Request, route: Route | undefined, context: SecretsContext): boolean {
  const wanted = CAPABILITIES[route?.method ?? request.method] ?? ['read'];
  const path = decodeURIComponent(request.path.replace(/^\/v1\//, ''));
  const granted = findCapabilities(token, route?.method === 'LIST' ? path.replace(/\/?$/, '/') : path, context);
  return wanted.some((capability) => granted.includes(capability));
}

/**
 * The capabilities of the closest rule of all policies; `deny` wins. The path of a list ends with a slash, which an exact path of a policy may
 * lack, and a pattern not.
 */
function findCapabilities(token: TokenRecord, path: string, context: SecretsContext): readonly string[] {
  if (token.scope === 'all') return ROOT;
  if (token.scope === 'reads') return ['list', 'read'];
  const rules = token.policies.flatMap((name) => parsePolicy(context.tokens.policies.get(name) ?? ''));
  const bare = path.replace(/\/$/, '');
  const matching = rules.filter((rule) => rule.path === bare || matches(rule.path, path));
  const closest = matching.sort((a, b) => weigh(b.path) - weigh(a.path))[0]?.path;
  const found = matching.filter((rule) => rule.path === closest).flatMap(({ capabilities }) => capabilities);
  return found.length === 0 || found.includes('deny') ? DENY : [...new Set(found)].sort();
}

function lookupSelf(request: Request, context: SecretsContext): Response {
  const token = context.tokens.find(request)!;
  const { createdAt, expiresAt } = token;
  const lifeSeconds = expiresAt ? seconds(expiresAt.getTime() - createdAt.getTime()) : 0;
  return dataResponse(request, {
    accessor: createRandom(token.accessor).id('', 24),
    creation_time: seconds(createdAt.getTime()),
    creation_ttl: lifeSeconds,
    display_name: token.name === '' ? 'token' : `token-${token.name.replaceAll(' ', '-')}`,
    entity_id: '',
    expire_time: expiresAt?.toISOString() ?? null,
    explicit_max_ttl: 0,
    id: token.secret,
    issue_time: createdAt.toISOString(),
    meta: null,
    num_uses: 0,
    orphan: true,
    path: 'auth/token/create',
    policies:
      token.scope === 'all' ? ROOT : ['default', ...(token.scope === 'reads' ? ['sandbox-read'] : token.policies)],
    renewable: expiresAt !== null,
    ttl: expiresAt ? seconds(expiresAt.getTime() - request.now.getTime()) : 0,
    type: 'service',
  });
}

function capabilitiesSelf(request: Request, context: SecretsContext): Response {
  const body = parseInput(request);
  const paths = [...listField(body, 'paths'), ...listField(body, 'path')];
  if (paths.length === 0) throw badRequest('paths must be supplied');
  const token = context.tokens.find(request)!;
  const found = Object.fromEntries(paths.map((path) => [path, findCapabilities(token, path, context)]));
  return flatDataResponse(request, { capabilities: findCapabilities(token, paths[0]!, context), ...found });
}

function wrappedDenial(): Response {
  return wrappedError(403, 'permission denied');
}

/** The rules of a policy, with paths such as `keymgmt/key/+` and `keymgmt/*`. */
function parsePolicy(text: string) {
  return parseRuleItems(text)
    .filter(({ name }) => name === 'path')
    .map(({ labels, items }) => ({ path: labels[0] ?? '', capabilities: readCapabilities(items) ?? [] }));
}

/** `+` is one segment, which may be empty, and `*` at the end is anything. */
function matches(pattern: string, path: string): boolean {
  const isPrefix = pattern.endsWith('*');
  const text = globPattern(isPrefix ? pattern.slice(0, -1) : pattern, '+', '[^/]*');
  return new RegExp(`^${text}${isPrefix ? '' : '$'}`, 'u').test(path);
}

/** Before a pattern come an exact path, and one whose first wildcard is later, that has no `*`, has fewer `+`, or is longer. */
function weigh(pattern: string): number {
  const first = pattern.search(/[*+]/);
  if (first < 0) return Number.MAX_SAFE_INTEGER;
  return first * 1e9 + (pattern.endsWith('*') ? 0 : 1e8) - pattern.split('+').length * 1e5 + pattern.length;
}

function seconds(ms: number): number {
  return Math.floor(ms / 1000);
}

function health({ now }: Request, { seed, condition }: SecretsContext): Response {
  const random = createRandom(`${seed}/secrets/cluster`);
  /** The statuses of `/sys/health`. */
  const status = { active: 200, standby: 429, sealed: 503 }[condition];
  const body = {
    initialized: true,
    sealed: condition === 'sealed',
    standby: condition !== 'active',
    performance_standby: false,
    replication_performance_mode: 'disabled',
    replication_dr_mode: 'disabled',
    server_time_utc: seconds(now.getTime()),
    version: VAULT_VERSION,
    cluster_name: `vault-cluster-${random.hex(8)}`,
    cluster_id: uuid(random),
  };
  return jsonResponse(status, body);
}

function sealStatus(_request: Request, { condition }: SecretsContext): Response {
  const sealed = condition === 'sealed';
  const shares = { t: 3, n: 5, progress: 0, nonce: '' };
  return jsonResponse(200, { type: 'shamir', initialized: true, sealed, ...shares, version: VAULT_VERSION });
}

function listMounts(seed: number) {
  return {
    'consul/': mount('consul', '', seed),
    'cubbyhole/': { ...mount('cubbyhole', 'per-token private secret storage', seed), local: true },
    'identity/': mount('identity', 'identity store', seed),
    'keymgmt/': mount('keymgmt', '', seed),
    'sys/': mount('system', 'system endpoints used for control, policy and debugging', seed),
  };
}

const CONFIG = { default_lease_ttl: 0, force_no_cache: false, max_lease_ttl: 0 };
const TOKEN_CONFIG = { ...CONFIG, token_type: 'default-service' };
const AUTH_MOUNTS = { 'token/': { ...mount('token', 'token based credentials', 0), config: TOKEN_CONFIG } };

function mount(type: string, description: string, seed: number) {
  const random = createRandom(`${seed}/secrets/mount/${type}`);
  return {
    accessor: `${type}_${random.hex(8)}`,
    config: CONFIG,
    description,
    external_entropy_access: false,
    local: false,
    options: null,
    seal_wrap: false,
    type,
    uuid: uuid(random),
  };
}
