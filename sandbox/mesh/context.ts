import type { EcKey } from '../pki.ts';
import { HttpError } from '../router.ts';
import type { TokenStore } from '../tokens.ts';
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
