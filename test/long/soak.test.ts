import { expect, test } from 'vitest';
import { expectTable, sourceTables } from '../helpers/expect-table.ts';
import { testProject } from '../helpers/test-project.ts';
import { findInconsistencies } from '../helpers/warehouse-checks.ts';

const RUNS = 200;
const WARM_UP = 40;
const MEBIBYTE = 1024 ** 2;

test('hundreds of runs in one process keep the tables right and the memory bounded', async () => {
  const project = await testProject({ workspaces: 200 });
  let warmMiB = 0;
  for (let run = 1; run <= RUNS; run++) {
    await project.pull();
    if (run === WARM_UP) warmMiB = process.memoryUsage.rss() / MEBIBYTE;
    if (run < RUNS) project.sandbox.tick();
  }
  for (const table of sourceTables) await expectTable(project, table, 'spec');
  expect(await findInconsistencies(`${project.folder}/data/warehouse.duckdb`)).toEqual([]);
  expect(process.memoryUsage.rss() / MEBIBYTE - warmMiB).toBeLessThan(200);
});
