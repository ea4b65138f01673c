import { execFile, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, test } from 'vitest';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { engineLake, expectSameCells } from '../helpers/lake-engines.ts';

/** Reads a lake with ClickHouse (chdb), delta-rs, polars and Spark, as far as the machine has Python, Java and Maven. */
const REQUIREMENTS = join(PACKAGE_ROOT, 'test', 'clients', 'lake', 'requirements.txt');
const SPARK_JAR = 'io.delta:delta-spark_4.2_2.13:4.4.0';
const INSTALL_MS = 1_800_000;
const READ_MS = 1_200_000;
const execute = promisify(execFile);

function isInstalled(command: string, argument: string, what: string): boolean {
  const isFound = spawnSync(command, [argument]).status === 0;
  if (!isFound) console.log(`${command} is not installed: ${what} does not read the lake`);
  return isFound;
}

console.log(
  'Trino does not read the lake here: its server is in none of the registries that npm, pip and Maven use by name',
);

describe.skipIf(!isInstalled('python3', '--version', 'no engine of Python'))('a lake', () => {
  const digest = createHash('sha256').update(readFileSync(REQUIREMENTS)).digest('hex').slice(0, 12);
  const place = join(tmpdir(), `tidemark-lake-${digest}`);
  const python = join(place, 'bin', 'python');

  beforeAll(async () => {
    if (existsSync(join(place, 'complete'))) return;
    await execute('python3', ['-m', 'venv', place]);
    await execute(python, ['-m', 'pip', 'install', '-q', '-r', REQUIREMENTS]);
    await writeFile(join(place, 'complete'), '');
  }, INSTALL_MS);

  test.each(['chdb', 'deltalake', 'polars'])(
    '%s returns the cells of DuckDB for every table, and for its history at three moments',
    async (engine) => expectSameCells(await engineLake(), python, engine),
    READ_MS,
  );

  const hasSpark = isInstalled('java', '-version', 'Spark') && isInstalled('mvn', '--version', 'Spark');
  test.skipIf(!hasSpark)(
    'Spark returns the cells of DuckDB, and reads the history at three moments',
    async () => {
      await execute('mvn', ['-q', 'dependency:get', `-Dartifact=${SPARK_JAR}`], { timeout: INSTALL_MS });
      await expectSameCells(await engineLake(), python, 'spark');
    },
    READ_MS,
  );
});
