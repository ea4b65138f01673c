import { describe, expect, it } from 'vitest';
import { evaluateFindings } from '../../src/tell/findings/evaluate.ts';
import { setEarlierVersion } from '../helpers/change-warehouse.ts';
import { createReportWarehouse } from '../helpers/report-warehouse.ts';

const AS_OF = '2026-11-20T02:15:00Z';

const root = (id: string, not_after: string | null, active = true) => ({
  root_id: id,
  name: id,
  active,
  not_before: '2020-01-01T00:00:00Z',
  not_after,
  serial_number: '18446744073709551615',
});
const leaf = (service: string, valid_after: string, valid_before: string | null) => ({
  service,
  valid_after,
  valid_before,
});
const states = (rows: unknown) => (rows as { state: string }[]).map(({ state }) => state);

describe('the certificates report', () => {
  it('counts active roots by expiry: expired, expiring within certificateDays, valid, unknown', async () => {
    const warehouse = await createReportWarehouse();
    await warehouse.pull(AS_OF, {
      ca_roots: [
        root('ended', AS_OF),
        root('soon', '2026-12-20T02:15:00Z'),
        root('later', '2026-12-20T02:15:01Z'),
        root('untold', null, false),
        root('retired', AS_OF, false),
        root('retiring', '2026-12-01T00:00:00Z', false),
      ],
    });
    const { summary, roots, inactive_roots } = await warehouse.data('certificates', AS_OF, ['roots', 'inactive_roots']);
    expect(summary).toMatchObject({
      roots: 6,
      active_roots: 3,
      inactive_roots: 3,
      roots_expired: 1,
      roots_expiring: 1,
    });
    expect(states(roots)).toEqual(['inactive', 'expired', 'inactive', 'inactive', 'expiring', 'valid']);
    expect((roots as unknown[])[0]).toMatchObject({ serial_number: '18446744073709551615' });
    expect(inactive_roots).toMatchObject([
      { root_name: 'retired', since: AS_OF },
      { root_name: 'retiring', since: AS_OF },
      { root_name: 'untold', since: AS_OF },
    ]);
  });

  it('says in words how long ago a root has expired, and how long another one lasts', async () => {
    const warehouse = await createReportWarehouse();
    const ends = ['2026-11-01T02:15:00Z', '2026-11-19T02:15:00Z', '2026-11-20T00:15:00Z', '2026-11-21T02:00:00Z'];
    await warehouse.pull(AS_OF, {
      ca_roots: [...ends, '2032-11-20T02:15:00Z'].map((not_after, index) => root(`${index}`, not_after)),
    });
    const { roots } = await warehouse.data('certificates', AS_OF, ['roots']);
    expect((roots as { time_left: { text: string }[] }[]).map(({ time_left }) => time_left[0]?.text)).toEqual([
      'expired 19 days ago',
      'expired 1 day ago',
      'expired within the last day',
      '0 days left',
      '2,192 days left',
    ]);
  });

  it('does not know the end of an intermediate that cannot be read, unless its root is inactive', async () => {
    const warehouse = await createReportWarehouse();
    const unreadable = (root_id: string) => ({ fingerprint: `of ${root_id}`, kind: 'intermediate', root_id });
    await warehouse.pull(AS_OF, {
      ca_roots: [root('new', '2030-01-01T00:00:00Z'), root('old', '2030-01-01T00:00:00Z', false)],
      authority_certificates: [unreadable('new'), unreadable('old')],
    });
    expect((await warehouse.data('certificates', AS_OF, [])).summary).toMatchObject({ expiry_unknown: 1 });
  });

  it('is ok where only an inactive root has expired, and critical where the active one has', async () => {
    for (const active of [false, true]) {
      const warehouse = await createReportWarehouse();
      await warehouse.pull(AS_OF, {
        ca_roots: [root('ended', '2026-11-01T00:00:00Z', active), root('later', '2030-01-01T00:00:00Z')],
        leaf_certificates: [],
      });
      const { database, files, thresholds } = warehouse.options(AS_OF);
      await evaluateFindings({ database, files, thresholds, asOf: new Date(AS_OF) });
      const { state, summary } = await warehouse.data('certificates', AS_OF, ['state']);
      expect({ state, expired: summary.roots_expired }).toEqual(
        active ? { state: 'critical', expired: 1 } : { state: 'ok', expired: 0 },
      );
    }
  });

  it('counts a short-lived leaf as expiring in the last tenth of its lifetime, a long-lived one within certificateDays', async () => {
    const warehouse = await createReportWarehouse();
    await warehouse.pull(AS_OF, {
      leaf_certificates: [
        leaf('ended', '2026-11-17T02:15:00Z', '2026-11-20T02:14:00Z'),
        leaf('last-tenth', '2026-11-17T09:15:00Z', '2026-11-20T09:15:00Z'),
        leaf('renewed', '2026-11-18T02:15:00Z', '2026-11-21T02:15:00Z'),
        leaf('long-lived', '2026-01-01T00:00:00Z', '2026-12-10T00:00:00Z'),
      ],
    });
    const { summary, leaves } = await warehouse.data('certificates', AS_OF, ['leaves']);
    expect(summary).toMatchObject({ leaves: 4, leaves_expired: 1, leaves_expiring: 2 });
    expect(states(leaves)).toEqual(['expired', 'expiring', 'valid', 'expiring']);
  });
});

/** Whom each line names, and the colors of its leaves. */
const readChain = async (warehouse: Awaited<ReturnType<typeof createReportWarehouse>>) => {
  const { chain } = await warehouse.data('certificates', AS_OF, ['chain']);
  return (chain as { certificate: string; time_left: { kind: string }[]; leaves: { kind: string }[] }[]).map(
    ({ certificate, time_left, leaves }) => [
      certificate.replaceAll('\u00a0', '.'),
      time_left.map(({ kind }) => kind).join(),
      leaves.map(({ kind }) => kind).join(),
    ],
  );
};

describe('the chain', () => {
  const authority = (fingerprint: string, kind: string, signer: string | null, not_after: string, more = {}) => ({
    fingerprint,
    kind,
    root_id: 'r1',
    subject: `CN=${fingerprint}`,
    issuer: `CN=${signer ?? fingerprint}`,
    not_before: '2026-01-01T00:00:00Z',
    not_after,
    ...more,
  });
  const signed = (service: string, signer: string, valid_after: string, valid_before: string) => ({
    ...leaf(service, valid_after, valid_before),
    fingerprint: `leaf-${service}`,
    subject: `CN=${service}`,
    issuer: `CN=${signer}`,
  });

  it('has each certificate below its signer, colored by the time left, also of an intermediate that ends before its root', async () => {
    const warehouse = await createReportWarehouse();
    await warehouse.pull(AS_OF, {
      ca_roots: [root('r1', '2036-01-01T00:00:00Z'), root('r0', '2027-01-01T00:00:00Z', false)],
      authority_certificates: [
        authority('a', 'root', null, '2036-01-01T00:00:00Z'),
        authority('b', 'intermediate', 'a', '2026-11-24T00:00:00Z'),
        authority('c', 'intermediate', 'b', '2026-12-10T00:00:00Z'),
        authority('x', 'intermediate', 'y', '2027-12-10T00:00:00Z'),
        authority('y', 'intermediate', 'x', '2027-12-10T00:00:00Z'),
        authority('z', 'root', null, '2027-01-01T00:00:00Z', { root_id: 'r0' }),
      ],
      leaf_certificates: [
        signed('renewed', 'c', '2026-11-19T02:15:00Z', '2026-11-22T02:15:00Z'),
        signed('stuck', 'c', '2026-11-17T04:15:00Z', '2026-11-20T04:15:00Z'),
        signed('long', 'c', '2026-01-01T00:00:00Z', '2026-12-10T00:00:00Z'),
        signed('stray', 'nobody', '2026-11-19T02:15:00Z', '2026-11-22T02:15:00Z'),
      ],
    });
    expect(await readChain(warehouse)).toEqual([
      ['CN=x', 'good', ''],
      ['CN=y', 'good', ''],
      ['r0', 'soft', ''],
      ['r1', 'good', ''],
      ['..└ CN=b', 'bad', ''],
      ['....└ CN=c', 'warn', 'bad,good,warn'],
      ['the signer is not shown', '', 'good'],
    ]);
    const { summary } = await warehouse.data('certificates', AS_OF, []);
    expect(summary).toMatchObject({ intermediates: 4, intermediates_expiring: 2 });
  });

  it('shows what cross-signs a root, whose end is no deadline', async () => {
    const warehouse = await createReportWarehouse();
    await warehouse.pull(AS_OF, {
      ca_roots: [root('r1', '2036-01-01T00:00:00Z'), root('r0', '2027-01-01T00:00:00Z', false)],
      authority_certificates: [
        authority('n', 'root', null, '2036-01-01T00:00:00Z', { key_id: '01' }),
        authority('bridge', 'intermediate', 'z', '2026-11-24T00:00:00Z', { subject: 'CN=n', key_id: '01' }),
        authority('z', 'root', null, '2027-01-01T00:00:00Z', { root_id: 'r0', key_id: '02' }),
      ],
    });
    expect(await readChain(warehouse)).toEqual([
      ['r0', 'soft', ''],
      ['..└ CN=n', 'soft', ''],
      ['r1', 'good', ''],
    ]);
    const { summary } = await warehouse.data('certificates', AS_OF, []);
    expect(summary).toMatchObject({ intermediates: 0, intermediates_expiring: 0 });
    expect(await warehouse.database.rows("select subject_name from deadlines where kind = 'certificate'")).toEqual([]);
  });

  it('is empty, and no error, in a warehouse of an earlier version', async () => {
    const warehouse = await createReportWarehouse();
    await warehouse.pull(AS_OF, { ca_roots: [root('r1', '2036-01-01T00:00:00Z')] });
    for (const name of ['deadlines', 'certificates']) await warehouse.database.run(`drop view ${name}`);
    for (const name of ['deadlines_at', 'certificates_at']) await warehouse.database.run(`drop macro table ${name}`);
    await setEarlierVersion(warehouse.database);
    expect(await readChain(warehouse)).toEqual([]);
    const { unknown_ends } = await warehouse.data('deadlines', AS_OF, ['unknown_ends']);
    expect(unknown_ends).toMatchObject([{ subject_name: 'queries/deadlines/certificates.sql' }]);
  });
});
