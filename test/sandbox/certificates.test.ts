import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RunningSandbox } from '../../sandbox/index.ts';
import { startTestSandbox } from '../helpers/test-sandbox.ts';
import { data, read } from './secrets-client.ts';

let sandbox: RunningSandbox;

beforeEach(async () => {
  sandbox = await startTestSandbox({ flavor: 'hashicorp' });
});
afterEach(() => sandbox.close());

interface Root {
  readonly RootCert: string;
  readonly SerialNumber: number;
  readonly Active: boolean;
  readonly NotBefore: string;
  readonly NotAfter: string;
  readonly SigningKeyID: string;
  readonly IntermediateCerts: readonly string[] | null;
  readonly DaysRemaining: number;
}

type Leaf = Readonly<Record<'CertPEM' | 'PrivateKeyPEM' | 'ServiceURI' | 'SerialNumber' | 'ValidBefore', string>>;

async function listRoots(): Promise<readonly Root[]> {
  return (await read<{ Roots: readonly Root[] }>(sandbox, 'mesh', 'GET /agent/connect/ca/roots')).Roots;
}

test('every root is an X.509 certificate that signed itself, with the times and identifiers of its fields', async () => {
  for (const root of await listRoots()) {
    const certificate = new X509Certificate(root.RootCert);
    expect(certificate.ca).toBe(true);
    expect(certificate.verify(certificate.publicKey)).toBe(true);
    expect(new Date(certificate.validTo)).toEqual(new Date(root.NotAfter));
    expect(new Date(certificate.validFrom)).toEqual(new Date(root.NotBefore));
    expect(certificate.subjectAltName).toBe(`URI:spiffe://${sandbox.services.mesh.state.trustDomain}`);
    for (const lower of root.IntermediateCerts ?? []) {
      expect(new X509Certificate(lower).verify(certificate.publicKey)).toBe(true);
    }
  }
  const serials = sandbox.services.mesh.state.roots.map(({ SerialNumber }) => SerialNumber.toString(16).toUpperCase());
  const written = (await listRoots()).map(({ RootCert }) => new X509Certificate(RootCert).serialNumber);
  expect(written).toEqual(serials);
});

test('a leaf is signed by the intermediate of the active root, which ends before it, and has the private key that comes with it', async () => {
  const active = (await listRoots()).find(({ Active }) => Active)!;
  const signer = new X509Certificate(active.IntermediateCerts![0]!);
  expect(signer.verify(new X509Certificate(active.RootCert).publicKey)).toBe(true);
  expect(Date.parse(signer.validTo)).toBeLessThan(Date.parse(active.NotAfter));
  for (const service of ['web', encodeURIComponent('checkout "β", <b>'), 'of-no-service']) {
    const leaf = await read<Leaf>(sandbox, 'mesh', `GET /agent/connect/ca/leaf/${service}`);
    const certificate = new X509Certificate(leaf.CertPEM);
    expect(certificate.checkIssued(signer)).toBe(true);
    expect(certificate.verify(signer.publicKey)).toBe(true);
    expect(certificate.checkPrivateKey(createPrivateKey(leaf.PrivateKeyPEM))).toBe(true);
    expect(certificate.subjectAltName).toContain(leaf.ServiceURI);
    expect(new Date(certificate.validTo)).toEqual(new Date(leaf.ValidBefore));
    expect(leaf.SerialNumber.replaceAll(':', '').toUpperCase()).toBe(certificate.serialNumber);
  }
});

test('a root that is replaced signs the key of the new one for seven days', async () => {
  const old = (await listRoots()).find(({ Active }) => Active)!;
  for (let night = 0; night < 15; night += 1) sandbox.tick();
  const next = (await listRoots()).find(({ Active }) => Active)!;
  const [, crossSigned] = next.IntermediateCerts!.map((pem) => new X509Certificate(pem));
  const root = new X509Certificate(next.RootCert);
  expect(crossSigned!.subject).toBe(root.subject);
  expect(crossSigned!.publicKey.equals(root.publicKey)).toBe(true);
  expect(crossSigned!.verify(new X509Certificate(old.RootCert).publicKey)).toBe(true);
  expect(Date.parse(crossSigned!.validTo) - Date.parse(crossSigned!.validFrom)).toBe(7 * 24 * 3_600_000);
});

test('the public key of every asymmetric key parses, with the size of its type', async () => {
  const seen = new Set<string>();
  for (const name of sandbox.services.secrets.state.keys.keys()) {
    interface Key {
      readonly type: string;
      readonly versions: Readonly<Record<string, { readonly public_key?: string }>>;
    }
    const key = await data<Key>(sandbox, `GET /keymgmt/key/${encodeURIComponent(name)}`);
    for (const { public_key: pem } of Object.values(key.versions)) {
      if (key.type === 'aes256-gcm96') expect(pem).toBeUndefined();
      else seen.add(`${key.type} ${describeKey(pem!)}`);
    }
  }
  expect([...seen].sort()).toEqual([
    'ecdsa-p256 prime256v1',
    'ecdsa-p384 secp384r1',
    'ecdsa-p521 secp521r1',
    'rsa-2048 2048',
    'rsa-3072 3072',
    'rsa-4096 4096',
  ]);
});

function describeKey(pem: string): string {
  const { namedCurve, modulusLength } = createPublicKey(pem).asymmetricKeyDetails ?? {};
  return String(namedCurve ?? modulusLength);
}

test('the days that remain are computed from the clock: they change and the root does not', async () => {
  const [first] = await listRoots();
  sandbox.tick();
  const [second] = await listRoots();
  expect(second!.DaysRemaining).toBe(first!.DaysRemaining - 1);
  expect({ ...second, DaysRemaining: 0 }).toEqual({ ...first, DaysRemaining: 0 });
});
