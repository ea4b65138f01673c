import { DAY_MS, HOUR_MS } from '../../src/core/clock.ts';
import { createCertificate, EcKey } from '../pki.ts';
import { createRandom, formatWholeSeconds } from '../random.ts';
import { jsonResponse } from '../responses.ts';
import type { EstateName, Request, Resource, Response, Route, ServiceOptions } from '../types.ts';
import type { MeshAccess } from './access.ts';
import { type MeshContext, meshNamespace } from './context.ts';

export interface Leaf {
  readonly namespace: string;
  readonly service: string;
  readonly serialNumber: string;
  readonly certPem: string;
  /** Planted: it must appear nowhere. */
  readonly privateKeyPem: string;
  readonly validAfter: Date;
  readonly validBefore: Date;
  readonly index: number;
}

/** The services that have a certificate on day 0, with its validity in days. */
export const SERVICES: Readonly<Record<EstateName, Readonly<Record<string, number | 'default'>>>> = {
  company: { web: 'default', 'checkout-api': 90, payments: 33, identity: 365 },
  hostile: { web: 'default', api: 90, billing: 33, 'checkout "β", <b>': 365 },
};

/** The agent's default: 72 hours. */
const DEFAULT_VALID_DAYS = 3;

/** docs/services/mesh.md#leaf-certificates. */
export class Leaves implements Resource {
  /** The certificates that the agent holds, by namespace and service. */
  readonly records = new Map<string, Leaf>();
  readonly #context: MeshContext;
  readonly #options: ServiceOptions;
  readonly #access: MeshAccess;
  /** Number of the last certificate: it only grows. */
  #serial = 2n ** 60n + 1n;

  constructor(context: MeshContext, options: ServiceOptions, access: MeshAccess) {
    this.#context = context;
    this.#options = options;
    this.#access = access;
    for (const service of Object.keys(SERVICES[options.estate])) this.#getOrIssue('default', service, options.start);
  }

  get routes(): readonly Route[] {
    return [{ method: 'GET', path: '/agent/connect/ca/leaf/:service', handle: (request) => this.#read(request) }];
  }

  /** Renews certificates with a tenth of their validity or less left; the specification gives no number. */
  tick(now: Date): void {
    for (const [key, leaf] of this.records) {
      const validMs = leaf.validBefore.getTime() - leaf.validAfter.getTime();
      const leftMs = leaf.validBefore.getTime() - now.getTime();
      if (leftMs <= validMs / 10) this.records.set(key, this.#issue(leaf.namespace, leaf.service, now));
    }
  }

  /** Whether the agent has a certificate of the service in the path. */
  holds({ params }: Request): boolean {
    return params.service !== undefined && this.records.has(leafKey('default', params.service));
  }

  /** The service need not be registered. */
  #read(request: Request): Response {
    const isHashicorp = this.#options.flavor === 'hashicorp';
    const namespace = meshNamespace(request);
    this.#access.requireService(request, request.params.service!, 'write');
    const leaf = this.#getOrIssue(namespace, request.params.service!, request.now);
    const certificate = {
      SerialNumber: leaf.serialNumber,
      CertPEM: leaf.certPem,
      PrivateKeyPEM: leaf.privateKeyPem,
      Service: leaf.service,
      ServiceURI: this.#uri(namespace, leaf.service),
      ValidAfter: formatWholeSeconds(leaf.validAfter),
      ValidBefore: formatWholeSeconds(leaf.validBefore),
      ...(isHashicorp ? {} : { Namespace: namespace }),
      CreateIndex: leaf.index,
      ModifyIndex: leaf.index,
    };
    return jsonResponse(certificate, isHashicorp ? { 'x-consul-index': String(leaf.index), 'x-cache': 'MISS' } : {});
  }

  #getOrIssue(namespace: string, service: string, now: Date): Leaf {
    const key = leafKey(namespace, service);
    const leaf = this.records.get(key) ?? this.#issue(namespace, service, now);
    this.records.set(key, leaf);
    return leaf;
  }

  #issue(namespace: string, service: string, now: Date): Leaf {
    this.#serial += 1n;
    const index = this.#context.advanceIndex();
    const key = new EcKey(createRandom(`${this.#options.seed}/mesh/leaf/${service}/${this.#serial}`));
    const validDays = SERVICES[this.#options.estate][service] ?? 'default';
    const days = validDays === 'default' ? DEFAULT_VALID_DAYS : validDays;
    const [notBefore, notAfter] = [
      new Date(now.getTime() - HOUR_MS),
      new Date(now.getTime() + days * DAY_MS - HOUR_MS),
    ];
    const uri = this.#uri(namespace, service);
    const issuer = this.#context.issuer!;
    const names = { serialNumber: this.#serial, subject: '', uri, isCa: false };
    return {
      namespace,
      service,
      serialNumber: formatColonHex(this.#serial),
      certPem: createCertificate({ ...names, notBefore, notAfter, key, issuer }),
      privateKeyPem: key.privatePem,
      validAfter: notBefore,
      validBefore: notAfter,
      index,
    };
  }

  #uri(namespace: string, service: string): string {
    return `spiffe://${this.#context.trustDomain}/ns/${namespace}/dc/dc1/svc/${encodeURIComponent(service)}`;
  }
}

function leafKey(namespace: string, service: string): string {
  return JSON.stringify([namespace, service]);
}

function formatColonHex(serial: bigint): string {
  const digits = serial.toString(16).padStart(16, '0');
  return (digits.match(/../g) ?? []).join(':');
}
