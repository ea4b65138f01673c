import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { thresholds } from '../src/core/config-schema.ts';
import type { Log } from '../src/core/log.ts';
import { PACKAGE_ROOT } from '../src/core/paths.ts';
import { renderReports, reportData } from '../src/render/index.ts';
import { openDatabase } from '../src/warehouse/database.ts';
import { sqlFiles } from '../src/warehouse/sql-files.ts';
import { yearOfNights } from './reports-estate.ts';

const QUIET: Log = { info: () => {}, warn: () => {}, error: () => {} };

/** All reports over a year of 10,000 workspaces, opening the published file included; aim: under 3 seconds. */
export async function bench(): Promise<string[]> {
  const directory = await mkdtemp(join(tmpdir(), 'tidemark-bench-'));
  try {
    const file = join(directory, 'warehouse.duckdb');
    const { database: filling, asOf } = await yearOfNights(file);
    filling.close();
    const render = await timed(file, asOf, (options) =>
      renderReports({ ...options, out: join(directory, 'out'), reportDays: 90, log: QUIET }),
    );
    const sql = await timed(file, asOf, reportData);
    return [
      `reports: all ${render.reports} over 365 nights of 10,000 workspaces in ${render.seconds.toFixed(2)} s (aim: 3 s); their SQL alone ${sql.seconds.toFixed(2)} s, so ${(render.seconds / sql.seconds).toFixed(1)} times the bare SQL`,
    ];
  } finally {
    await rm(directory, { recursive: true });
  }
}

type Work = (options: Parameters<typeof reportData>[0]) => Promise<readonly unknown[]>;

/** The best of three, each on a freshly opened file. */
async function timed(file: string, asOf: Date, work: Work): Promise<{ seconds: number; reports: number }> {
  const roots = [PACKAGE_ROOT];
  let best = Number.POSITIVE_INFINITY;
  let reports = 0;
  for (let round = 0; round < 3; round++) {
    const started = performance.now();
    const database = await openDatabase(file, { readOnly: true });
    const options = {
      database,
      files: sqlFiles(roots),
      roots,
      asOf,
      generatedAt: asOf,
      thresholds: thresholds.parse({}),
    };
    reports = (await work(options)).length;
    database.close();
    best = Math.min(best, (performance.now() - started) / 1000);
  }
  return { seconds: best, reports };
}
