import { execFile, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, onTestFinished, test } from 'vitest';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { engineLake, expectSameCells, READ_MS } from '../helpers/lake-engines.ts';
import { withStore } from '../helpers/lake-store.ts';
import { findS3Server, startS3Server } from '../helpers/s3-server.ts';
import { installTrino, startTrino } from '../helpers/trino-server.ts';

/** Reads a lake with ClickHouse (chdb), delta-rs, polars, Trino and Spark, as far as the machine has Python, Java and Maven. */
const REQUIREMENTS = join(PACKAGE_ROOT, 'test', 'clients', 'lake', 'requirements.txt');
const SPARK_JAR = 'io.delta:delta-spark_4.2_2.13:4.4.0';
const INSTALL_MS = 1_800_000;
const execute = promisify(execFile);

function isInstalled(command: string, argument: string, what: string): boolean {
  const isFound = spawnSync(command, [argument]).status === 0;
  if (!isFound) console.log(`${command} is not installed: ${what} does not read the lake`);
  return isFound;
}

describe.skipIf(!isInstalled('python3', '--version', 'no engine of Python'))('a lake', () => {
  const digest = createHash('sha256').update(readFileSync(REQUIREMENTS)).digest('hex').slice(0, 12);
  const place = join(tmpdir(), `tidemark-lake-${digest}`);
  const python = join(place, 'bin', 'python');

  beforeAll(async () => {
    if (existsSync(join(place, 'complete'))) return;
    await execute('python3', ['-m', 'venv', place], { timeout: INSTALL_MS });
    await execute(python, ['-m', 'pip', 'install', '-q', '-r', REQUIREMENTS], { timeout: INSTALL_MS });
    await writeFile(join(place, 'complete'), '');
  }, INSTALL_MS);

  test.each(['chdb', 'deltalake', 'polars'])(
    '%s returns the cells of DuckDB for every table, and at three moments',
    async (engine) => expectSameCells(await engineLake(), python, engine),
    READ_MS,
  );

  const server = findS3Server();
  test.skipIf(server === undefined).each(['deltalake', 'polars'])(
    '%s reads the same cells from a bucket',
    async (engine) => {
      const { bucket, env } = await startS3Server(server ?? '', onTestFinished);
      await withStore(`s3://${bucket}/lake`, env, async (store) =>
        expectSameCells(await engineLake({ store }), python, engine, { env }),
      );
    },
    READ_MS,
  );

  const hasMaven = isInstalled('mvn', '--version', 'neither Spark nor Trino');
  test.skipIf(!hasMaven)(
    'Trino returns the cells of DuckDB for every table, its history at three moments, and every query of a fleet',
    async () => {
      await installTrino();
      const port = await startTrino(python, onTestFinished);
      const project = await engineLake();
      await expectSameCells(project, python, 'trino', { env: { TRINO_PORT: String(port) } });
    },
    READ_MS,
  );

  const hasSpark = hasMaven && isInstalled('java', '-version', 'Spark');
  test.skipIf(!hasSpark)(
    'Spark returns the cells of DuckDB for every table, its history at three moments, and every query of a fleet',
    async () => {
      await execute('mvn', ['-q', 'dependency:get', `-Dartifact=${SPARK_JAR}`], { timeout: INSTALL_MS });
      await expectSameCells(await engineLake(), python, 'spark');
    },
    READ_MS,
  );
});
