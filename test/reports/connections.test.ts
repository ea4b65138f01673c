import { afterAll, expect, test } from 'vitest';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { allInOrder, shareConnections } from '../../src/reports/connections.ts';
import { openDatabase } from '../../src/warehouse/database.ts';
import { createSqlFiles } from '../../src/warehouse/sql-files.ts';

const database = await openDatabase(':memory:');
afterAll(() => database.close());

test('a statement does not wait for another, and each connection knows the macro of versions', async () => {
  const { rows } = await shareConnections(database, createSqlFiles([PACKAGE_ROOT]));
  const ended: string[] = [];
  const long = rows('select sum(a.range * b.range) as n from range(4000) a, range(4000) b').then(() =>
    ended.push('long'),
  );
  const keys = ['1.2.3', '1.2.3', 'none'].map(async (version) => {
    const [row] = await rows('select semver_key($version) as key', { version });
    ended.push(version);
    return row?.key;
  });
  const [first, second, none] = await Promise.all(keys);
  await long;
  expect([first === second, none]).toEqual([true, null]);
  expect(ended).toEqual(['1.2.3', '1.2.3', 'none', 'long']);
});

test('the error is that of the first in order, when none is under way any more', async () => {
  const ended: string[] = [];
  const work = async (name: string, turns: number) => {
    for (let turn = 0; turn < turns; turn++) await undefined;
    ended.push(name);
    throw new Error(name);
  };
  await expect(allInOrder([work('slow', 50), work('fast', 1), Promise.resolve('ok')])).rejects.toThrow('slow');
  expect(ended).toEqual(['fast', 'slow']);
  expect(await allInOrder([Promise.resolve(1), Promise.resolve(2)])).toEqual([1, 2]);
});
