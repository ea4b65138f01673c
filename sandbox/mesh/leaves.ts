import { DAY_MS, HOUR_MS } from '../../src/core/clock.ts';
import { readEstate } from '../estate.ts';
import { createCertificate, EcKey } from '../pki.ts';
import { createRandom, formatWholeSeconds } from '../random.ts';
import { jsonResponse } from '../responses.ts';
import type { Request, Response, RouteTable } from '../types.ts';
import { requireService } from './access.ts';
import { type Leaf, type MeshContext, meshNamespace } from './context.ts';

/** The agent's default: 72 hours. */
const DEFAULT_VALID_DAYS = 3;

/** docs/services/mesh.md#leaf-certificates. */
export const leafRoutes: RouteTable<MeshContext> = { 'GET /agent/connect/ca/leaf/:service': readLeaf };

export function seedLeaves(context: MeshContext): void {
  for (const service of Object.keys(readEstate(context.estate).mesh.services))
    getOrIssue(context, 'default', service, context.start);
}

/** Renews certificates with a tenth of their validity or less left; the specification gives no number. */
export function renewLeaves(context: MeshContext, now: Date): void {
  for (const [key, leaf] of context.leaves) {
    const validMs = leaf.validBefore.getTime() - leaf.validAfter.getTime();
    const leftMs = leaf.validBefore.getTime() - now.getTime();
    if (leftMs <= validMs / 10) context.leaves.set(key, issue(context, leaf.namespace, leaf.service, now));
  }
}

/** Whether the agent has a certificate of the service in the path. */
export function holdsLeaf({ leaves }: MeshContext, { params }: Request): boolean {
  return params.service !== undefined && leaves.has(leafKey('default', params.service));
}

/** The service need not be registered. */
function readLeaf(request: Request, context: MeshContext): Response {
  const isHashicorp = context.flavor === 'hashicorp';
  const namespace = meshNamespace(request);
  requireService(context, request, request.params.service!, 'write');
  const leaf = getOrIssue(context, namespace, request.params.service!, request.now);
  const certificate = {
    SerialNumber: leaf.serialNumber,
    CertPEM: leaf.certPem,
    PrivateKeyPEM: leaf.privateKeyPem,
    Service: leaf.service,
    ServiceURI: serviceUri(context, namespace, leaf.service),
    ValidAfter: formatWholeSeconds(leaf.validAfter),
    ValidBefore: formatWholeSeconds(leaf.validBefore),
    ...(isHashicorp ? {} : { Namespace: namespace }),
    CreateIndex: leaf.index,
    ModifyIndex: leaf.index,
  };
  return jsonResponse(certificate, isHashicorp ? { 'x-consul-index': String(leaf.index), 'x-cache': 'MISS' } : {});
}

function getOrIssue(context: MeshContext, namespace: string, service: string, now: Date): Leaf {
  const key = leafKey(namespace, service);
  const leaf = context.leaves.get(key) ?? issue(context, namespace, service, now);
  context.leaves.set(key, leaf);
  return leaf;
}

function issue(context: MeshContext, namespace: string, service: string, now: Date): Leaf {
  context.serial += 1n;
  context.index += 1;
  const key = new EcKey(createRandom(`${context.seed}/mesh/leaf/${service}/${context.serial}`));
  const validDays = readEstate(context.estate).mesh.services[service] ?? 'default';
  const days = validDays === 'default' ? DEFAULT_VALID_DAYS : validDays;
  const [notBefore, notAfter] = [new Date(now.getTime() - HOUR_MS), new Date(now.getTime() + days * DAY_MS - HOUR_MS)];
  const uri = serviceUri(context, namespace, service);
  const issuer = context.issuer!;
  const names = { serialNumber: context.serial, subject: '', uri, isCa: false };
  return {
    namespace,
    service,
    serialNumber: formatColonHex(context.serial),
    certPem: createCertificate({ ...names, notBefore, notAfter, key, issuer }),
    privateKeyPem: key.privatePem,
    validAfter: notBefore,
    validBefore: notAfter,
    index: context.index,
  };
}

function serviceUri(context: MeshContext, namespace: string, service: string): string {
  return `spiffe://${context.trustDomain}/ns/${namespace}/dc/dc1/svc/${encodeURIComponent(service)}`;
}

function leafKey(namespace: string, service: string): string {
  return JSON.stringify([namespace, service]);
}

function formatColonHex(serial: bigint): string {
  const digits = serial.toString(16).padStart(16, '0');
  return (digits.match(/../g) ?? []).join(':');
}
