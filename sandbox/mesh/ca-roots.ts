import { DAY_MS, HOUR_MS } from '../../src/core/clock.ts';
import { createCertificate, EcKey, keyIdentifier } from '../pki.ts';
import { createRandom, formatWholeSeconds, HOSTILE_TEXTS, type Random } from '../random.ts';
import { jsonResponse } from '../responses.ts';
import type { Flavor, Request, Resource, Response, Route, ServiceOptions } from '../types.ts';
import { indexHeaders, type MeshContext } from './context.ts';

export interface CaRootRecord {
  readonly id: string;
  readonly name: string;
  readonly serialNumber: bigint;
  readonly signingKeyId: string;
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly rootCert: string;
  readonly privateKeyType: string;
  readonly privateKeyBits: number;
  readonly intermediates: readonly string[] | null;
  active: boolean;
  readonly createIndex: number;
  modifyIndex: number;
}

export const CA_ROOTS_PATH = '/agent/connect/ca/roots';

/** The validity of an active root. */
const ACTIVE_ROOT_DAYS = 60;
/** The validity of an intermediate, which ends before its root. */
const INTERMEDIATE_DAYS = 50;
/** The servers replace the active root when fewer days than this are left. */
const ROTATION_DAYS = 25;

/** docs/services/mesh.md#ca-roots. */
export class CaRoots implements Resource {
  readonly records: CaRootRecord[] = [];
  readonly #context: MeshContext;
  readonly #flavor: Flavor;
  readonly #hasHostileName: boolean;

  /** Three roots: an active one that expires within 30 days after a few days, an inactive one, and one about to expire. */
  constructor(context: MeshContext, { estate, flavor, start }: ServiceOptions, random: Random) {
    this.#context = context;
    this.#flavor = flavor;
    this.#hasHostileName = estate === 'hostile';
    const daysBefore = (days: number): Date => new Date(start.getTime() - days * DAY_MS - 3 * HOUR_MS);
    this.#add(random, daysBefore(25), ACTIVE_ROOT_DAYS, true);
    this.#add(random, daysBefore(400), 1825, false);
    this.#add(random, daysBefore(343), 365, false);
  }

  get routes(): readonly Route[] {
    return [{ method: 'GET', path: CA_ROOTS_PATH, handle: (request) => this.#list(request) }];
  }

  /** The active root is replaced before it expires. A root long expired is dropped once four or more are listed. */
  tick(random: Random, now: Date): void {
    const daysLeft = (root: CaRootRecord): number => (root.notAfter.getTime() - now.getTime()) / DAY_MS;
    const active = this.records.find((root) => root.active);
    if (active && daysLeft(active) < ROTATION_DAYS) {
      const next = this.#add(random, now, ACTIVE_ROOT_DAYS, true);
      active.active = false;
      active.modifyIndex = next.modifyIndex;
    }
    const expired = this.records.findIndex((root) => daysLeft(root) < -30);
    if (expired >= 0 && this.records.length > 3) this.records.splice(expired, 1);
  }

  #add(random: Random, from: Date, days: number, active: boolean): CaRootRecord {
    const index = this.#context.advanceIndex(random.int(1, 9));
    const number = this.records.length;
    const id = Array.from({ length: 20 }, () => random.hex(2)).join(':');
    // A uint64: beyond 2^53 on purpose.
    const serialNumber = 10_000_000_000_000_000_001n + BigInt(random.int(0, 999_999)) * 2n;
    const issuer = { name: `pri-${id.slice(0, 2)}.consul.ca`, key: new EcKey(createRandom(id)) };
    const common = { notBefore: from, notAfter: new Date(from.getTime() + days * DAY_MS), issuer, isCa: true };
    const uri = `spiffe://${this.#context.trustDomain}`;
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
    if (active) this.#context.issuer = lower;
    const root: CaRootRecord = {
      id,
      name: number === 1 && this.#hasHostileName ? HOSTILE_TEXTS[0]! : `Mesh CA Root Cert ${number + 1}`,
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
    this.records.push(root);
    return root;
  }

  #list({ now }: Request): Response {
    const { trustDomain } = this.#context;
    const isHashicorp = this.#flavor === 'hashicorp';
    const index = Math.max(...this.records.map((root) => root.modifyIndex));
    const body = {
      ActiveRootID: this.records.find((root) => root.active)?.id ?? '',
      ...(isHashicorp ? { TrustDomain: trustDomain } : {}),
      Roots: this.records.map((root) => ({
        ...rootObject(root, trustDomain),
        // Newer versions compute it from the clock: it changes every day, and the root does not.
        ...(isHashicorp ? { DaysRemaining: Math.floor((root.notAfter.getTime() - now.getTime()) / DAY_MS) } : {}),
      })),
    };
    const headers = { ...indexHeaders(index), 'x-cache': 'HIT', age: '3' };
    return jsonResponse(body, isHashicorp ? headers : {});
  }
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
