import { expect, test } from 'vitest';
import { createFindingsWarehouse } from '../helpers/findings-warehouse.ts';

const NOW = '2026-11-20T14:15:00Z';
const HOURS_36 = '2026-11-19T02:15:00Z';
const OLDER = '2026-11-19T02:14:59Z';

test('stale-source: not pulled completely for staleHours, or never; of configured targets only', async () => {
  const warehouse = await createFindingsWarehouse();
  await warehouse.pull(OLDER, 'acme', 'agents');
  await warehouse.pull(HOURS_36, 'acme', 'agent_pools');
  await warehouse.pull(OLDER, 'removed', 'agents');
  await warehouse.fail(NOW, 'acme', 'agents', 'quarantined');
  await warehouse.fail(NOW, 'acme', 'agent_pools');
  await warehouse.fail(NOW, 'acme', 'workspaces');
  await warehouse.pull(NOW, 'acme', 'providers');
  await warehouse.evaluate(NOW, { targets: ['acme'] });
  expect(await warehouse.findings('stale-source')).toMatchObject([
    {
      target: 'acme',
      subject_id: 'agents',
      title: 'agents of acme has not been pulled completely since 2026-11-19 02:14 UTC',
      group_key: 'acme',
      detail: {
        status: 'quarantined',
        as_of: '2026-11-19T02:14:59.000Z',
        tried_at: '2026-11-20T14:15:00.000Z',
        error: 'refused',
      },
    },
    { subject_id: 'workspaces', title: 'workspaces of acme has never been pulled completely' },
  ]);
});

test('stale-source: resolved once the source is pulled completely or its target is no longer configured', async () => {
  const warehouse = await createFindingsWarehouse();
  await warehouse.pull(OLDER, 'acme', 'agents');
  await warehouse.pull(OLDER, 'other', 'agents');
  await warehouse.fail(NOW, 'acme', 'agents');
  await warehouse.fail(NOW, 'other', 'agents');
  expect(await warehouse.evaluate(NOW, { targets: ['acme', 'other'] })).toMatchObject({ open: 2 });

  const later = '2026-11-20T20:15:00Z';
  await warehouse.pull(later, 'acme', 'agents');
  expect(await warehouse.evaluate(later, { targets: ['acme'] })).toMatchObject({ open: 0, resolved: 2 });
});
