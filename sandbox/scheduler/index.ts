import { createHash } from 'node:crypto';
import { createRandom, formatDuration, uuid } from '../random.ts';
import { bindRoutes, HttpError, textResponse } from '../router.ts';
import { permits, type TokenRecord } from '../tokens.ts';
import type { Request, Response, Route, RouteTable, Service, ServiceOptions, TokenGrant } from '../types.ts';
import { requestNamespace, SchedulerContext } from './context.ts';
import {
  type Acl,
  allowsNamespace,
  allowsPlugin,
  livePolicyRoutes,
  parseRules,
  policyRoutes,
  readsAgent,
  seesNamespace,
} from './policies.ts';
import type { StoragePlugin } from './records.ts';
import { seedScheduler } from './seed.ts';
import { externalRoutes, snapshotRoutes } from './snapshots.ts';
import { tickScheduler } from './tick.ts';
import { volumeWriteRoutes } from './volume-writes.ts';
import { volumeRoutes } from './volumes.ts';

const NODES = 12;

/** The scheduler: ACL policies, volumes, and the content of its storage plugins. */
export class SchedulerService implements Service {
  readonly kind = 'scheduler';
  readonly base = '/v1';
  readonly error = textResponse;
  readonly state: SchedulerContext;
  readonly routes: readonly Route[];

  constructor(options: ServiceOptions) {
    const { seed, flavor } = options;
    const random = createRandom(`${seed}/scheduler/estate`);
    const nodes = Array.from({ length: NODES }, () => uuid(random));
    this.state = new SchedulerContext(options, nodes);
    seedScheduler(this.state, options, random);
    const tables = [policyRoutes, volumeRoutes, volumeWriteRoutes(flavor), externalRoutes, snapshotRoutes(flavor)];
    if (flavor === 'hashicorp') tables.push(accessRoutes, livePolicyRoutes);
    this.routes = bindRoutes(this.state, ...tables);
  }

  authenticate(request: Request, route: Route | undefined): Response | undefined {
    const { tokens, flavor } = this.state;
    const { state, token } = tokens.identify(request);
    if (state === 'valid') {
      return permits(token, route, () => allows(this.state, token, request, route)) ? undefined : DENIED;
    }
    if (state === 'missing' || flavor === 'spec' || route?.path === SELF) return DENIED;
    return textResponse(403, state === 'expired' ? 'ACL token expired' : 'ACL token not found');
  }

  /** Nomad says its index with an object that does not exist, too. */
  onResponse(response: Response): Response {
    if (response.status !== 404 || response.body === '') return response;
    return { ...response, headers: { ...response.headers, ...this.state.indexHeaders() } };
  }

  addPolicies({ rules: granted = {} }: TokenGrant): void {
    for (const [name, rules] of Object.entries(granted)) {
      const index = this.state.nextIndex();
      const policy = { name, description: '', rules, jobAcl: null, createIndex: index, modifyIndex: index };
      this.state.policies.set(name, policy);
    }
  }

  tick(day: number, now: Date): void {
    tickScheduler(this.state, day, now);
  }
}

const VOLUME_LIST = ['csi-list-volume', 'csi-read-volume', 'csi-mount-volume', 'list-jobs'];
const VOLUME_READ = ['csi-read-volume', 'csi-mount-volume', 'read-job'];
const SELF = '/acl/token/self';
const DENIED = textResponse(403, 'Permission denied');

/** The rights that routes name: a token with rules has none of the others. A policy is read by the tokens that have it. */
const RIGHTS: Readonly<Record<string, (acl: Acl, request: Request) => boolean>> = {
  any: () => true,
  'read-agent': (acl) => readsAgent(acl),
  'list-plugins': (acl) => allowsPlugin(acl, false),
  'read-plugin': (acl) => allowsPlugin(acl, true),
  'list-volumes': (acl, request) => allowsNamespace(acl, requestNamespace(request), VOLUME_LIST),
  'read-volume': (acl, request) => allowsNamespace(acl, requestNamespace(request), VOLUME_READ),
  'write-volume': (acl, request) => allowsNamespace(acl, writtenNamespace(request), ['csi-write-volume']),
  'mount-volume': (acl, request) => allowsNamespace(acl, requestNamespace(request), ['csi-mount-volume']),
};

/** Its support ended on 2026-04-21. */
export const NOMAD_VERSION = '1.9.7';

/**
 * Who a token is (docs/services/scheduler.md#authentication), and what a client asks about the cluster beside its objects, with the
 * flavor of the real products.
 */
const accessRoutes: RouteTable<SchedulerContext> = {
  [`GET ${SELF}`]: { right: 'any', handle: showSelf },
  'GET /plugins': { right: 'list-plugins', handle: listPlugins },
  'GET /plugin/csi/:plugin_id': { right: 'read-plugin', handle: readPlugin },
  'GET /agent/self': { right: 'read-agent', handle: showAgent },
  'GET /namespaces': { right: 'any', handle: listNamespaces },
};

function allows(context: SchedulerContext, token: TokenRecord, request: Request, route: Route | undefined): boolean {
  if (!route) return true;
  const acl = createAcl(context, token);
  // Nomad's storage plugins check a right of their own.
  const needsPlugin = route.asksPlugin === true && context.flavor === 'hashicorp';
  return RIGHTS[route.right ?? '']?.(acl, request) === true && (!needsPlugin || allowsPlugin(acl, true));
}

function createAcl(context: SchedulerContext, { policies }: TokenRecord): Acl {
  return policies.flatMap((name) => context.policies.get(name)?.rules ?? []).map((rules) => parseRules(rules));
}

function showSelf(request: Request, context: SchedulerContext): Response {
  const token = context.tokens.find(request)!;
  const isClient = token.scope === 'rules';
  const hash = createHash('sha256').update(token.accessor).digest('base64');
  const lifeMs = token.expiresAt && token.expiresAt.getTime() - token.createdAt.getTime();
  return context.json({
    ExpirationTTL: lifeMs === null ? '' : formatDuration(Math.round(lifeMs / 1000)),
    AccessorID: token.accessor,
    SecretID: token.secret,
    Name: token.name,
    Type: isClient ? 'client' : 'management',
    Policies: isClient ? token.policies : null,
    Roles: null,
    Global: !isClient,
    Hash: hash,
    CreateTime: token.createdAt.toISOString(),
    ExpirationTime: token.expiresAt?.toISOString() ?? null,
    CreateIndex: 11,
    ModifyIndex: 11,
  });
}

/** The namespace of a write: of the first item in the body, else of the query. */
function writtenNamespace(request: Request): string {
  try {
    const body = JSON.parse(request.body) as { readonly Volumes?: readonly { readonly Namespace?: unknown }[] };
    const namespace = body.Volumes?.[0]?.Namespace;
    if (typeof namespace === 'string' && namespace !== '') return namespace;
  } catch {
    // Without a body, or with one that the handler refuses.
  }
  return requestNamespace(request);
}

function showAgent(_request: Request, context: SchedulerContext): Response {
  const version = { Revision: '', Version: NOMAD_VERSION, VersionPrerelease: '', VersionMetadata: '' };
  const config = { Region: 'global', Datacenter: 'dc1', Version: version };
  const member = { Name: 'server-1.global', Tags: { region: 'global', build: NOMAD_VERSION }, Status: 'alive' };
  return context.json({ config, member, stats: {} });
}

function listPlugins({ query }: Request, context: SchedulerContext): Response {
  const type = query.get('type') ?? '';
  if (type !== '' && type !== 'csi') throw new HttpError(404, 'resource not found');
  const prefix = query.get('prefix') ?? '';
  const found = [...context.plugins.values()].filter(({ id }) => id.startsWith(prefix));
  return context.json(found.map((plugin) => pluginStub(context, plugin)));
}

function readPlugin({ params }: Request, context: SchedulerContext): Response {
  const plugin = context.plugins.get(params.plugin_id!);
  if (!plugin) throw new HttpError(404, 'plugin not found');
  return context.json({
    ...pluginStub(context, plugin),
    Version: plugin.version,
    Controllers: {},
    Nodes: {},
    Allocations: [],
  });
}

function pluginStub(context: SchedulerContext, { id, provider, capabilities }: StoragePlugin) {
  const isControllerRequired = capabilities.length > 0;
  const nodes = context.nodes.length;
  return {
    ControllerRequired: isControllerRequired,
    ControllersExpected: isControllerRequired ? 2 : 0,
    ControllersHealthy: isControllerRequired ? 2 : 0,
    CreateIndex: 12,
    ID: id,
    ModifyIndex: 20,
    NodesExpected: nodes,
    NodesHealthy: nodes,
    Provider: provider,
  };
}

/** Only the namespaces in which the token may do something. */
function listNamespaces(request: Request, context: SchedulerContext): Response {
  const token = context.tokens.find(request);
  const acl = token?.scope === 'rules' ? createAcl(context, token) : undefined;
  const names = new Set(['default', ...[...context.volumes.values()].map(({ namespace }) => namespace)]);
  const seen = [...names].sort().filter((name) => acl === undefined || seesNamespace(acl, name));
  const namespaces = seen.map((name, index) => ({
    Capabilities: null,
    ConsulConfiguration: null,
    CreateIndex: index + 1,
    Description: name === 'default' ? 'Default shared namespace' : '',
    Hash: createHash('sha256').update(name).digest('base64'),
    Meta: null,
    ModifyIndex: index + 1,
    Name: name,
    NodePoolConfiguration: null,
    OptionalExtraClaims: null,
    Quota: '',
    RequiredExtraClaims: null,
    VaultConfiguration: null,
  }));
  return context.json(namespaces);
}
