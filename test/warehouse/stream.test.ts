import { expect, test } from 'vitest';
import { withMemory } from '../../src/warehouse/database.ts';

const FAILING = `select case when range < 900000 then range else error('no more') end as n from range(1000000)`;

test('rows that end with an error, or at a limit of time, are not taken for all', () =>
  withMemory(async (database) => {
    let taken = 0;
    const take = async (some: readonly unknown[]) => {
      taken += some.length;
    };
    await expect(database.each(FAILING, {}, 60_000, take)).rejects.toThrow('no more');
    expect(taken).toBeGreaterThan(0);
    const slowly = () => new Promise<void>((resolve) => setTimeout(resolve, 200));
    await expect(database.each('from range(10000000)', {}, 100, slowly)).rejects.toThrow('it was stopped after');
    const streamed = async () => {
      for await (const _ of database.stream(FAILING));
    };
    await expect(streamed()).rejects.toThrow('no more');
    for await (const { n } of database.stream('select range as n from range(1000000)')) if (n === 5) break;
    expect(await database.rows('select 1 as one')).toEqual([{ one: 1 }]);
  }));
