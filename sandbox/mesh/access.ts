import { createHash } from 'node:crypto';
import { findText, type HclItem, parseRuleItems } from '../hcl.ts';
import { createRandom, uuid } from '../random.ts';
import { HttpError, jsonResponse, textResponse } from '../responses.ts';
import type { TokenRecord, TokenStore } from '../tokens.ts';
import type { Flavor, Request, Resource, Response, Route } from '../types.ts';
import { indexHeaders } from './context.ts';

const SELF = '/acl/token/self';
const GLOBAL_MANAGEMENT = { ID: '00000000-0000-0000-0000-000000000001', Name: 'global-management' };

export type MeshRight = 'read' | 'write';

/** Who a token is, and what it may do: docs/services/mesh.md#authentication. */
export class MeshAccess implements Resource {
  readonly #tokens: TokenStore;
  readonly #flavor: Flavor;
  readonly #anonymousPaths: readonly string[];

  /** `anonymousPaths` need no right, so that a caller without a token may read them. */
  constructor(tokens: TokenStore, flavor: Flavor, anonymousPaths: readonly string[]) {
    this.#tokens = tokens;
    this.#flavor = flavor;
    this.#anonymousPaths = anonymousPaths;
  }

  get routes(): readonly Route[] {
    if (this.#flavor === 'spec') return [];
    return [{ method: 'GET', path: SELF, handle: (request) => this.#self(this.#tokens.find(request)!) }];
  }

  /** `holdsLeaf`: the agent has a certificate of the service, which it then answers to a token it does not know. */
  authorize(request: Request, route: Route | undefined, holdsLeaf: boolean): Response | undefined {
    const { state } = this.#tokens.identify(request);
    if (state === 'valid') return undefined;
    if (state !== 'missing') {
      if (holdsLeaf && this.#flavor === 'hashicorp') return undefined;
      if (route?.path !== SELF) return textResponse(403, 'ACL not found');
      const refusal = textResponse(403, 'token does not exist: ACL not found');
      return { ...refusal, headers: { ...refusal.headers, ...indexHeaders(1, false) } };
    }
    if (route && this.#anonymousPaths.includes(route.path)) return undefined;
    return textResponse(403, 'Permission denied: anonymous token lacks permission "service:write"');
  }

  /** @throws HttpError 403 when the token of the request lacks the right on the service */
  requireService(request: Request, service: string, right: MeshRight): void {
    const { state, token } = this.#tokens.identify(request);
    if (state !== 'valid' || !token || this.#allowsService(token, service, right)) return;
    const who = `token with AccessorID '${token.accessor}'`;
    throw new HttpError(403, `Permission denied: ${who} lacks permission 'service:${right}' on "${service}"`);
  }

  /** @throws HttpError 403 when the token of the request may not read the agent */
  requireAgent(request: Request, node: string): void {
    const { token } = this.#tokens.identify(request);
    if (token && this.#allows(token, 'agent', node, 'read')) return;
    throw new HttpError(
      403,
      `Permission denied: token with AccessorID '${token?.accessor}' lacks permission 'agent:read' on "${node}"`,
    );
  }

  /** Whether a list shows the service to the caller. The catalog needs the right to read its nodes as well. */
  seesService(request: Request, service: string, node?: string): boolean {
    const token = this.#tokens.find(request);
    if (token === undefined || !this.#allowsService(token, service, 'read')) return false;
    return node === undefined || this.#allows(token, 'node', node, 'read');
  }

  /** A list does not tell a caller without a token that it leaves something out. */
  tellsFiltered(request: Request): boolean {
    return this.#tokens.find(request) !== undefined;
  }

  #allowsService(token: TokenRecord, service: string, right: MeshRight): boolean {
    return this.#allows(token, 'service', service, right);
  }

  #allows(token: TokenRecord, type: 'service' | 'node' | 'agent', name: string, right: MeshRight): boolean {
    if (token.scope !== 'rules') return true;
    const items = token.policies.flatMap((policy) => parseRuleItems(this.#tokens.policies.get(policy) ?? ''));
    const policy = closestPolicy(items, type, name);
    return policy === 'write' || (right === 'read' && policy === 'read');
  }

  #self(token: TokenRecord): Response {
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
