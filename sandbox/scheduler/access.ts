import { createHash } from 'node:crypto';
import { textResponse } from '../responses.ts';
import { permits, type TokenRecord } from '../tokens.ts';
import type { Request, Response, Route, RouteTable } from '../types.ts';
import { Acl, parseRules } from './acl.ts';
import { requestNamespace, type SchedulerContext } from './context.ts';

const VOLUME_LIST = ['csi-list-volume', 'csi-read-volume', 'csi-mount-volume', 'list-jobs'];
const VOLUME_READ = ['csi-read-volume', 'csi-mount-volume', 'read-job'];
const SELF = '/acl/token/self';
const DENIED = textResponse(403, 'Permission denied');

/** The rights that routes name: a token with rules has none of the others. A policy is read by the tokens that have it. */
const RIGHTS: Readonly<Record<string, (acl: Acl, request: Request) => boolean>> = {
  any: () => true,
  'read-agent': (acl) => acl.readsAgent(),
  'list-plugins': (acl) => acl.allowsPlugin(false),
  'read-plugin': (acl) => acl.allowsPlugin(true),
  'list-volumes': (acl, request) => acl.allowsNamespace(requestNamespace(request), VOLUME_LIST),
  'read-volume': (acl, request) => acl.allowsNamespace(requestNamespace(request), VOLUME_READ),
  'write-volume': (acl, request) => acl.allowsNamespace(writtenNamespace(request), ['csi-write-volume']),
  'mount-volume': (acl, request) => acl.allowsNamespace(requestNamespace(request), ['csi-mount-volume']),
};

/** Who a token is, and what it may do: docs/services/scheduler.md#authentication. */
export const accessRoutes: RouteTable<SchedulerContext> = { [`GET ${SELF}`]: { right: 'any', handle: showSelf } };

export function authorize(context: SchedulerContext, request: Request, route: Route | undefined): Response | undefined {
  const { state, token } = context.tokens.identify(request);
  if (state === 'missing') return DENIED;
  if (state !== 'valid' || !token) return refuse(context, state === 'expired', route);
  return permits(token, route, () => allows(context, token, request, route)) ? undefined : DENIED;
}

/** A token that is not of type management sees its own policies only. */
export function seesPolicy(context: SchedulerContext, request: Request, name: string): boolean {
  const token = context.tokens.find(request);
  return token !== undefined && (token.scope !== 'rules' || token.policies.includes(name));
}

/** The rights of the caller; undefined when it may see everything. */
export function findAcl(context: SchedulerContext, request: Request): Acl | undefined {
  const token = context.tokens.find(request);
  return token?.scope === 'rules' ? createAcl(context, token) : undefined;
}

function refuse(context: SchedulerContext, isExpired: boolean, route: Route | undefined): Response {
  if (context.flavor === 'spec' || route?.path === SELF) return DENIED;
  return textResponse(403, isExpired ? 'ACL token expired' : 'ACL token not found');
}

function allows(context: SchedulerContext, token: TokenRecord, request: Request, route: Route | undefined): boolean {
  if (!route) return true;
  const acl = createAcl(context, token);
  // Nomad's storage plugins check a right of their own.
  const needsPlugin = route.asksPlugin === true && context.flavor === 'hashicorp';
  return RIGHTS[route.right ?? '']?.(acl, request) === true && (!needsPlugin || acl.allowsPlugin(true));
}

function createAcl(context: SchedulerContext, { policies }: TokenRecord): Acl {
  return new Acl(policies.flatMap((name) => context.policies.get(name)?.rules ?? []).map((rules) => parseRules(rules)));
}

function showSelf(request: Request, context: SchedulerContext): Response {
  const token = context.tokens.find(request)!;
  const isClient = token.scope === 'rules';
  const hash = createHash('sha256').update(token.accessor).digest('base64');
  const lifeMs = token.expiresAt && token.expiresAt.getTime() - token.createdAt.getTime();
  return context.json({
    ExpirationTTL: lifeMs === null ? '' : formatHours(lifeMs),
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

/** `24h0m0s`. */
function formatHours(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  return `${Math.floor(minutes / 60)}h${minutes % 60}m0s`;
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
