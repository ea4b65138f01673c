import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { describeCertificates } from '../../src/extract/sources/shared/certificates.ts';
import { readRecorded } from '../recorded/recorded.ts';

const field = (name: string, key: string) => {
  const { body } = readRecorded(name);
  return JSON.parse(`"${new RegExp(`"${key}": "([^"]*)"`, 'u').exec(body)?.[1]}"`) as string;
};
const ROOT = field('consul/roots', 'RootCert');
const LEAF = field('consul/leaf', 'CertPEM').trim();
const ROOT_KEY = '46c2695918239157 15fc6984c2562b11 c89de331677e370c c8b4c278cee63177'.replaceAll(' ', '');

describe('a certificate', () => {
  test('of a Consul root says what openssl says of it', () => {
    expect(describeCertificates(ROOT)).toEqual([
      {
        fingerprint: 'd20a3acd85a427bb1f2156b79c60a983e7603e8f1b163e2b16462de44b456595',
        subject: 'CN=pri-xz40no22.consul.ca.1873cb9d.consul',
        issuer: 'CN=pri-xz40no22.consul.ca.1873cb9d.consul',
        serial: '0c',
        not_before: '2026-11-22T00:26:13.000Z',
        not_after: '2036-11-19T00:26:13.000Z',
        names: 'URI:spiffe://1873cb9d-98be-b577-93a8-ca1ebf8a3254.consul',
        key_type: 'ec',
        key_bits: 256,
        signature_algorithm: 'ecdsa-with-SHA256',
        key_id: ROOT_KEY,
        signer_key_id: ROOT_KEY,
      },
    ]);
  });

  test('of a Consul leaf has no subject, and names the key of its signer', () => {
    expect(describeCertificates(LEAF)[0]).toMatchObject({
      subject: '',
      issuer: 'CN=pri-xz40no22.consul.ca.1873cb9d.consul',
      not_after: '2026-11-25T00:28:25.000Z',
      names: 'URI:spiffe://1873cb9d-98be-b577-93a8-ca1ebf8a3254.consul/ns/default/dc/dc1/svc/web',
      signer_key_id: ROOT_KEY,
    });
  });

  test('is one of several in a text, in their order', () => {
    expect(describeCertificates(`first\n${LEAF}\n${ROOT}`).map(({ serial }) => serial)).toEqual(['0e', '0c']);
  });

  test.each([
    '',
    'no certificate',
    LEAF.slice(0, 300),
    LEAF.replace('MII', 'AAA'),
    `${LEAF.slice(0, 90)}\n-----END CERTIFICATE-----`,
  ])('that cannot be read has the fingerprint of its text alone: %j', (text) => {
    expect(describeCertificates(text)).toEqual([{ fingerprint: createHash('sha256').update(text).digest('hex') }]);
  });

  const openssl = (...args: string[]) => spawnSync('openssl', args, { encoding: 'utf8' });
  const isAbsent = openssl('version').status !== 0;
  if (isAbsent) console.log('certificates of other kinds are not made: openssl is absent');
  test.skipIf(isAbsent).each([
    ['rsa:1024', 'sha1', 'rsa', 1024, 'sha1WithRSAEncryption'],
    ['rsa:3072', 'sha512', 'rsa', 3072, 'sha512WithRSAEncryption'],
    ['rsa:2048 -sigopt rsa_padding_mode:pss', 'sha1', 'rsa', 2048, 'rsassaPss-with-SHA1'],
    ['rsa:2048 -sigopt rsa_padding_mode:pss', 'sha384', 'rsa', 2048, 'rsassaPss-with-SHA384'],
    ['rsa-pss', 'sha256', 'rsa-pss', 2048, 'rsassaPss-with-SHA256'],
    ['ed25519', 'sha256', 'ed25519', null, 'Ed25519'],
    ['ed448', 'sha256', 'ed448', null, 'Ed448'],
  ] as const)('of another kind is read: %s, %s', (newKey, digest, type, bits, algorithm) => {
    const key = ['-newkey', ...newKey.split(' ')];
    const name = '/CN=a\\/b, "c"/O=Ünïcode <b>';
    const made = openssl(
      'req',
      '-x509',
      ...key,
      `-${digest}`,
      '-nodes',
      '-keyout',
      '/dev/null',
      '-utf8',
      '-subj',
      name,
    );
    expect(describeCertificates(made.stdout)).toMatchObject([
      { key_type: type, key_bits: bits, signature_algorithm: algorithm, subject: expect.stringContaining('O=') },
    ]);
  });
});
