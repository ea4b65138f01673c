import { createHash } from 'node:crypto';
import { textResponse } from '../responses.ts';
import type { TokenRecord, TokenStore } from '../tokens.ts';
import type { Request, Resource, Response, Route } from '../types.ts';
import { Acl, parseRules } from './acl.ts';
import { requestNamespace, type SchedulerContext } from './context.ts';
import type { Policy } from './policies.ts';

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
export class SchedulerAccess implements Resource {
  readonly #tokens: TokenStore;
  readonly #context: SchedulerContext;
  readonly #policies: ReadonlyMap<string, Policy>;

  constructor(tokens: TokenStore, context: SchedulerContext, policies: ReadonlyMap<string, Policy>) {
    this.#tokens = tokens;
    this.#context = context;
    this.#policies = policies;
  }

  get routes(): readonly Route[] {
    if (this.#context.flavor === 'spec') return [];
    return [{ method: 'GET', path: SELF, right: 'any', handle: (request) => this.#self(this.#tokens.find(request)!) }];
  }

  authorize(request: Request, route: Route | undefined): Response | undefined {
    const { state, token } = this.#tokens.identify(request);
    if (state === 'missing') return DENIED;
    if (state !== 'valid' || !token) return this.#refuse(state === 'expired', route);
    const isPermitted =
      token.scope === 'all' || (token.scope === 'reads' ? route?.writes !== true : this.#allows(token, request, route));
    return isPermitted ? undefined : DENIED;
  }

  /** A token that is not of type management sees its own policies only. */
  seesPolicy(request: Request, name: string): boolean {
    const token = this.#tokens.find(request);
    return token !== undefined && (token.scope !== 'rules' || token.policies.includes(name));
  }

  /** The rights of the caller; undefined when it may see everything. */
  aclFor(request: Request): Acl | undefined {
    const token = this.#tokens.find(request);
    return token?.scope === 'rules' ? this.#acl(token) : undefined;
  }

  #refuse(isExpired: boolean, route: Route | undefined): Response {
    if (this.#context.flavor === 'spec' || route?.path === SELF) return DENIED;
    return textResponse(403, isExpired ? 'ACL token expired' : 'ACL token not found');
  }

  #allows(token: TokenRecord, request: Request, route: Route | undefined): boolean {
    if (!route) return true;
    const acl = this.#acl(token);
    // Nomad's storage plugins check a right of their own.
    const needsPlugin = route.asksPlugin === true && this.#context.flavor === 'hashicorp';
    return RIGHTS[route.right ?? '']?.(acl, request) === true && (!needsPlugin || acl.allowsPlugin(true));
  }

  #acl({ policies }: TokenRecord): Acl {
    return new Acl(policies.flatMap((name) => this.#policies.get(name)?.rules ?? []).map((rules) => parseRules(rules)));
  }

  #self(token: TokenRecord): Response {
    const isClient = token.scope === 'rules';
    const hash = createHash('sha256').update(token.accessor).digest('base64');
    const lifeMs = token.expiresAt && token.expiresAt.getTime() - token.createdAt.getTime();
    return this.#context.json({
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
