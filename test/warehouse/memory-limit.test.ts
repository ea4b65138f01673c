import { expect, test } from 'vitest';
import { loadMemory } from '../../src/warehouse/database.ts';
import { withWarehouse } from '../../src/warehouse/session.ts';
import { mailConfig } from '../helpers/mail-warehouse.ts';
import { tempFolder } from '../helpers/temp.ts';

test.each([
  ['1GB', 2, '187500KB', '93750KB', '250000KB'],
  ['1GB', 4, '250000KB', '93750KB', '250000KB'],
  ['1GB', 64, '250000KB', '93750KB', '250000KB'],
  ['4GB', 2, '750000KB', '375000KB', '1000000KB'],
  ['4GB', 64, '1000000KB', '375000KB', '1000000KB'],
  ['2 gb', 2, '375000KB', '187500KB', '500000KB'],
  ['1.5TB', 2, '281250000KB', '140625000KB', '375000000KB'],
  ['2GiB', 2, '402653KB', '201327KB', '536871KB'],
  ['600MB', 2, '187500KB', '93750KB', '250000KB'],
  ['600MB', 1, '112500KB', '93750KB', '250000KB'],
  ['100MB', 2, '100000KB', '93750KB', '100000KB'],
  ['512KB', 2, '512KB', '512KB', '512KB'],
])(
  'with memoryLimit %s and %i threads, loads get %s, with one thread %s, and large ones %s',
  (limit, threads, usual, oneThread, large) => {
    expect(loadMemory(limit, threads)).toEqual({ usual, oneThread, large });
  },
);

test('a new warehouse, which is opened with one thread, gets the memory of one', async () => {
  const config = mailConfig(await tempFolder());
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const session = { purpose: 'test', now: new Date(), log, config };
  const sql = "select current_setting('threads')::int as threads, current_setting('memory_limit') as memory";
  const rows = await withWarehouse(session, ({ database }) => database.rows(sql));
  expect(rows).toEqual([{ threads: 1, memory: '89.4 MiB' }]); // 93,750 kB
});
