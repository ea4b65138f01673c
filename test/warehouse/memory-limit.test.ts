import { expect, test } from 'vitest';
import { halveMemory } from '../../src/warehouse/database.ts';
import { withPublished, withWarehouse } from '../../src/warehouse/session.ts';
import { mailConfig } from '../helpers/mail-warehouse.ts';
import { tempFolder } from '../helpers/temp.ts';

test.each([
  ['1GB', '500000KB'],
  ['2 gb', '1000000KB'],
  ['1.5TB', '750000000KB'],
  ['2GiB', '1073742KB'],
  ['100MB', '50000KB'],
  ['512KB', '256KB'],
])('of memoryLimit %s, DuckDB gets %s', (limit, half) => {
  expect(halveMemory(limit)).toBe(half);
});

test('a file that does not open for want of memory is not corrupt, and stays', async () => {
  const config = mailConfig(await tempFolder());
  const session = { purpose: 'test', now: new Date(), log: { info: fail, warn: fail, error: fail }, config };
  await withWarehouse(session, async () => undefined);
  const tooSmall = { ...config, memoryLimit: '1KB' };
  const writes = () => withWarehouse({ ...session, config: tooSmall }, async () => undefined);
  const reads = () => withPublished(tooSmall, async () => undefined);
  for (const opens of [writes, reads]) await expect(opens()).rejects.toThrow(/^Out of Memory Error/u);
  await withWarehouse(session, async () => undefined);
});

/** For a log that has nothing to say. */
function fail(message: string): never {
  throw new Error(message);
}

test('the working warehouse is opened with one thread and half of the memory', async () => {
  const config = mailConfig(await tempFolder());
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const session = { purpose: 'test', now: new Date(), log, config };
  const sql = "select current_setting('threads')::int as threads, current_setting('memory_limit') as memory";
  const rows = await withWarehouse(session, ({ database }) => database.rows(sql));
  expect(rows).toEqual([{ threads: 1, memory: '476.8 MiB' }]); // 500,000 kB
});
