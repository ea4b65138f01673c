import { expect, test } from 'vitest';
import { createFindingsWarehouse } from '../helpers/findings-warehouse.ts';
import { volume } from '../helpers/storage-rows.ts';

test('two external volumes whose IDs a path cannot have are registered under two IDs that it can have', async () => {
  const warehouse = await createFindingsWarehouse();
  await warehouse.pull('2026-11-20T02:15:00Z', 'nomad', 'volumes', { volumes: [volume('registered')] });
  const newId = async (external_id: string, plugin_id = 'ebs') => {
    const sql = warehouse.files.read('remediation/siblings');
    const [row] = await warehouse.database.rows(sql, { target: 'nomad', plugin_id, external_id });
    return String(row?.new_id);
  };
  expect(await newId('vol-1_A')).toBe('vol-1_A');
  const odd = ['a/b', 'a b', 'a-b/', '/a-b', '…', '——', `${'x'.repeat(120)}1`, `${'x'.repeat(120)}2`];
  const ids = await Promise.all(odd.map((id) => newId(id)));
  expect(new Set([...ids, 'a-b', 'volume']).size).toBe(odd.length + 2);
  for (const id of ids) expect(id).toMatch(/^[A-Za-z0-9_-]{1,109}$/u);
});
