import { join } from 'node:path';
import { thresholds } from '../src/config/schema.ts';
import type { Log } from '../src/core/log.ts';
import { PACKAGE_ROOT } from '../src/core/paths.ts';
import type { ReportReadOptions } from '../src/tell/reports/data.ts';
import { renderReports } from '../src/tell/reports/index.ts';
import {
  type Database,
  openDatabase,
  type SqlParams,
  type Statements,
  type TakeRows,
} from '../src/warehouse/database.ts';
import { THREADS } from '../src/warehouse/session.ts';
import { createSqlFiles } from '../src/warehouse/sql-files.ts';
import { createYear } from './reports-estate.ts';
import {
  type Bench,
  compareWithLimit,
  medianRatio,
  type Part,
  type Result,
  type Round,
  type Size,
  seconds,
} from './result.ts';

const QUIET: Log = { info: () => {}, warn: () => {}, error: () => {} };
const ROUNDS: Readonly<Record<Size, number>> = { quick: 1, usual: 5, large: 9 };
const MAX_MS = 3000;
const MAX_RATIO = 1.2;

export const reports: Part = {
  name: 'reports',
  about: 'all reports and 1,000 subjects over 365 runs, 10,000 workspaces, 2 % changing',
  measure,
};

async function measure({ folder, size, log }: Bench): Promise<readonly Result[]> {
  const file = join(folder, 'warehouse.duckdb');
  const { database, asOf } = await createYear(file);
  database.close();
  const out = join(folder, 'out');
  // As `tidemark report` opens it. The bare SQL has all threads, which makes it faster.
  const config = { reportDays: 90, targets: [], subjectPages: 1000 };
  const render = (options: ReportReadOptions) => renderReports({ ...options, ...config, out, log: QUIET });
  const statements: Statement[] = [];
  await timed(file, asOf, (options) => render({ ...options, database: record(options.database, statements) }));
  const rounds: Round[] = [];
  for (let round = 1; round <= ROUNDS[size]; round++) {
    const against = await timed(file, asOf, ({ database }) => repeat(statements, database));
    const measured = await timed(file, asOf, render, THREADS);
    log(`round ${round}: ${seconds(measured)}, of which SQL ${seconds(against)}`);
    rounds.push({ measured, against });
  }
  const times = rounds.map(({ measured }) => measured);
  return [
    { what: 'every report rendered', ...compareWithLimit(times, MAX_MS, seconds) },
    { what: 'the same', ...medianRatio(rounds, seconds, 'for the bare SQL'), aim: MAX_RATIO },
  ];
}

interface Statement {
  readonly sql: string;
  readonly params: SqlParams | undefined;
}

/** Notes each statement that a connection of the database runs. */
function record(database: Database, statements: Statement[]): Database {
  const note = <T extends Statements>(connection: T): T => ({
    ...connection,
    run: (sql: string, params?: SqlParams) => {
      statements.push({ sql, params });
      return connection.run(sql, params);
    },
    rows: (sql: string, params?: SqlParams) => {
      statements.push({ sql, params });
      return connection.rows(sql, params);
    },
    each: (sql: string, params: SqlParams, limitMs: number, take: TakeRows) => {
      statements.push({ sql, params });
      return connection.each(sql, params, limitMs, take);
    },
    script: (text: string) => {
      statements.push({ sql: text, params: undefined });
      return connection.script(text);
    },
  });
  return { ...note(database), siblings: async (count) => (await database.siblings(count)).map(note) };
}

/** The reference: the same statements, one after another, and nothing is made of their rows. */
async function repeat(statements: readonly Statement[], database: Database): Promise<void> {
  for (const { sql, params } of statements) await (params ? database.rows(sql, params) : database.script(sql));
}

/** Milliseconds from opening the published file to closing it. */
async function timed(
  file: string,
  asOf: Date,
  work: (options: ReportReadOptions) => Promise<unknown>,
  threads?: number,
): Promise<number> {
  const started = performance.now();
  const database = await openDatabase(file, { readOnly: true, ...(threads !== undefined && { threads }) });
  const roots = [PACKAGE_ROOT];
  await work({
    database,
    files: createSqlFiles(roots),
    asOf,
    generatedAt: asOf,
    thresholds: thresholds.parse({}),
  });
  database.close();
  return performance.now() - started;
}
