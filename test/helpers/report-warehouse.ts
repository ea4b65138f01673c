import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { builtInPlaybooks } from '../../src/act/playbooks/index.ts';
import { summarizePlaybooks } from '../../src/act/registry.ts';
import { thresholds } from '../../src/config/schema.ts';
import type { Log } from '../../src/core/log.ts';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import type { UnknownPart } from '../../src/landing/store.ts';
import { openReportReader, type ReportHead, readReport } from '../../src/tell/reports/data.ts';
import type { RenderOptions } from '../../src/tell/reports/index.ts';
import type { Database } from '../../src/warehouse/database.ts';
import { createSqlFiles, quoteIdent, quoteLiteral, type SqlFiles } from '../../src/warehouse/sql-files.ts';
import { loadTables, type Table, tablesForSource } from '../../src/warehouse/tables.ts';
import type { Row } from '../../src/warehouse/values.ts';
import { openCopy } from './prepared.ts';
import { createStage, hasRows, mergeFilledStage } from './stage.ts';
import { type Cleanup, tempFolder } from './temp.ts';

export const QUIET: Log = { info: () => {}, warn: () => {}, error: () => {} };

/** The content of `NAME.json`: beside the head, one array of rows per dataset. */
export interface ReportData extends ReportHead {
  readonly [dataset: string]: unknown;
}

type Fields = Readonly<Record<string, unknown>>;

/** What one pull of a target returns: rows by table, or the status of a pull that is not complete. */
export type PulledTables = Readonly<Record<string, readonly Fields[] | 'failed' | 'quarantined' | 'left-out'>>;

/** A warehouse in a temporary folder, filled pull by pull through the statements of a real pull. */
export interface ReportWarehouse {
  readonly database: Database;
  readonly files: SqlFiles;
  readonly directory: string;
  readonly file: string;
  /** Pulls the sources of the named tables at a time (ISO 8601). The other tables of a source become empty. */
  pull(asOf: string, tables: PulledTables, target?: string): Promise<void>;
  /**
   * The content of `NAME.json`.
   * @param datasets those that the test looks at, and `state`: the others are not queried and absent. @default all
   */
  data(report: string, asOf: string, datasets?: readonly string[], more?: Partial<RenderOptions>): Promise<ReportData>;
  options(asOf: string, more?: Partial<RenderOptions>): RenderOptions;
}

/**
 * @param from a warehouse file to copy; @default one without rows
 * @param cleanup when the warehouse goes; @default at the end of the test
 */
export async function createReportWarehouse(
  roots: readonly string[] = [PACKAGE_ROOT],
  from?: string,
  cleanup: Cleanup = onTestFinished,
): Promise<ReportWarehouse> {
  const directory = await tempFolder(cleanup);
  const file = join(directory, 'warehouse.duckdb');
  const database = await openCopy(file, from);
  const files = createSqlFiles(roots);
  const tables = await loadTables(files);
  cleanup(async () => database.close());
  let runs = (await database.rows('select run_id from runs')).length;
  const options: ReportWarehouse['options'] = (asOf, more = {}) => ({
    database,
    files,
    asOf: new Date(asOf),
    generatedAt: new Date(asOf),
    out: join(directory, 'out'),
    thresholds: thresholds.parse({}),
    reportDays: 90,
    targets: [],
    subjectPages: 1000,
    log: QUIET,
    playbooks: async () => summarizePlaybooks(builtInPlaybooks),
    ...more,
  });
  return {
    database,
    files,
    directory,
    file,
    options,
    async pull(asOf, answers, target = 'acme') {
      const runId = `run-${++runs}`;
      const sources = new Map<string, 'complete' | 'failed' | 'quarantined' | 'left-out'>();
      for (const [name, rows] of Object.entries(answers)) {
        const source = tables.get(name)?.source ?? name;
        sources.set(source, typeof rows === 'string' ? rows : 'complete');
      }
      await recordRun(database, runId, asOf, target);
      for (const [source, status] of sources) {
        if (status === 'complete') {
          for (const table of tablesForSource(source, tables)) {
            await fill(database, files, table, (answers[table.name] ?? []) as readonly Fields[], target, asOf);
          }
        }
        await recordPull(database, { runId, target, source, status, asOf });
      }
    },
    async data(report, asOf, datasets, more) {
      const own = options(asOf, more);
      const selected = datasets ? { ...own, files: withoutDatasets(own.files, report, datasets) } : own;
      const reader = await openReportReader({ ...selected, names: [report] });
      const [found] = reader.selected;
      if (!found) throw new Error(`no report ${report}`);
      const { head, read } = readReport(found, reader);
      const rows = found.datasets.map(async (dataset) => {
        const all: Row[] = [];
        await read(dataset, async (some) => {
          all.push(...some);
        });
        return [dataset.name, all] as const;
      });
      const data: ReportData = { ...(await head), ...Object.fromEntries(await Promise.all(rows)) };
      return datasets ? keepDatasets(data, datasets) : data;
    },
  };
}

/** The files, where the queries of other datasets of the report have their header, and return nothing. */
function withoutDatasets(files: SqlFiles, report: string, datasets: readonly string[]): SqlFiles {
  const needed = new Set(['summary', ...datasets, ...(datasets.includes('state') ? ['finding_counts'] : [])]);
  return {
    ...files,
    read(name) {
      const text = files.read(name);
      const [, folder, dataset = ''] = /^reports\/(.*)\/(.*)$/u.exec(name) ?? [];
      if ((folder !== report && folder !== 'lead') || needed.has(dataset)) return text;
      return `${/^(?:--.*\n)*/u.exec(text)?.[0]}select null where false`;
    },
  };
}

const FIXED_FIELDS = ['report', 'as_of', 'generated_at', 'sources', 'summary'];

/** What was not queried is absent, so that no test takes it for empty. */
function keepDatasets(data: ReportData, datasets: readonly string[]): ReportData {
  const kept = new Set([...FIXED_FIELDS, ...datasets]);
  return Object.fromEntries(Object.entries(data).filter(([name]) => kept.has(name))) as unknown as ReportData;
}

/** Loads the rows of a table that a pull returned. @param unknown parts that it could not list */
export async function fill(
  database: Database,
  files: SqlFiles,
  table: Table,
  rows: readonly Fields[],
  target: string,
  asOf: string,
  unknown: readonly UnknownPart[] = [],
): Promise<void> {
  if (rows.length === 0 && !(await hasRows(database, table, target))) return;
  await createStage(database, table);
  const shape = Object.fromEntries(table.columns.map(({ name, type }) => [name, type.toUpperCase()]));
  const columns = table.columns.map(({ name }) => `entry.${quoteIdent(name)}`).join(', ');
  const json = JSON.stringify(rows.map((row) => ({ ...row, target })));
  await database.run(
    `insert into stage_${table.name} by name select ${columns} from (select unnest(from_json(${quoteLiteral(json)}, ${quoteLiteral(JSON.stringify([shape]))})) as entry)`,
  );
  await mergeFilledStage(database, files, table, { target, asOf, unknown });
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

/** A workspace without any problem, changed by `more`. */
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
    all_checks_succeeded: !['checks_failed', 'checks_errored', 'checks_unknown'].some((name) => Number(more[name]) > 0),
    vcs_repo_identifier: 'acme/core',
    ...more,
  };
}

/** One event of a finding: what changed it, and its state from then on. */
export interface FindingEvent {
  readonly at: string;
  readonly state: string;
  readonly reason: string;
  /** @default that of the finding */
  readonly severity?: string;
}

/** A finding about a workspace with its history. */
export async function recordFinding(
  warehouse: ReportWarehouse,
  id: string,
  rule: string,
  events: readonly FindingEvent[],
  more: { severity?: string; group_key?: string } = {},
) {
  const severity = more.severity ?? 'warning';
  await warehouse.database.run(
    `insert into findings by name select $id as finding_id, 'acme' as target, $rule as rule, $severity as severity, 'workspace' as subject_type,
     $id as subject_id, $id as subject_name, 'Title of ' || $id as title, $state as state, $at::timestamptz as first_seen,
     $at::timestamptz as last_seen, 0 as times_reopened, $group_key as group_key`,
    {
      id,
      rule,
      severity,
      state: events.at(-1)?.state ?? 'open',
      at: events[0]?.at ?? null,
      group_key: more.group_key ?? null,
    },
  );
  for (const { at, state, reason, severity: then = severity } of events) {
    await warehouse.database.run(
      `insert into finding_events by name select $id as finding_id, 'acme' as target, $rule as rule, $at::timestamptz as changed_at,
       $state as state, $severity as severity, $reason as reason`,
      { id, rule, severity: then, at, state, reason },
    );
    await warehouse.database.run(
      `insert into rule_evaluations select 'acme', $rule, $at::timestamptz, $at::timestamptz`,
      {
        rule,
        at,
      },
    );
  }
}
