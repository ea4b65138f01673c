import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openDatabase } from '../../src/warehouse/database.ts';
import { tempFolder } from '../helpers/temp.ts';

test('siblings see the same file in UTC, run at the same time, and end with the connection that they belong to', async () => {
  const file = join(await tempFolder(), 'warehouse.duckdb');
  const database = await openDatabase(file);
  await database.run('create table numbers as select range as n from range(10)');
  await database.run('create temp table own as select 1 as n');
  const [sibling] = await database.siblings(1);
  if (!sibling) throw new Error('there is no sibling');
  expect(await sibling.rows(`select count(*) as n, current_setting('TimeZone') as zone from numbers`)).toEqual([
    { n: 10, zone: 'UTC' },
  ]);
  await expect(sibling.rows('from own')).rejects.toThrow('own');
  expect(await database.siblings(1)).toEqual([sibling]);
  database.close();
  await expect(sibling.rows('select 1')).rejects.toThrow();
  const again = await openDatabase(file, { readOnly: true });
  expect(await again.rows('select count(*) as n from numbers')).toEqual([{ n: 10 }]);
  again.close();
});
