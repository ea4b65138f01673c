import { type HclItem, parseRuleItems, readPolicyLevel } from '../hcl.ts';
import type { EcKey } from '../pki.ts';
import { HttpError } from '../router.ts';
import type { TokenRecord, TokenStore } from '../tokens.ts';
import type { Request, Route, ServiceOptions } from '../types.ts';

/** Who signs certificates. */
export interface Issuer {
  readonly name: string;
  readonly key: EcKey;
}

export interface Intention {
  readonly id: string;
  readonly namespace: string;
  /** `*` means any service. */
  readonly source: string;
  readonly destination: string;
  readonly action: 'allow' | 'deny';
  /** With layer 7 permissions, which authorize treats as a denial. */
  readonly hasPermissions: boolean;
  readonly precedence: number;
}

/** As the endpoint shows it. */
export interface CaRootRecord {
  readonly ID: string;
  readonly Name: string;
  readonly SerialNumber: bigint;
  readonly SigningKeyID: string;
  readonly ExternalTrustDomain: string | undefined;
  readonly NotBefore: string;
  readonly NotAfter: string;
  readonly RootCert: string;
  readonly IntermediateCerts: readonly string[] | null;
  Active: boolean;
  readonly PrivateKeyType: string;
  readonly PrivateKeyBits: number;
  readonly CreateIndex: number;
  ModifyIndex: number;
}

/** As the endpoint shows it. */
export interface Leaf {
  readonly SerialNumber: string;
  readonly CertPEM: string;
  /** Planted: it must appear nowhere. */
  readonly PrivateKeyPEM: string;
  readonly Service: string;
  readonly ServiceURI: string;
  readonly ValidAfter: string;
  readonly ValidBefore: string;
  readonly Namespace: string;
  readonly CreateIndex: number;
  readonly ModifyIndex: number;
}

/** The records of a mesh, and what its endpoints share. Tests read and damage them. */
export interface MeshContext extends ServiceOptions {
  readonly tokens: TokenStore;
  readonly trustDomain: string;
  /** The intermediate of the active root. */
  issuer: Issuer | undefined;
  readonly roots: CaRootRecord[];
  /** The certificates that the agent holds, by namespace and service. */
  readonly leaves: Map<string, Leaf>;
  /** Highest precedence first. */
  readonly intentions: readonly Intention[];
  /** The last modification index. */
  index: number;
  /** Number of the last certificate: it only grows. */
  serial: bigint;
}

type Right = `${'service' | 'node' | 'agent'}:${'read' | 'write'}`;

/** @throws HttpError 403 when the token of the request lacks the right */
export function requireRight(context: MeshContext, request: Request, right: Right, name: string): void {
  const token = context.tokens.find(request);
  if (!token || allows(context, token, right, name)) return;
  const who = `token with AccessorID '${token.accessor}'`;
  throw new HttpError(403, `Permission denied: ${who} lacks permission '${right}' on "${name}"`);
}

export function allows(context: MeshContext, token: TokenRecord, right: Right, name: string): boolean {
  if (token.scope !== 'rules') return true;
  const [type = '', verb] = right.split(':');
  const items = token.policies.flatMap((policy) => parseRuleItems(context.tokens.policies.get(policy) ?? ''));
  const policy = closestPolicy(items, type, name);
  return policy === 'write' || (verb === 'read' && policy === 'read');
}

/** The policy of the rule with this name, else of the longest prefix. */
function closestPolicy(items: readonly HclItem[], type: string, name: string): string | undefined {
  const exact = items.find((item) => item.name === type && item.labels[0] === name);
  if (exact) return readPolicyLevel(exact.items);
  const prefixes = items.filter((item) => item.name === `${type}_prefix` && name.startsWith(item.labels[0] ?? ''));
  const longest = prefixes.sort((a, b) => b.labels[0]!.length - a.labels[0]!.length)[0];
  return longest && readPolicyLevel(longest.items);
}

/** The namespace of a request: docs/services/mesh.md#namespaces. The sandbox's tokens belong to no namespace. */
export function meshNamespace({ query, headers }: Request, inBody?: unknown): string {
  const candidates = [inBody, query.get('ns'), headers['x-mesh-namespace']];
  return candidates.find((name): name is string => typeof name === 'string' && name !== '') ?? 'default';
}

/** The route as Consul's community edition serves it, which rejects namespaces. */
export function rejectNamespaces(route: Route): Route {
  const message = 'Namespaces are a Consul Enterprise feature';
  return {
    ...route,
    handle: (request) => {
      if (request.headers['x-consul-namespace'] !== undefined) {
        throw new HttpError(400, `Invalid header: "X-Consul-Namespace" - ${message}`);
      }
      if (request.query.has('ns')) throw new HttpError(400, `Invalid query parameter: "ns" - ${message}`);
      return route.handle(request);
    },
  };
}

export function indexHeaders(index: number, hasLeader = true): Record<string, string> {
  return {
    'x-consul-index': String(index),
    'x-consul-knownleader': String(hasLeader),
    'x-consul-lastcontact': '0',
  };
}
