import { DAY_MS, HOUR_MS } from '../../src/core/clock.ts';
import { readEstate } from '../estate.ts';
import { createCertificate, EcKey, keyIdentifier } from '../pki.ts';
import { createRandom, formatWholeSeconds, type Random } from '../random.ts';
import { jsonResponse } from '../responses.ts';
import type { Request, Response, RouteTable } from '../types.ts';
import { type CaRootRecord, indexHeaders, type MeshContext } from './context.ts';

/** The validity of an active root. */
const ACTIVE_ROOT_DAYS = 60;
/** The validity of an intermediate, which ends before its root. */
const INTERMEDIATE_DAYS = 50;
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
  const daysLeft = (root: CaRootRecord): number => (root.notAfter.getTime() - now.getTime()) / DAY_MS;
  const active = context.roots.find((root) => root.active);
  if (active && daysLeft(active) < ROTATION_DAYS) {
    const next = addRoot(context, random, now, ACTIVE_ROOT_DAYS, true);
    active.active = false;
    active.modifyIndex = next.modifyIndex;
  }
  const expired = context.roots.findIndex((root) => daysLeft(root) < -30);
  if (expired >= 0 && context.roots.length > 3) context.roots.splice(expired, 1);
}

function addRoot(context: MeshContext, random: Random, from: Date, days: number, active: boolean): CaRootRecord {
  context.index += random.int(1, 9);
  const { index } = context;
  const number = context.roots.length;
  const id = Array.from({ length: 20 }, () => random.hex(2)).join(':');
  // A uint64: beyond 2^53 on purpose.
  const serialNumber = 10_000_000_000_000_000_001n + BigInt(random.int(0, 999_999)) * 2n;
  const issuer = { name: `pri-${id.slice(0, 2)}.consul.ca`, key: new EcKey(createRandom(id)) };
  const common = { notBefore: from, notAfter: new Date(from.getTime() + days * DAY_MS), issuer, isCa: true };
  const uri = `spiffe://${context.trustDomain}`;
  const rootCert = createCertificate({ ...common, ...{ serialNumber, uri, subject: issuer.name, key: issuer.key } });
  const lower = { name: `${issuer.name}.lower`, key: new EcKey(createRandom(`${id}/lower`)) };
  const lowerDays = Math.min(days, INTERMEDIATE_DAYS);
  const intermediate = createCertificate({
    ...common,
    serialNumber: serialNumber + 1n,
    uri,
    subject: lower.name,
    key: lower.key,
    notAfter: new Date(from.getTime() + lowerDays * DAY_MS),
  });
  if (active) context.issuer = lower;
  const root: CaRootRecord = {
    id,
    name: (number === 1 && readEstate(context.estate).mesh.plantedRoot) || `Mesh CA Root Cert ${number + 1}`,
    serialNumber,
    signingKeyId: colonHex(keyIdentifier(issuer.key)),
    notBefore: common.notBefore,
    notAfter: common.notAfter,
    rootCert,
    privateKeyType: 'ec',
    privateKeyBits: 256,
    // An old root that signs leaves itself.
    intermediates: days > ACTIVE_ROOT_DAYS && days < 1000 ? null : [intermediate],
    active,
    createIndex: index,
    modifyIndex: index,
  };
  context.roots.push(root);
  return root;
}

function listRoots({ now }: Request, context: MeshContext): Response {
  const { trustDomain } = context;
  const isHashicorp = context.flavor === 'hashicorp';
  const index = Math.max(...context.roots.map((root) => root.modifyIndex));
  const body = {
    ActiveRootID: context.roots.find((root) => root.active)?.id ?? '',
    ...(isHashicorp ? { TrustDomain: trustDomain } : {}),
    Roots: context.roots.map((root) => ({
      ...rootObject(root, trustDomain),
      // Newer versions compute it from the clock: it changes every day, and the root does not.
      ...(isHashicorp ? { DaysRemaining: Math.floor((root.notAfter.getTime() - now.getTime()) / DAY_MS) } : {}),
    })),
  };
  const headers = { ...indexHeaders(index), 'x-cache': 'HIT', age: '3' };
  return jsonResponse(body, isHashicorp ? headers : {});
}

function colonHex(bytes: Buffer): string {
  return (bytes.toString('hex').match(/../g) ?? []).join(':');
}

function rootObject(root: CaRootRecord, trustDomain: string) {
  return {
    ID: root.id,
    Name: root.name,
    SerialNumber: root.serialNumber,
    SigningKeyID: root.signingKeyId,
    ExternalTrustDomain: trustDomain.split('.')[0],
    NotBefore: formatWholeSeconds(root.notBefore),
    NotAfter: formatWholeSeconds(root.notAfter),
    RootCert: root.rootCert,
    IntermediateCerts: root.intermediates,
    Active: root.active,
    PrivateKeyType: root.privateKeyType,
    PrivateKeyBits: root.privateKeyBits,
    CreateIndex: root.createIndex,
    ModifyIndex: root.modifyIndex,
  };
}
