import { expect, test } from 'vitest';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { closeRun } from '../../src/lake/close.ts';
import { createDirectoryStore } from '../../src/lake/store.ts';
import { openDatabase } from '../../src/warehouse/database.ts';
import { createSqlFiles } from '../../src/warehouse/sql-files.ts';
import { tempFolder } from '../helpers/temp.ts';

const RUN = '2026-11-01';
const LOSS = { target: 'acme', relation: 'workspaces', volatile: false, deleted: 3, held: 5 };

/** Closes a run of one shard, which would take these rows away. */
async function close(losses: readonly object[] | undefined, options: { acceptShrink?: boolean } = {}) {
  const store = createDirectoryStore(await tempFolder());
  const staged = { shard: 1, shards: 1, publish: 1024, as_of: '2026-11-01T02:15:00Z', losses, tables: [] };
  await store.put(`_shards/${RUN}/1-of-1.json`, JSON.stringify(staged));
  await store.put('_publishes/0000001024.json', '{}');
  const database = await openDatabase(':memory:', { threads: 1 });
  const { signal } = new AbortController();
  const files = createSqlFiles([PACKAGE_ROOT]);
  try {
    return await closeRun({
      store,
      database,
      files,
      run: RUN,
      shards: 1,
      shrinkPercent: 50,
      nowMs: 0,
      signal,
      ...options,
    });
  } finally {
    database.close();
  }
}

test.each([
  ['three of five rows', LOSS],
  ['every row', { ...LOSS, deleted: 5 }],
])('a shard that takes %s away stays invisible, with the reason', async (_, loss) => {
  const { closed, refused } = await close([{ ...LOSS, deleted: 0 }, loss]);
  expect({ closed, refused }).toEqual({
    closed: [],
    refused: [
      {
        shard: 1,
        why: `acme has come from another shard, and ${loss.deleted} of its 5 rows of workspaces would go`,
      },
    ],
  });
});

test.each([
  ['half of the rows', [{ ...LOSS, held: 6 }]],
  ['two rows', [{ ...LOSS, deleted: 2, held: 2 }]],
  ['rows that come and go by nature', [{ ...LOSS, volatile: true }]],
  ['no row', []],
  ['what an earlier version does not say', undefined],
])('a shard that takes %s away is closed', async (_, losses) => {
  expect(await close(losses)).toMatchObject({ closed: [1], refused: [] });
});

test('a loss that a person accepts is closed', async () => {
  expect(await close([LOSS], { acceptShrink: true })).toMatchObject({ closed: [1], refused: [] });
});
