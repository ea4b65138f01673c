import { beforeAll, describe, expect, test } from 'vitest';
import { createFindingsWarehouse, type FindingsWarehouse, type Rows } from '../helpers/findings-warehouse.ts';
import { cleanAtEnd } from '../helpers/temp.ts';

const NOW = '2026-11-20T02:15:00Z';
const STARTED = '2026-01-01T00:00:00Z';
const atEnd = cleanAtEnd();

const root = (id: string, more: Rows[number] = {}): Rows[number] => ({
  root_id: id,
  name: `root ${id}`,
  active: false,
  not_before: STARTED,
  not_after: '2030-01-01T00:00:00Z',
  ...more,
});

const authority = (name: string, more: Rows[number] = {}): Rows[number] => ({
  fingerprint: `print of ${name}`,
  kind: 'root',
  root_id: name,
  subject: `CN=${name}`,
  issuer: `CN=${name}`,
  not_after: '2030-01-01T00:00:00Z',
  key_type: 'ec',
  key_bits: 256,
  signature_algorithm: 'ecdsa-with-SHA256',
  key_id: `key of ${name}`,
  signer_key_id: `key of ${name}`,
  ...more,
});

const leaf = (service: string, signer: string, more: Rows[number] = {}): Rows[number] => ({
  service,
  namespace: 'default',
  valid_after: '2026-11-19T00:00:00Z',
  valid_before: '2026-11-22T00:00:00Z',
  fingerprint: `print of ${service}`,
  issuer: `CN=${signer}`,
  key_type: 'ec',
  key_bits: 256,
  signature_algorithm: 'ecdsa-with-SHA256',
  signer_key_id: `key of ${signer}`,
  ...more,
});

const intermediate = (name: string, ends: string | null, more: Rows[number] = {}): Rows[number] =>
  authority(name, {
    kind: 'intermediate',
    root_id: 'new',
    issuer: 'CN=new',
    signer_key_id: 'key of new',
    not_after: ends,
    ...more,
  });

describe('the certificates of a mesh', () => {
  let warehouse: FindingsWarehouse;

  beforeAll(async () => {
    warehouse = await createFindingsWarehouse({ cleanup: atEnd });
    await warehouse.pull(NOW, 'consul', 'ca_roots', {
      ca_roots: [
        root('old'),
        root('new', { active: true, not_before: '2026-06-01T00:00:00Z' }),
        root('second', { active: true }),
        root('unreported', { active: null, name: null }),
      ],
      authority_certificates: [
        authority('old', { signature_algorithm: 'sha1WithRSAEncryption', key_type: 'rsa', key_bits: 2048 }),
        authority('new'),
        authority('unreported'),
        intermediate('ends-later', '2027-02-18T02:15:01Z'),
        intermediate('ends-in-90', '2027-02-18T02:15:00Z'),
        intermediate('ends-in-30', '2026-12-20T02:15:00Z'),
        intermediate('ends-in-7', '2026-11-27T02:15:00Z', { key_type: 'rsa', key_bits: 1024 }),
        intermediate('end-unreported', null, { signature_algorithm: 'md5WithRSAEncryption' }),
        intermediate('numbered', '2030-01-01T00:00:00Z', { signature_algorithm: '1.2.840.113549.1.1.2' }),
        intermediate('pss', '2030-01-01T00:00:00Z', { signature_algorithm: 'rsassaPss' }),
        intermediate('pss-sha1', '2030-01-01T00:00:00Z', { signature_algorithm: 'rsassaPss-with-SHA1' }),
        intermediate('pss-sha256', '2030-01-01T00:00:00Z', { signature_algorithm: 'rsassaPss-with-SHA256' }),
        intermediate('of-old', NOW, { root_id: 'old', issuer: 'CN=old', signer_key_id: 'key of old' }),
      ],
    });
    await warehouse.pull(NOW, 'consul', 'leaf_certificates', {
      leaf_certificates: [
        leaf('good', 'ends-later'),
        leaf('of-root', 'new'),
        leaf('under-old', 'of-old'),
        leaf('of-old-root', 'old', { namespace: 'team' }),
        leaf('under-unreported', 'unreported'),
        leaf('same-name', 'new', { signer_key_id: 'key of another' }),
        leaf('names-no-key', 'new', { signer_key_id: null }),
        leaf('stranger', 'elsewhere', { key_bits: 192 }),
        leaf('issued-in-the-run', 'elsewhere', { valid_after: NOW }),
        leaf('unreadable', 'x', { issuer: null, key_type: null, key_bits: null, signature_algorithm: null }),
      ],
    });
    await warehouse.evaluate(NOW);
  });

  test('certificates: roots, intermediates and leaves, each with its signer and its root', async () => {
    const rows = await warehouse.database.rows(
      "select coalesce(service, subject) as name, kind, replace(signed_by, 'print of ', '') as signed_by, root_id from certificates where kind <> 'root' order by kind, name",
    );
    const short = (kind: string) =>
      rows.filter((row) => row.kind === kind).map((row) => [row.name, row.signed_by, row.root_id]);
    expect(short('intermediate')).toContainEqual(['CN=of-old', 'old', 'old']);
    expect(short('leaf')).toEqual([
      ['good', 'ends-later', 'new'],
      ['issued-in-the-run', null, null],
      ['names-no-key', 'new', 'new'],
      ['of-root', 'new', 'new'],
      ['same-name', null, null],
      ['stranger', null, null],
      ['team/of-old-root', 'old', 'old'],
      ['under-old', 'of-old', 'old'],
      ['under-unreported', 'unreported', 'unreported'],
      ['unreadable', null, null],
    ]);
  });

  test('intermediate-expiring: 90, 30 and 7 days before its end, not below a root that is inactive', async () => {
    const found = await warehouse.findings('intermediate-expiring');
    expect(found.map(({ subject_id, severity }) => [subject_id, severity])).toEqual([
      ['print of ends-in-30', 'warning'],
      ['print of ends-in-7', 'critical'],
      ['print of ends-in-90', 'info'],
    ]);
    expect(await warehouse.seen('intermediate-expiring')).toMatchObject({ unknown: ['print of end-unreported'] });
  });

  test('intermediate-expiring: not what cross-signs a root that is replaced, which ends seven days later', async () => {
    const other = await createFindingsWarehouse();
    const bridge = { subject: 'CN=new', key_id: 'aa01', issuer: 'CN=old', signer_key_id: 'key of old' };
    await other.pull(NOW, 'consul', 'ca_roots', {
      // the new root signs with its own key
      ca_roots: [
        root('old'),
        root('new', { active: true, signing_key_id: 'AA:01', not_before: '2026-06-01T00:00:00Z' }),
      ],
      authority_certificates: [
        authority('old'),
        authority('new', { key_id: 'aa01' }),
        intermediate('bridge', '2026-11-27T02:15:00Z', { ...bridge, fingerprint: 'a bridge' }),
        intermediate('signs', '2026-11-27T02:15:00Z'),
      ],
    });
    await other.pull(NOW, 'consul', 'leaf_certificates', {
      leaf_certificates: [leaf('web', 'new', { signer_key_id: 'aa01' })],
    });
    await other.evaluate(NOW);
    expect(await other.seen('intermediate-expiring')).toEqual({ found: ['print of signs'], unknown: [] });
    expect(await other.seen('leaf-from-old-root')).toEqual({ found: [], unknown: [] });
    const [row] = await other.database.rows("select signed_by from certificates where kind = 'leaf'");
    expect(row).toEqual({ signed_by: 'print of new' });
  });

  test('intermediate-expiring: not one that was renewed, but what signs and the intermediates above that', async () => {
    const other = await createFindingsWarehouse();
    const soon = '2026-11-27T02:15:00Z';
    const below = (signer: string) => ({ issuer: `CN=${signer}`, signer_key_id: `key of ${signer}` });
    await other.pull(NOW, 'consul', 'ca_roots', {
      ca_roots: [root('new', { active: true, signing_key_id: 'AA:01' }), root('unnamed', { active: true })],
      authority_certificates: [
        authority('new'),
        intermediate('policy', soon),
        intermediate('signs', soon, { key_id: 'aa01', issuer: 'CN=policy', signer_key_id: null }),
        intermediate('former', soon, { key_id: 'aa00', ...below('policy') }),
        intermediate('keyless', soon, { key_id: null }),
        authority('unnamed'),
        intermediate('maybe-former', soon, { root_id: 'unnamed', ...below('unnamed') }),
      ],
    });
    await other.evaluate(NOW);
    const found = ['keyless', 'maybe-former', 'policy', 'signs'].map((name) => `print of ${name}`);
    expect(await other.seen('intermediate-expiring')).toEqual({ found, unknown: [] });
  });

  test('leaf-from-old-root: signed under an inactive root, directly or through an intermediate', async () => {
    expect(await warehouse.seen('leaf-from-old-root')).toEqual({
      found: ['team/of-old-root', 'under-old'],
      unknown: ['under-unreported'],
    });
  });

  test('signer-not-shown: by name and key; unknown where the leaf cannot be read, or its root may be newer than the list', async () => {
    expect(await warehouse.seen('signer-not-shown')).toEqual({
      found: ['same-name', 'stranger'],
      unknown: ['issued-in-the-run', 'unreadable'],
    });
  });

  test('weak-certificate-key: the key or the signature, which does not matter for a root', async () => {
    expect(await warehouse.seen('weak-certificate-key')).toEqual({
      found: ['print of end-unreported', 'print of ends-in-7', 'print of pss-sha1', 'stranger'],
      unknown: ['print of numbered', 'print of pss', 'unreadable'],
    });
  });

  test('several-active-roots: all but the newest', async () => {
    expect(await warehouse.seen('several-active-roots')).toEqual({ found: ['second'], unknown: ['unreported'] });
  });

  test.each([
    ['is active', { active: true, not_before: null }, ['web']],
    ['may be active', { active: null, not_before: '2026-06-01T00:00:00Z' }, ['web']],
    ['is not active', { active: false, not_before: null }, []],
    ['began earlier', { active: null, not_before: '2025-01-01T00:00:00Z' }, []],
  ])('leaf-from-old-root: another root of which is known that it %s', async (_, more, unknown) => {
    const other = await createFindingsWarehouse();
    await other.pull(NOW, 'consul', 'ca_roots', {
      ca_roots: [root('old'), root('new', more)],
      authority_certificates: [authority('old')],
    });
    await other.pull(NOW, 'consul', 'leaf_certificates', { leaf_certificates: [leaf('web', 'old')] });
    await other.evaluate(NOW);
    expect(await other.seen('leaf-from-old-root')).toEqual({ found: [], unknown });
  });

  test('leaf-from-old-root: not where an active root shows its signer as well, with the same name and key', async () => {
    const other = await createFindingsWarehouse();
    const crossSigned = { subject: 'CN=both', key_id: 'key of both' };
    await other.pull(NOW, 'consul', 'ca_roots', {
      ca_roots: [root('a-old'), root('z-new', { active: true, not_before: '2026-06-01T00:00:00Z' })],
      authority_certificates: [
        authority('a-old'),
        authority('z-new'),
        intermediate('by-old', '2030-01-01T00:00:00Z', { ...crossSigned, root_id: 'a-old', issuer: 'CN=a-old' }),
        intermediate('by-z-new', '2030-01-01T00:00:00Z', { ...crossSigned, root_id: 'z-new', issuer: 'CN=z-new' }),
      ],
    });
    await other.pull(NOW, 'consul', 'leaf_certificates', { leaf_certificates: [leaf('web', 'both')] });
    await other.evaluate(NOW);
    expect(await other.seen('leaf-from-old-root')).toEqual({ found: [], unknown: [] });
    const [row] = await other.database.rows("select signed_by, root_id from certificates where kind = 'leaf'");
    expect(row).toEqual({ signed_by: 'print of by-z-new', root_id: 'z-new' });
  });

  test('an authority that cannot be read makes a leaf without a signer unknown', async () => {
    const other = await createFindingsWarehouse();
    await other.pull(NOW, 'consul', 'ca_roots', {
      ca_roots: [root('new', { active: true })],
      authority_certificates: [{ fingerprint: 'text', kind: 'root', root_id: 'new' }],
    });
    await other.pull(NOW, 'consul', 'leaf_certificates', { leaf_certificates: [leaf('web', 'new')] });
    await other.evaluate(NOW);
    expect(await other.seen('signer-not-shown')).toEqual({ found: [], unknown: ['web'] });
    expect(await other.seen('weak-certificate-key')).toEqual({ found: [], unknown: ['text'] });
  });

  // Consul 1.10 and 1.11 with Vault as its authority: https://github.com/hashicorp/consul/issues/10532
  test('an intermediate whose key a root names, and which the mesh does not show, is unknown, and its leaves are of no stranger', async () => {
    const other = await createFindingsWarehouse();
    await other.pull(NOW, 'consul', 'ca_roots', {
      ca_roots: [root('new', { active: true, signing_key_id: 'AB:0c' })],
      authority_certificates: [authority('new', { key_id: '0102' })],
    });
    await other.pull(NOW, 'consul', 'leaf_certificates', {
      leaf_certificates: [leaf('web', 'hidden', { signer_key_id: 'ab0c' }), leaf('api', 'stranger')],
    });
    await other.evaluate(NOW);
    expect(await other.seen('signer-not-shown')).toEqual({ found: ['api'], unknown: ['web'] });
    expect(
      await other.database.rows("select reason from unassessed_rules where rule = 'intermediate-expiring'"),
    ).toEqual([{ reason: 'root root new signs with a key whose certificate the mesh does not show' }]);
  });

  test('a root that signs with its own key, or with that of an intermediate, hides none', async () => {
    const other = await createFindingsWarehouse();
    await other.pull(NOW, 'consul', 'ca_roots', {
      ca_roots: [
        root('own', { active: true, signing_key_id: '01:02' }),
        root('through', { active: true, signing_key_id: '03:04' }),
        root('silent', { active: true, signing_key_id: '' }),
        root('former', { active: false, signing_key_id: '05:06' }),
      ],
      authority_certificates: [
        authority('own', { key_id: '0102' }),
        authority('through', { key_id: '0708' }),
        intermediate('between', '2030-01-01T00:00:00Z', { root_id: 'through', key_id: '0304' }),
      ],
    });
    await other.evaluate(NOW);
    expect(await other.database.rows("from unassessed_rules where rule = 'intermediate-expiring'")).toEqual([]);
  });
});
