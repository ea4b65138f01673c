import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { thresholds } from '../../src/core/config-schema.ts';
import type { Log } from '../../src/core/log.ts';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { type RenderOptions, type ReportData, reportData } from '../../src/render/index.ts';
import { type Database, openDatabase } from '../../src/warehouse/database.ts';
import { compareStage, mergeStage } from '../../src/warehouse/history.ts';
import { migrate } from '../../src/warehouse/migrate.ts';
import { literal, quoted, type SqlFiles, sqlFiles } from '../../src/warehouse/sql-files.ts';
import { columnList, loadTables, type Table, tablesOf } from '../../src/warehouse/tables.ts';

export const QUIET: Log = { info: () => {}, warn: () => {}, error: () => {} };

type Fields = Readonly<Record<string, unknown>>;

/** What a target answers one night: rows by table, or the status of a pull that was not complete. */
export type Night = Readonly<Record<string, readonly Fields[] | 'failed' | 'quarantined'>>;

/** A warehouse in a folder of its own, gone when the test has finished, filled night by night through the same statements as a real pull. */
export interface Estate {
  readonly database: Database;
  readonly files: SqlFiles;
  readonly directory: string;
  readonly file: string;
  /** Pulls the sources of the named tables at a moment (ISO 8601); a source's other tables become empty. */
  night(asOf: string, tables: Night, target?: string): Promise<void>;
  data(report: string, asOf: string, more?: Partial<RenderOptions>): Promise<ReportData>;
  options(asOf: string, more?: Partial<RenderOptions>): RenderOptions;
}

let empty: Promise<string> | undefined;

/** An empty warehouse, made once: each estate begins with a copy. */
async function emptyWarehouse(): Promise<string> {
  const file = join(await mkdtemp(join(tmpdir(), 'tidemark-empty-')), 'warehouse.duckdb');
  const database = await openDatabase(file);
  const files = sqlFiles([PACKAGE_ROOT]);
  await (await migrate(database, files, await loadTables(files)))();
  database.close();
  return file;
}

export async function openEstate(roots: readonly string[] = [PACKAGE_ROOT]): Promise<Estate> {
  const directory = await mkdtemp(join(tmpdir(), 'tidemark-reports-'));
  const file = join(directory, 'warehouse.duckdb');
  empty ??= emptyWarehouse();
  await copyFile(await empty, file);
  const database = await openDatabase(file);
  const files = sqlFiles(roots);
  const tables = await loadTables(files);
  onTestFinished(async () => {
    database.close();
    await rm(directory, { recursive: true });
  });
  let runs = 0;
  const options: Estate['options'] = (asOf, more = {}) => ({
    database,
    files,
    roots,
    asOf: new Date(asOf),
    generatedAt: new Date(asOf),
    out: join(directory, 'out'),
    thresholds: thresholds.parse({}),
    reportDays: 90,
    log: QUIET,
    ...more,
  });
  return {
    database,
    files,
    directory,
    file,
    options,
    async night(asOf, answers, target = 'acme') {
      const runId = `run-${++runs}`;
      const sources = new Map<string, 'complete' | 'failed' | 'quarantined'>();
      for (const [name, rows] of Object.entries(answers)) {
        const source = tables.get(name)?.source ?? name;
        sources.set(source, typeof rows === 'string' ? rows : 'complete');
      }
      await recordRun(database, runId, asOf, target);
      for (const [source, status] of sources) {
        if (status === 'complete') {
          for (const table of tablesOf(source, tables)) {
            await fill(database, files, table, (answers[table.name] ?? []) as readonly Fields[], target, asOf);
          }
        }
        await recordPull(database, { runId, target, source, status, asOf });
      }
    },
    async data(report, asOf, more) {
      const [data] = await reportData({ ...options(asOf, more), names: [report] });
      if (!data) throw new Error(`no report ${report}`);
      return data;
    },
  };
}

async function fill(
  database: Database,
  files: SqlFiles,
  table: Table,
  rows: readonly Fields[],
  target: string,
  asOf: string,
): Promise<void> {
  await database.run(await files.filled('warehouse/stage', { table: table.name, columns: columnList(table) }));
  const shape = Object.fromEntries(table.columns.map(({ name, type }) => [name, type.toUpperCase()]));
  const columns = table.columns.map(({ name }) => `entry.${quoted(name)}`).join(', ');
  const json = JSON.stringify(rows.map((row) => ({ ...row, target })));
  await database.run(
    `insert into stage_${table.name} select ${columns} from (select unnest(from_json(${literal(json)}, ${literal(JSON.stringify([shape]))})) as entry)`,
  );
  await compareStage(database, files, table, target);
  await mergeStage(database, files, table, target, asOf);
  await database.run(await files.filled('warehouse/drop_stage', { table: table.name }));
}

async function recordRun(database: Database, runId: string, asOf: string, target: string): Promise<void> {
  await database.run(
    `insert into runs values ($run_id, $target, 'nightly', 'complete', $as_of::timestamptz, $as_of::timestamptz)`,
    { run_id: runId, target, as_of: asOf },
  );
}

async function recordPull(
  database: Database,
  pull: { runId: string; target: string; source: string; status: string; asOf: string },
): Promise<void> {
  await database.run(
    `insert into pulls (run_id, target, source, status, started_at, as_of, error)
     values ($runId, $target, $source, $status, $asOf::timestamptz, $asOf::timestamptz, $error)`,
    { ...pull, error: pull.status === 'complete' ? null : 'the service answered 502' },
  );
}

/** A workspace with everything well, changed by `more`. */
export function workspace(id: string, more: Fields = {}): Fields {
  return {
    external_id: `ws-${id}`,
    workspace_name: id,
    project_name: 'core',
    project_external_id: 'prj-core',
    organization_name: 'acme',
    drifted: false,
    resources_drifted: 0,
    resources_undrifted: 10,
    checks_failed: 0,
    checks_errored: 0,
    checks_unknown: 0,
    checks_passed: 2,
    current_run_status: 'applied',
    workspace_iac_version: '1.9.8',
    current_rum_count: 10,
    ...more,
  };
}
