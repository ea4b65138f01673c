import { describe, expect, it } from 'vitest';
import { evaluateFindings } from '../../src/tell/findings/evaluate.ts';
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
