import { join } from 'node:path';
import { thresholds } from '../src/config/schema.ts';
import type { Log } from '../src/core/log.ts';
import { PACKAGE_ROOT } from '../src/core/paths.ts';
import { type ReportReadOptions, readReportData, renderReports } from '../src/reports/index.ts';
import { openDatabase } from '../src/warehouse/database.ts';
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
  about: 'all reports over 365 runs with 10,000 workspaces, 2 % changing each run',
  measure,
};

async function measure({ folder, size, log }: Bench): Promise<readonly Result[]> {
  const file = join(folder, 'warehouse.duckdb');
  const { database, asOf } = await createYear(file);
  database.close();
  const out = join(folder, 'out');
  const rounds: Round[] = [];
  for (let round = 1; round <= ROUNDS[size]; round++) {
    const against = await timed(file, asOf, readReportData);
    const measured = await timed(file, asOf, (options) =>
      renderReports({ ...options, out, reportDays: 90, log: QUIET }),
    );
    log(`round ${round}: ${seconds(measured)}, of which SQL ${seconds(against)}`);
    rounds.push({ measured, against });
  }
  const times = rounds.map(({ measured }) => measured);
  return [
    { part: 'reports', what: 'every report rendered', ...compareWithLimit(times, MAX_MS, seconds) },
    { part: 'reports', what: 'the same', ...medianRatio(rounds, seconds, 'for the bare SQL'), aim: MAX_RATIO },
  ];
}

/** Milliseconds from opening the published file to closing it. */
async function timed(
  file: string,
  asOf: Date,
  work: (options: ReportReadOptions) => Promise<unknown>,
): Promise<number> {
  const started = performance.now();
  const database = await openDatabase(file, { readOnly: true });
  const roots = [PACKAGE_ROOT];
  await work({
    database,
    files: createSqlFiles(roots),
    roots,
    asOf,
    generatedAt: asOf,
    thresholds: thresholds.parse({}),
  });
  database.close();
  return performance.now() - started;
}
