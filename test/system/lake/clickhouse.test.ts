import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { engineLake, expectSameCells } from '../../helpers/lake-engines.ts';

const PYTHON = process.env.TIDEMARK_PYTHON ?? 'python3';
const hasChdb = spawnSync(PYTHON, ['-c', 'import chdb, pyarrow']).status === 0;
if (!hasChdb) {
  console.log(
    `${PYTHON} has no chdb and pyarrow: ClickHouse does not read the lake here (npm run test:clients installs them)`,
  );
}

test.skipIf(!hasChdb)(
  'ClickHouse returns the cells of DuckDB for every table, and for its history at three moments',
  async () => {
    await expectSameCells(await engineLake(), PYTHON, 'chdb');
    expect.hasAssertions();
  },
);
