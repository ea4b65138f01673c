import { createHash } from 'node:crypto';
import { readEstate } from '../estate.ts';
import { createRandom, type Random, uuid } from '../random.ts';
import { addHidden, bindRoutes, HttpError, jsonResponse, parseObject, textResponse } from '../router.ts';
import { TokenStore } from '../tokens.ts';
import type { Flavor, Request, Response, Route, RouteTable, Service, ServiceOptions } from '../types.ts';
import { holdsLeaf, leafRoutes, renewLeaves, rootRoutes, seedLeaves, seedRoots, tickRoots } from './ca-roots.ts';
import {
  allows,
  type Intention,
  indexHeaders,
  type MeshContext,
  meshNamespace,
  rejectNamespaces,
  requireRight,
} from './context.ts';

/** A mesh agent on its node. It does not grow with the scale. */
export class MeshService implements Service {
  readonly kind = 'mesh';
  readonly base = '/v1';
  readonly error = textResponse;
  readonly state: MeshContext;
  readonly routes: readonly Route[];

  constructor(options: ServiceOptions) {
    const random = createRandom(`${options.seed}/mesh/estate`);
    const hidden = { tokens: new TokenStore('mesh', options, ['x-consul-token']), issuer: undefined };
    const records: Omit<MeshContext, keyof typeof hidden> = {
      ...options,
      trustDomain: `${uuid(random)}.consul`,
      roots: [],
      leaves: new Map(),
      intentions: seedIntentions(random),
      index: 40,
      serial: 2n ** 60n + 1n,
    };
    this.state = addHidden(records, hidden);
    seedRoots(this.state, random);
    seedLeaves(this.state);
    const documented = [authorizeRoutes, rootRoutes, leafRoutes];
    this.routes =
      options.flavor === 'spec'
        ? bindRoutes(this.state, ...documented)
        : bindRoutes(this.state, ...documented, accessRoutes).map(rejectNamespaces);
  }

  authenticate(request: Request, route: Route | undefined): Response | undefined {
    const { tokens, flavor } = this.state;
    const { state } = tokens.identify(request);
    if (state === 'valid') return undefined;
    if (state === 'missing') {
      if (ANONYMOUS_PATHS.includes(route?.path ?? '')) return undefined;
      return textResponse(403, 'Permission denied: anonymous token lacks permission "service:write"');
    }
    // A certificate that the agent has is its answer to a token that it does not know, too.
    if (flavor === 'hashicorp' && holdsLeaf(this.state, request)) return undefined;
    if (route?.path !== SELF) return textResponse(403, 'ACL not found');
    const refusal = textResponse(403, 'token does not exist: ACL not found');
    return { ...refusal, headers: { ...refusal.headers, ...indexHeaders(1, false) } };
  }

  onResponse(response: Response): Response {
    if (this.state.flavor === 'spec') return response;
    return { ...response, headers: { ...response.headers, 'x-consul-default-acl-policy': 'deny' } };
  }

  tick(day: number, now: Date): void {
    tickRoots(this.state, createRandom(`${this.state.seed}/mesh/night/${day}`), now);
    renewLeaves(this.state, now);
  }

  live(now: Date): void {
    renewLeaves(this.state, now);
  }
}

const SELF = '/acl/token/self';
/** They need no right, so that a caller without a token may read them. */
const ANONYMOUS_PATHS: readonly string[] = ['/agent/connect/ca/roots', '/catalog/services'];
const GLOBAL_MANAGEMENT = { ID: '00000000-0000-0000-0000-000000000001', Name: 'global-management' };

const NODE = 'node-1';
/** Its support ended on 2026-05-24. */
export const CONSUL_VERSION = '1.20.5';

/**
 * Who a token is (docs/services/mesh.md#authentication), and which services are registered, with the flavor of the real products: the
 * catalog and the agent's own.
 */
const accessRoutes: RouteTable<MeshContext> = {
  [`GET ${SELF}`]: showSelf,
  'GET /catalog/services': listCatalog,
  'GET /agent/self': showAgent,
  'GET /agent/services': listAgent,
  'PUT /agent/connect/authorize': { writes: false, handle: authorizeConnection },
};

function showSelf(request: Request, { tokens }: MeshContext): Response {
  const token = tokens.find(request)!;
  const policies = token.scope === 'rules' ? token.policies.map(policyLink) : [GLOBAL_MANAGEMENT];
  const body = {
    AccessorID: token.accessor,
    SecretID: token.secret,
    Description: token.name,
    Policies: token.scope === 'reads' ? [policyLink('sandbox-read')] : policies,
    Local: false,
    ...(token.expiresAt ? { ExpirationTime: token.expiresAt.toISOString() } : {}),
    CreateTime: token.createdAt.toISOString(),
    Hash: createHash('sha256').update(token.accessor).digest('base64'),
    CreateIndex: 6,
    ModifyIndex: 6,
  };
  return jsonResponse(body, indexHeaders(36));
}

function policyLink(name: string) {
  return { ID: uuid(createRandom(`mesh-policy/${name}`)), Name: name };
}

/** Whether a list shows the service to the caller. The catalog needs the right to read its nodes as well. */
function seesService(context: MeshContext, request: Request, service: string, node?: string): boolean {
  const token = context.tokens.find(request);
  if (token === undefined || !allows(context, token, 'service:read', service)) return false;
  return node === undefined || allows(context, token, 'node:read', node);
}

/** The tags of each service by its name. */
function listCatalog(request: Request, context: MeshContext): Response {
  const registered = ['consul', ...Object.keys(readEstate(context.estate).mesh.services)];
  const seen = registered.filter((name) => seesService(context, request, name, NODE));
  // A list does not tell a caller without a token that it leaves something out.
  const isFiltered = seen.length < registered.length && context.tokens.find(request) !== undefined;
  const headers = {
    ...indexHeaders(40),
    'x-consul-effective-consistency': 'leader',
    'x-consul-query-backend': 'blocking-query',
    ...(isFiltered ? { 'x-consul-results-filtered-by-acls': 'true' } : {}),
  };
  return jsonResponse(Object.fromEntries(seen.map((name) => [name, []])), headers);
}

function showAgent(request: Request, context: MeshContext): Response {
  requireRight(context, request, 'agent:read', NODE);
  const config = { Datacenter: 'dc1', NodeName: NODE, Revision: '', Server: true, Version: CONSUL_VERSION };
  return jsonResponse({ Config: config, DebugConfig: { VersionMetadata: '' }, Member: { Name: NODE } });
}

function listAgent(request: Request, context: MeshContext): Response {
  const seen = Object.keys(readEstate(context.estate).mesh.services).filter((name) =>
    seesService(context, request, name),
  );
  const rest = { Tags: [], Meta: {}, Port: 8080, Address: '', Datacenter: 'dc1' };
  return jsonResponse(Object.fromEntries(seen.map((name) => [name, { ID: name, Service: name, ...rest }])));
}

/** docs/services/mesh.md#authorize. */
const authorizeRoutes: RouteTable<MeshContext> = {
  'POST /agent/connect/authorize': { writes: false, handle: authorizeConnection },
};

/** A denial is a 200 like any other response. */
function authorizeConnection(request: Request, context: MeshContext): Response {
  const body = parseObject(request.body, (reason) => new HttpError(400, `Request decode failed: ${reason}`));
  const { source, target } = parseConnection(body, context.flavor === 'spec');
  requireRight(context, request, 'service:write', target);
  const namespace = meshNamespace(request, body.Namespace);
  const matched = context.intentions.find(
    (intention) =>
      intention.namespace === namespace &&
      (intention.source === '*' || intention.source === source) &&
      intention.destination === target,
  );
  const headers = context.flavor === 'hashicorp' ? { 'x-cache': 'HIT', age: '0' } : {};
  if (!matched) return jsonResponse({ Authorized: false, Reason: 'Default behavior configured by ACLs' }, headers);
  const layer = matched.hasPermissions ? 'L7' : 'L4';
  const isAuthorized = matched.action === 'allow' && !matched.hasPermissions;
  const reason = `Matched ${layer} intention: ${formatIntention(matched, context.flavor)}`;
  return jsonResponse({ Authorized: isAuthorized, Reason: reason }, headers);
}

const SERVICE_URI = /^spiffe:\/\/[^/]+\/ns\/([^/]+)\/dc\/[^/]+\/svc\/([^/]+)$/;
const ANY_URI = /^spiffe:\/\/[^/]+(\/.*)?$/;
const COLON_HEX = /^[0-9a-f]{2}(:[0-9a-f]{2})*$/i;

/** The specification requires the serial; Consul ignores it. */
function parseConnection(body: Readonly<Record<string, unknown>>, isSerialRequired: boolean) {
  const { Target: target, ClientCertURI: uri, ClientCertSerial: serial } = body;
  if (typeof target !== 'string' || target === '') throw new HttpError(400, 'Target service must be specified');
  if (typeof uri !== 'string' || !ANY_URI.test(uri)) {
    throw new HttpError(400, 'ClientCertURI not a valid Connect identifier');
  }
  const source = SERVICE_URI.exec(uri)?.[2];
  if (source === undefined) throw new HttpError(400, 'ClientCertURI not a valid Service identifier');
  if (isSerialRequired && (typeof serial !== 'string' || !COLON_HEX.test(serial))) {
    throw new HttpError(400, 'ClientCertSerial must be a colon-hex serial');
  }
  return { target, source: decodeSegment(source) };
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment; // a `%` that begins no escape is literal
  }
}

/** `ALLOW default/web => default/api (ID: …, Precedence: 9)`; newer versions of Consul put the action at the end. */
function formatIntention(intention: Intention, flavor: Flavor): string {
  const { action, namespace, source, destination, id, precedence } = intention;
  const connection = `${namespace}/${source} => ${namespace}/${destination}`;
  const verb = action.toUpperCase();
  if (flavor === 'hashicorp') return `${connection} (Precedence: ${precedence}, Action: ${verb})`;
  return `${verb} ${connection} (ID: ${id}, Precedence: ${precedence})`;
}

function seedIntentions(random: Random): Intention[] {
  const intentions: readonly Omit<Intention, 'id' | 'namespace'>[] = [
    { source: 'web', destination: 'api', action: 'allow', hasPermissions: false, precedence: 9 },
    { source: 'web', destination: 'billing', action: 'deny', hasPermissions: false, precedence: 9 },
    { source: 'api', destination: 'billing', action: 'allow', hasPermissions: true, precedence: 9 },
    { source: '*', destination: 'web', action: 'allow', hasPermissions: false, precedence: 8 },
  ];
  return intentions.map((intention) => ({ ...intention, namespace: 'default', id: uuid(random) }));
}
