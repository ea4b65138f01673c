import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, onTestFinished, test } from 'vitest';
import { engineLake, expectSameCells, READ_MS } from '../helpers/lake-engines.ts';
import { withStore } from '../helpers/lake-store.ts';
import { findS3Server, startS3Server } from '../helpers/s3-server.ts';
import { installTrino, startTrino } from '../helpers/trino-server.ts';
import { hasTool, INSTALL_MS, installPython } from './install.ts';

/** Reads a lake with ClickHouse (chdb), delta-rs, polars, Trino and Spark, as far as the machine has Python, Java and Maven. */
const SPARK_JAR = 'io.delta:delta-spark_4.2_2.13:4.4.0';
const execute = promisify(execFile);

const isInstalled = (command: string, argument: string, what: string) =>
  hasTool(command, argument, `${what} does not read the lake`);

describe.skipIf(!isInstalled('python3', '--version', 'no engine of Python'))('a lake', () => {
  let python: string;
  beforeAll(async () => {
    python = join(await installPython('lake/requirements.txt'), 'python');
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
