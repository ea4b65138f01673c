import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, onTestFinished } from 'vitest';
import { configSchema, type Thresholds } from '../../src/core/config-schema.ts';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { type FindSummary, findAll } from '../../src/pipeline/find.ts';
import { type Database, openDatabase, type Param } from '../../src/warehouse/database.ts';
import { compareStage, mergeStage } from '../../src/warehouse/history.ts';
import { migrate } from '../../src/warehouse/migrate.ts';
import { quoted, type SqlFiles, sqlFiles } from '../../src/warehouse/sql-files.ts';
import { columnList, loadTables, tablesOf } from '../../src/warehouse/tables.ts';
import type { Row } from '../../src/warehouse/values.ts';

export type Rows = readonly Readonly<Record<string, Param>>[];

export const THRESHOLDS: Thresholds = configSchema.shape.thresholds.parse({});

/** A real warehouse in a temporary file whose nights a test makes up. */
export interface FindingsWarehouse {
  readonly database: Database;
  readonly files: SqlFiles;
  readonly directory: string;
  /** A complete pull of one source: the rows that each of its tables then holds (none where not named). */
  pull(at: string, target: string, source: string, tables?: Readonly<Record<string, Rows>>): Promise<void>;
  /** A pull that changed nothing. */
  fail(at: string, target: string, source: string, status?: 'failed' | 'quarantined'): Promise<void>;
  find(at: string, options?: { thresholds?: Partial<Thresholds>; targets?: readonly string[] }): Promise<FindSummary>;
  findings(rule: string, target?: string): Promise<Row[]>;
  /** The subject IDs that the last evaluation found by a rule, and those it called unknown. */
  seen(rule: string): Promise<{ found: readonly string[]; unknown: readonly string[] }>;
}

export interface WarehouseOptions {
  /** When the warehouse goes. @default at the end of the test */
  readonly cleanup?: (clean: () => Promise<void>) => void;
  /** Roots in which queries are looked for before the package's. */
  readonly roots?: readonly string[];
  readonly file?: string;
}

/** A warehouse of the declared tables, made once for each test file. */
let migrated: Promise<string> | undefined;

async function migratedFile(files: SqlFiles): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'tidemark-migrated-'));
  const file = join(directory, 'warehouse.duckdb');
  const database = await openDatabase(file);
  await (await migrate(database, files, await loadTables(files)))();
  database.close();
  return file;
}

afterAll(async () => {
  if (migrated) await rm(dirname(await migrated), { recursive: true, force: true });
});

export async function findingsWarehouse(options: WarehouseOptions = {}): Promise<FindingsWarehouse> {
  const directory = await mkdtemp(join(tmpdir(), 'tidemark-findings-'));
  const files = sqlFiles([...(options.roots ?? []), PACKAGE_ROOT]);
  const tables = await loadTables(files);
  migrated ??= migratedFile(sqlFiles([PACKAGE_ROOT]));
  const file = options.file ?? join(directory, 'warehouse.duckdb');
  await copyFile(await migrated, file);
  const database = await openDatabase(file);
  const { cleanup = onTestFinished } = options;
  cleanup(async () => {
    database.close();
    await rm(directory, { recursive: true, force: true });
  });

  const record = async (at: string, target: string, source: string, status: string) =>
    database.run(
      `insert into pulls (run_id, target, source, status, error, started_at, as_of)
       values ($at, $target, $source, $status, $error, $at::timestamptz, $at::timestamptz)`,
      { at, target, source, status, error: status === 'complete' ? null : 'refused' },
    );
  const hold = async (at: string, target: string, name: string, rows: Rows) => {
    const table = tables.get(name)!;
    await database.run(await files.filled('warehouse/stage', { table: name, columns: columnList(table) }));
    for (const row of rows) {
      const columns = ['target', ...Object.keys(row)];
      const sql = `insert into stage_${name} (${columns.map(quoted).join(', ')}) values (${columns.map((c) => `$${c}`).join(', ')})`;
      await database.run(sql, { ...row, target });
    }
    await compareStage(database, files, table, target);
    await mergeStage(database, files, table, target, at);
  };

  return {
    database,
    files,
    directory,
    pull: async (at, target, source, contents = {}) => {
      for (const table of tablesOf(source, tables)) await hold(at, target, table.name, contents[table.name] ?? []);
      await record(at, target, source, 'complete');
    },
    fail: (at, target, source, status = 'failed') => record(at, target, source, status),
    find: (at, { thresholds, targets } = {}) =>
      findAll({
        database,
        files,
        asOf: new Date(at),
        thresholds: { ...THRESHOLDS, ...thresholds },
        ...(targets && { targets }),
      }),
    findings: (rule, target) =>
      database.rows(
        'select * from findings where rule = $rule and coalesce(target = $target, true) order by target, subject_id',
        { rule, target: target ?? null },
      ),
    seen: async (rule) => {
      const rows = await database.rows(
        `select subject_id, coalesce(unknown, false) as unknown from find_found where rule = $rule`,
        {
          rule,
        },
      );
      const ids = (unknown: boolean) =>
        rows
          .filter((row) => row.unknown === unknown)
          .map(({ subject_id }) => String(subject_id))
          .sort();
      return { found: ids(false), unknown: ids(true) };
    },
  };
}
