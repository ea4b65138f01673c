import { createHash } from 'node:crypto';
import { readEstate } from '../estate.ts';
import { findText, type HclItem, parseRuleItems } from '../hcl.ts';
import { createRandom, uuid } from '../random.ts';
import { HttpError, jsonResponse, textResponse } from '../responses.ts';
import type { TokenRecord } from '../tokens.ts';
import type { Request, Response, Route, RouteTable } from '../types.ts';
import { indexHeaders, type MeshContext } from './context.ts';

const SELF = '/acl/token/self';
/** They need no right, so that a caller without a token may read them. */
const ANONYMOUS_PATHS: readonly string[] = ['/agent/connect/ca/roots', '/catalog/services'];
const GLOBAL_MANAGEMENT = { ID: '00000000-0000-0000-0000-000000000001', Name: 'global-management' };

export type MeshRight = 'read' | 'write';

const NODE = 'node-1';
/** Its support ended on 2026-05-24. */
export const CONSUL_VERSION = '1.20.5';

/**
 * Who a token is (docs/services/mesh.md#authentication), and which services are registered, with the flavor of the real products: the
 * catalog and the agent's own.
 */
export const accessRoutes: RouteTable<MeshContext> = {
  [`GET ${SELF}`]: showSelf,
  'GET /catalog/services': listCatalog,
  'GET /agent/self': showAgent,
  'GET /agent/services': listAgent,
};

/** `holdsLeaf`: the agent has a certificate of the service, which it then answers to a token it does not know. */
export function authorize(
  context: MeshContext,
  request: Request,
  route: Route | undefined,
  holdsLeaf: boolean,
): Response | undefined {
  const { state } = context.tokens.identify(request);
  if (state === 'valid') return undefined;
  if (state !== 'missing') {
    if (holdsLeaf && context.flavor === 'hashicorp') return undefined;
    if (route?.path !== SELF) return textResponse(403, 'ACL not found');
    const refusal = textResponse(403, 'token does not exist: ACL not found');
    return { ...refusal, headers: { ...refusal.headers, ...indexHeaders(1, false) } };
  }
  if (ANONYMOUS_PATHS.includes(route?.path ?? '')) return undefined;
  return textResponse(403, 'Permission denied: anonymous token lacks permission "service:write"');
}

/** @throws HttpError 403 when the token of the request lacks the right on the service */
export function requireService(context: MeshContext, request: Request, service: string, right: MeshRight): void {
  const { state, token } = context.tokens.identify(request);
  if (state !== 'valid' || !token || allowsService(context, token, service, right)) return;
  const who = `token with AccessorID '${token.accessor}'`;
  throw new HttpError(403, `Permission denied: ${who} lacks permission 'service:${right}' on "${service}"`);
}

/** @throws HttpError 403 when the token of the request may not read the agent */
function requireAgent(context: MeshContext, request: Request, node: string): void {
  const { token } = context.tokens.identify(request);
  if (token && allows(context, token, 'agent', node, 'read')) return;
  throw new HttpError(
    403,
    `Permission denied: token with AccessorID '${token?.accessor}' lacks permission 'agent:read' on "${node}"`,
  );
}

/** Whether a list shows the service to the caller. The catalog needs the right to read its nodes as well. */
function seesService(context: MeshContext, request: Request, service: string, node?: string): boolean {
  const token = context.tokens.find(request);
  if (token === undefined || !allowsService(context, token, service, 'read')) return false;
  return node === undefined || allows(context, token, 'node', node, 'read');
}

/** A list does not tell a caller without a token that it leaves something out. */
function tellsFiltered(context: MeshContext, request: Request): boolean {
  return context.tokens.find(request) !== undefined;
}

function allowsService(context: MeshContext, token: TokenRecord, service: string, right: MeshRight): boolean {
  return allows(context, token, 'service', service, right);
}

function allows(
  context: MeshContext,
  token: TokenRecord,
  type: 'service' | 'node' | 'agent',
  name: string,
  right: MeshRight,
): boolean {
  if (token.scope !== 'rules') return true;
  const items = token.policies.flatMap((policy) => parseRuleItems(context.tokens.policies.get(policy) ?? ''));
  const policy = closestPolicy(items, type, name);
  return policy === 'write' || (right === 'read' && policy === 'read');
}

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

/** The policy of the rule with this name, else of the longest prefix. */
function closestPolicy(items: readonly HclItem[], type: string, name: string): string | undefined {
  const exact = items.find((item) => item.name === type && item.labels[0] === name);
  if (exact) return findText(exact.items, 'policy');
  const prefixes = items.filter((item) => item.name === `${type}_prefix` && name.startsWith(item.labels[0] ?? ''));
  const longest = prefixes.sort((a, b) => b.labels[0]!.length - a.labels[0]!.length)[0];
  return longest && findText(longest.items, 'policy');
}

/** The tags of each service by its name. */
function listCatalog(request: Request, context: MeshContext): Response {
  const registered = ['consul', ...Object.keys(readEstate(context.estate).mesh.services)];
  const seen = registered.filter((name) => seesService(context, request, name, NODE));
  const isFiltered = seen.length < registered.length && tellsFiltered(context, request);
  const headers = {
    ...indexHeaders(40),
    'x-consul-effective-consistency': 'leader',
    ...(isFiltered ? { 'x-consul-results-filtered-by-acls': 'true' } : {}),
  };
  return jsonResponse(Object.fromEntries(seen.map((name) => [name, []])), headers);
}

function showAgent(request: Request, context: MeshContext): Response {
  requireAgent(context, request, NODE);
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
