import { DAY_MS, HOUR_MS } from '../../src/core/clock.ts';
import { readEstate } from '../estate.ts';
import { createCertificate, EcKey, keyIdentifier } from '../pki.ts';
import { createRandom, formatWholeSeconds, type Random } from '../random.ts';
import { jsonResponse } from '../router.ts';
import type { Request, Response, RouteTable } from '../types.ts';
import {
  type CaRootRecord,
  type Issuer,
  indexHeaders,
  type Leaf,
  type MeshContext,
  meshNamespace,
  requireRight,
} from './context.ts';

const ACTIVE_ROOT_DAYS = 60;
/** The validity of an intermediate, which ends before its root. */
const INTERMEDIATE_DAYS = 50;
/** As measured, the validity of the certificate by which Consul's old root signs the key of the new one. */
const CROSS_SIGNED_DAYS = 7;
/** The servers replace the active root when fewer days than this are left. */
const ROTATION_DAYS = 25;

/** docs/services/mesh.md#ca-roots. */
export const rootRoutes: RouteTable<MeshContext> = { 'GET /agent/connect/ca/roots': listRoots };

/** Three roots: an active one that expires within 30 days after a few days, an inactive one, and one about to expire. */
export function seedRoots(context: MeshContext, random: Random): void {
  const before = (days: number): Date => new Date(context.start.getTime() - days * DAY_MS - 3 * HOUR_MS);
  addRoot(context, random, before(25), ACTIVE_ROOT_DAYS, true);
  addRoot(context, random, before(400), 1825, false);
  addRoot(context, random, before(343), 365, false);
}

/** The active root is replaced before it expires. A root long expired is dropped once four or more are listed. */
export function tickRoots(context: MeshContext, random: Random, now: Date): void {
  const daysLeft = (root: CaRootRecord): number => (Date.parse(root.NotAfter) - now.getTime()) / DAY_MS;
  const active = context.roots.find((root) => root.Active);
  if (active && daysLeft(active) < ROTATION_DAYS) {
    const next = addRoot(context, random, now, ACTIVE_ROOT_DAYS, true, active);
    active.Active = false;
    active.ModifyIndex = next.ModifyIndex;
  }
  const expired = context.roots.findIndex((root) => daysLeft(root) < -30);
  if (expired >= 0 && context.roots.length > 3) context.roots.splice(expired, 1);
}

/** The key of a root, and the name that it signs with. */
const authorityOf = (id: string): Issuer => ({
  name: `pri-${id.slice(0, 2)}.consul.ca`,
  key: new EcKey(createRandom(id)),
});

/** @param replaced the root that signs the key of the new one, as Consul's does; the certificate stays in the list when it has expired */
function addRoot(
  context: MeshContext,
  random: Random,
  from: Date,
  days: number,
  active: boolean,
  replaced?: CaRootRecord,
): CaRootRecord {
  context.index += random.int(1, 9);
  const { index } = context;
  const number = context.roots.length;
  const id = Array.from({ length: 20 }, () => random.hex(2)).join(':');
  // A uint64: beyond 2^53 on purpose.
  const serialNumber = 10_000_000_000_000_000_001n + BigInt(random.int(0, 999_999)) * 2n;
  const issuer = authorityOf(id);
  const lower = { name: `${issuer.name}.lower`, key: new EcKey(createRandom(`${id}/lower`)) };
  const daysLater = (count: number) => new Date(from.getTime() + count * DAY_MS);
  const sign = ({ name, key }: Issuer, serial: bigint, notAfter: Date, by = issuer) => {
    const names = { serialNumber: serial, subject: name, uri: `spiffe://${context.trustDomain}` };
    return createCertificate({ ...names, notBefore: from, notAfter, key, issuer: by, isCa: true });
  };
  const crossSign = ({ ID: signer }: CaRootRecord) =>
    sign(issuer, serialNumber + 2n, daysLater(CROSS_SIGNED_DAYS), authorityOf(signer));
  const intermediate = sign(lower, serialNumber + 1n, daysLater(Math.min(days, INTERMEDIATE_DAYS)));
  if (active) context.issuer = lower;
  const root: CaRootRecord = {
    ID: id,
    Name: (number === 1 && readEstate(context.estate).mesh.plantedRoot) || `Mesh CA Root Cert ${number + 1}`,
    SerialNumber: serialNumber,
    SigningKeyID: colonHex(keyIdentifier(issuer.key).toString('hex')),
    ExternalTrustDomain: context.trustDomain.split('.')[0],
    NotBefore: formatWholeSeconds(from),
    NotAfter: formatWholeSeconds(daysLater(days)),
    RootCert: sign(issuer, serialNumber, daysLater(days)),
    // An old root that signs leaves itself.
    IntermediateCerts:
      days > ACTIVE_ROOT_DAYS && days < 1000 ? null : [intermediate, ...(replaced ? [crossSign(replaced)] : [])],
    Active: active,
    PrivateKeyType: 'ec',
    PrivateKeyBits: 256,
    CreateIndex: index,
    ModifyIndex: index,
  };
  context.roots.push(root);
  return root;
}

function listRoots({ now }: Request, context: MeshContext): Response {
  const { trustDomain } = context;
  const isHashicorp = context.flavor === 'hashicorp';
  const index = Math.max(...context.roots.map((root) => root.ModifyIndex));
  const body = {
    ActiveRootID: context.roots.find((root) => root.Active)?.ID ?? '',
    ...(isHashicorp ? { TrustDomain: trustDomain } : {}),
    Roots: context.roots.map((root) => ({
      ...root,
      // Newer versions compute it from the clock: it changes every day, and the root does not.
      ...(isHashicorp ? { DaysRemaining: Math.floor((Date.parse(root.NotAfter) - now.getTime()) / DAY_MS) } : {}),
    })),
  };
  const headers = { ...indexHeaders(index), 'x-cache': 'HIT', age: '3' };
  return jsonResponse(body, isHashicorp ? headers : {});
}

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
    const validMs = Date.parse(leaf.ValidBefore) - Date.parse(leaf.ValidAfter);
    const leftMs = Date.parse(leaf.ValidBefore) - now.getTime();
    if (leftMs <= validMs / 10) context.leaves.set(key, issue(context, leaf.Namespace, leaf.Service, now));
  }
}

/** Whether the agent has a certificate of the service in the path. */
export function holdsLeaf({ leaves }: MeshContext, { params }: Request): boolean {
  return params.service !== undefined && leaves.has(leafKey('default', params.service));
}

/** The service need not be registered. */
function readLeaf(request: Request, context: MeshContext): Response {
  const namespace = meshNamespace(request);
  requireRight(context, request, 'service:write', request.params.service!);
  const leaf = getOrIssue(context, namespace, request.params.service!, request.now);
  if (context.flavor === 'spec') return jsonResponse(leaf);
  const { Namespace: _, ...shown } = leaf;
  return jsonResponse(shown, { 'x-consul-index': String(leaf.ModifyIndex), 'x-cache': 'MISS' });
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
  const uri = `spiffe://${context.trustDomain}/ns/${namespace}/dc/dc1/svc/${encodeURIComponent(service)}`;
  const issuer = context.issuer!;
  const names = { serialNumber: context.serial, subject: '', uri, isCa: false };
  return {
    SerialNumber: colonHex(context.serial.toString(16).padStart(16, '0')),
    CertPEM: createCertificate({ ...names, notBefore, notAfter, key, issuer }),
    PrivateKeyPEM: key.privatePem,
    Service: service,
    ServiceURI: uri,
    ValidAfter: formatWholeSeconds(notBefore),
    ValidBefore: formatWholeSeconds(notAfter),
    Namespace: namespace,
    CreateIndex: context.index,
    ModifyIndex: context.index,
  };
}

function leafKey(namespace: string, service: string): string {
  return JSON.stringify([namespace, service]);
}

function colonHex(digits: string): string {
  return (digits.match(/../g) ?? []).join(':');
}
