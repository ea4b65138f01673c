import { expect, test } from 'vitest';
import { createFindingsWarehouse, type Rows } from '../helpers/findings-warehouse.ts';

const NOW = '2026-11-20T02:15:00Z';
const DAYS_30 = '2026-12-20T02:15:00Z';
const LATER = '2026-12-20T02:15:01Z';

test('ca-root-expiring: 90, 30 and 7 days before the end of an active root; an inactive root never', async () => {
  const warehouse = await createFindingsWarehouse();
  const root = (id: string, active: boolean | null, ends: string | null): Rows[number] => ({
    root_id: id,
    name: `root ${id}`,
    active,
    not_after: ends,
  });
  await warehouse.pull(NOW, 'consul', 'ca_roots', {
    ca_roots: [
      root('active', true, DAYS_30),
      root('later', true, LATER),
      root('much-later', true, '2027-02-18T02:15:01Z'),
      root('soon', true, '2026-11-27T02:15:00Z'),
      root('ended', true, NOW),
      root('inactive', false, DAYS_30),
      root('inactive-ended', false, NOW),
      root('activity-unreported', null, DAYS_30),
      root('end-unreported', true, null),
      root('inactive-end-unreported', false, null),
    ],
  });
  await warehouse.evaluate(NOW);
  expect(await warehouse.seen('ca-root-expiring')).toMatchObject({ unknown: ['end-unreported'] });
  expect(
    (await warehouse.findings('ca-root-expiring')).map(({ subject_id, severity }) => [subject_id, severity]),
  ).toEqual([
    ['active', 'warning'],
    ['activity-unreported', 'warning'],
    ['ended', 'critical'],
    ['later', 'info'],
    ['soon', 'critical'],
  ]);
  expect((await warehouse.findings('ca-root-expiring'))[2]?.title).toBe(
    'Active CA root root ended expired on 2026-11-20 02:15 UTC',
  );
});

test('leaf-expiring: certificateDays for long-lived leaves, the last tenth of the validity for short-lived ones', async () => {
  const warehouse = await createFindingsWarehouse();
  const leaf = (service: string, from: string | null, to: string | null): Rows[number] => ({
    service,
    valid_after: from,
    valid_before: to,
  });
  await warehouse.pull(NOW, 'consul', 'leaf_certificates', {
    leaf_certificates: [
      leaf('year-edge', '2026-01-01T00:00:00Z', DAYS_30),
      leaf('year-later', '2026-01-01T00:00:00Z', LATER),
      leaf('fresh-72h', '2026-11-20T00:00:00Z', '2026-11-23T00:00:00Z'),
      leaf('last-tenth-72h', '2026-11-17T09:15:00Z', '2026-11-20T09:15:00Z'),
      leaf('nine-tenths-72h', '2026-11-17T09:30:00Z', '2026-11-20T09:30:00Z'),
      leaf('ended', '2026-11-17T02:15:00Z', NOW),
      leaf('start-unreported', null, DAYS_30),
      leaf('end-unreported', NOW, null),
    ],
  });
  await warehouse.evaluate(NOW);
  expect(await warehouse.seen('leaf-expiring')).toEqual({
    found: ['ended', 'last-tenth-72h', 'start-unreported', 'year-edge'],
    unknown: ['end-unreported'],
  });
  expect((await warehouse.findings('leaf-expiring')).map(({ severity }) => severity)).toEqual([
    'critical',
    'warning',
    'warning',
    'warning',
  ]);
});

test('autoscaler-down: it reports that it is not alive', async () => {
  const warehouse = await createFindingsWarehouse();
  for (const [target, alive] of [
    ['up', true],
    ['down', false],
    ['unreported', null],
  ] as const) {
    await warehouse.pull(NOW, target, 'autoscaler_health', { autoscaler_health: [{ alive, checked_at: NOW }] });
  }
  await warehouse.evaluate(NOW);
  expect(await warehouse.seen('autoscaler-down')).toEqual({ found: ['down'], unknown: ['unreported'] });
  expect(await warehouse.findings('autoscaler-down')).toMatchObject([{ target: 'down', severity: 'critical' }]);
});
