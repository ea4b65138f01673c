import { expect, test } from 'vitest';
import { queryFile } from '../../src/tell/reports/data.ts';
import { withMemory } from '../../src/warehouse/database.ts';

test('a query that needs more memory than there is names its file, and what to do', async () => {
  const sql = 'select list(md5(range::varchar)) as texts from range(1_000_000)';
  await withMemory(
    async (database) => {
      await expect(queryFile(database, 'reports/own', sql)).rejects.toMatchObject({
        message: expect.stringMatching(/^queries\/reports\/own\.sql: Out of Memory Error/u),
        hint: 'raise `memoryLimit`',
      });
    },
    { memoryLimit: '10MB' },
  );
});
