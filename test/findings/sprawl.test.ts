import { expect, test } from 'vitest';
import { createFindingsWarehouse } from '../helpers/findings-warehouse.ts';

const NOW = '2026-11-20T02:15:00Z';

const used = (name: string, version: string | null, ...workspaces: readonly string[]) => ({
  name,
  source: 'registry/x',
  version,
  workspaces: workspaces.join(', '),
  workspace_count: workspaces.length,
});

test.each([
  ['module-sprawl', 'modules', 'module'],
  ['provider-sprawl', 'providers', 'provider'],
])('%s: a workspace uses an older version than the newest one in use', async (rule, table, what) => {
  const warehouse = await createFindingsWarehouse();
  await warehouse.pull(NOW, 'acme', table, {
    [table]: [
      used('net', '2.0.0', 'newest'),
      used('net', '1.10.0', 'older', 'oldest'),
      used('net', '1.9.0', 'oldest'),
      used('net', '2.1.0-rc1', 'ahead'),
      used('net', 'main', 'branch'),
      used('net', null, 'unversioned'),
      used('single', '1.0.0', 'alone'),
    ],
  });
  await warehouse.evaluate(NOW);
  expect((await warehouse.seen(rule)).found).toEqual([
    'branch net registry/x',
    'older net registry/x',
    'oldest net registry/x',
  ]);
  expect(await warehouse.findings(rule)).toMatchObject([
    { title: `Workspace branch uses ${what} net main; the newest in use is 2.0.0` },
    { title: `Workspace older uses ${what} net 1.10.0; the newest in use is 2.0.0` },
    { title: `Workspace oldest uses ${what} net 1.9.0, 1.10.0; the newest in use is 2.0.0` },
  ]);
});
