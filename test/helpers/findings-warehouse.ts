import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { configSchema, type Thresholds } from '../../src/config/schema.ts';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { type AssessedTarget, evaluateFindings, type FindingsSummary } from '../../src/tell/findings/evaluate.ts';
import type { Database, SqlParam } from '../../src/warehouse/database.ts';
import { createSqlFiles, quoteIdent, type SqlFiles } from '../../src/warehouse/sql-files.ts';
import { loadTables, tablesForSource } from '../../src/warehouse/tables.ts';
import type { Row } from '../../src/warehouse/values.ts';
import { openCopy } from './prepared.ts';
import { createStage, hasRows, mergeFilledStage } from './stage.ts';
import { type Cleanup, tempFolder } from './temp.ts';

export type Rows = readonly Readonly<Record<string, SqlParam>>[];

/** What rows have where a test says nothing of it: nothing that a rule would find. */
const UNREMARKABLE: Readonly<Record<string, Rows[number]>> = {
  workspaces: {
    all_checks_succeeded: true,
    checks_errored: 0,
    checks_failed: 0,
    checks_passed: 0,
    checks_unknown: 0,
    current_rum_count: 0,
    vcs_repo_identifier: 'acme/core',
  },
};

export const THRESHOLDS: Thresholds = configSchema.shape.thresholds.parse({});

/** A real warehouse in a temporary file. The test makes up what each pull returns. */
export interface FindingsWarehouse {
  readonly database: Database;
  readonly files: SqlFiles;
  readonly directory: string;
  /** A complete pull of one source: the rows that each of its tables then holds (none where not named). */
  pull(at: string, target: string, source: string, tables?: Readonly<Record<string, Rows>>): Promise<void>;
  /** A pull that changed nothing. */
  fail(at: string, target: string, source: string, status?: 'failed' | 'quarantined' | 'left-out'): Promise<void>;
  evaluate(
    at: string,
    options?: {
      thresholds?: Partial<Thresholds>;
      targets?: readonly (string | AssessedTarget)[];
      runId?: string;
    },
  ): Promise<FindingsSummary>;
  findings(rule: string, target?: string): Promise<Row[]>;
  /** The subject IDs that the last evaluation found by a rule, and those it called unknown. */
  seen(rule: string): Promise<{ found: readonly string[]; unknown: readonly string[] }>;
}

export interface WarehouseOptions {
  /** When the warehouse goes. @default at the end of the test */
  readonly cleanup?: Cleanup;
  /** Roots in which queries are looked for before the package's. */
  readonly roots?: readonly string[];
  readonly file?: string;
  /** A warehouse file to copy. @default one without rows */
  readonly from?: string;
}

export async function createFindingsWarehouse(options: WarehouseOptions = {}): Promise<FindingsWarehouse> {
  const { cleanup = onTestFinished } = options;
  const directory = await tempFolder(cleanup);
  const files = createSqlFiles([...(options.roots ?? []), PACKAGE_ROOT]);
  const tables = await loadTables(files);
  const file = options.file ?? join(directory, 'warehouse.duckdb');
  const database = await openCopy(file, options.from);
  cleanup(async () => database.close());

  const record = async (at: string, target: string, source: string, status: string) =>
    database.run(
      `insert into pulls (run_id, target, source, status, error, started_at, as_of)
       values ($at, $target, $source, $status, $error, $at::timestamptz, $at::timestamptz)`,
      { at, target, source, status, error: status === 'complete' ? null : 'refused' },
    );
  const hold = async (at: string, target: string, name: string, rows: Rows) => {
    const table = tables.get(name)!;
    if (rows.length === 0 && !(await hasRows(database, table, target))) return;
    await createStage(database, table);
    for (const given of rows) {
      const row = { ...UNREMARKABLE[name], ...given };
      const columns = ['target', ...Object.keys(row)];
      const sql = `insert into stage_${name} (${columns.map(quoteIdent).join(', ')}) values (${columns.map((c) => `$${c}`).join(', ')})`;
      await database.run(sql, { ...row, target });
    }
    await mergeFilledStage(database, files, table, { target, asOf: at });
  };

  return {
    database,
    files,
    directory,
    pull: async (at, target, source, contents = {}) => {
      for (const table of tablesForSource(source, tables))
        await hold(at, target, table.name, contents[table.name] ?? []);
      await record(at, target, source, 'complete');
    },
    fail: (at, target, source, status = 'failed') => record(at, target, source, status),
    evaluate: (at, { thresholds, targets, runId } = {}) =>
      evaluateFindings({
        database,
        files,
        asOf: new Date(at),
        thresholds: { ...THRESHOLDS, ...thresholds },
        ...(runId && { runId }),
        ...(targets && { targets: targets.map((target) => (typeof target === 'string' ? { name: target } : target)) }),
      }),
    findings: (rule, target) =>
      database.rows(
        'select * from findings where rule = $rule and coalesce(target = $target, true) order by target, subject_id',
        { rule, target: target ?? null },
      ),
    seen: async (rule) => {
      const rows = await database.rows(
        `select subject_id, coalesce(unknown, false) as unknown from candidates where rule = $rule`,
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
