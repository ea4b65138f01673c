import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { engineLake, expectSameCells } from '../../helpers/lake-engines.ts';

const PYTHON = process.env.TIDEMARK_PYTHON ?? 'python3';
// To look for them takes less than to import them.
const FIND = 'import importlib.util as i, sys; sys.exit(None in map(i.find_spec, ["chdb", "pyarrow"]))';
const hasChdb = spawnSync(PYTHON, ['-c', FIND]).status === 0;
if (!hasChdb) {
  console.log(
    `${PYTHON} has no chdb and pyarrow: ClickHouse does not read the lake here (npm run test:clients installs them)`,
  );
}

test.skipIf(!hasChdb)(
  'ClickHouse returns the cells of DuckDB for tables of every kind and their histories, each at one of three moments',
  async () => {
    await expectSameCells(await engineLake({ isFilledOnly: true }), PYTHON, 'chdb', { isComplete: false });
    expect.hasAssertions();
  },
);
