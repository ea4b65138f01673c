import { expect, test } from 'vitest';
import { createFindingsWarehouse, type Rows } from '../helpers/findings-warehouse.ts';

const NOW = '2026-11-20T02:15:00Z';

async function withTokens(tokens: Readonly<Record<string, Rows[number]>>) {
  const warehouse = await createFindingsWarehouse();
  for (const [target, token] of Object.entries(tokens))
    await warehouse.pull(NOW, target, 'tokens', { tokens: [token] });
  return warehouse;
}

test('token-expires: tokenDays before the end, critical on the last day', async () => {
  const warehouse = await withTokens({
    endless: { name: 'root', expires_at: null },
    edge: { name: 'reader', expires_at: '2026-12-04T02:15:00Z' },
    later: { expires_at: '2026-12-04T02:15:01Z' },
    tomorrow: { accessor_id: 'a-1', expires_at: '2026-11-21T02:15:00Z' },
    ended: { expires_at: '2026-11-20T02:14:00Z' },
  });
  await warehouse.evaluate(NOW);
  const rows = await warehouse.findings('token-expires');
  expect(rows.map(({ target, severity, subject_name }) => [target, severity, subject_name])).toEqual([
    ['edge', 'warning', 'reader'],
    ['ended', 'critical', 'ended'],
    ['tomorrow', 'critical', 'a-1'],
  ]);
  expect(rows.map(({ title }) => title)).toEqual([
    'The token of edge ends on 2026-12-04 02:15 UTC',
    'The token of ended ended on 2026-11-20 02:14 UTC',
    'The token of tomorrow ends on 2026-11-21 02:15 UTC',
  ]);
  await warehouse.evaluate(NOW, { thresholds: { tokenDays: 30 } });
  expect((await warehouse.findings('token-expires')).map(({ target }) => target)).toContain('later');
});

test('management-token: a token that may do everything, unless the target says why', async () => {
  const warehouse = await withTokens({
    admin: { type: 'management', is_management: true },
    explained: { type: 'management', is_management: true },
    reader: { type: 'client', is_management: false },
    unreported: { type: 'user', is_management: null },
    hidden: { type: null, is_management: null },
  });
  const explained = { name: 'explained', kind: 'scheduler', managementToken: 'lists all policies' } as const;
  await warehouse.evaluate(NOW, { targets: ['admin', explained, 'reader', 'unreported', 'hidden'] });
  expect(await warehouse.seen('management-token')).toEqual({ found: ['admin'], unknown: ['hidden'] });
  expect(await warehouse.findings('management-token')).toMatchObject([
    { target: 'admin', severity: 'info', title: 'Target admin reads with a token that may do everything' },
  ]);
});
