import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { type Config, loadConfig } from '../../src/config/config.ts';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { Redactor } from '../../src/core/redact/redactor.ts';
import { type PublishResult, publishToLake } from '../../src/lake/publish.ts';
import { createLakeReader } from '../../src/lake/reader.ts';
import { restoreFromLake } from '../../src/lake/restore.ts';
import { createDirectoryStore, type LakeStore } from '../../src/lake/store.ts';
import { createLakeViews } from '../../src/lake/views.ts';
import { type Database, openDatabase, type SqlParams } from '../../src/warehouse/database.ts';
import { warehouseFiles } from '../../src/warehouse/publish.ts';
import { createSqlFiles, quoteIdent } from '../../src/warehouse/sql-files.ts';
import type { Row } from '../../src/warehouse/values.ts';
import { copyEmptyWarehouse, prepareOnce } from './prepared.ts';
import { type Cleanup, tempFolder } from './temp.ts';

const CONFIG = `lake: ./lake
targets:
  - { name: scaler, kind: autoscaler, url: 'http://127.0.0.1:1' }
`;
/** Queries of some rows take less time without others to divide them among. */
const ONE_THREAD = { threads: 1 };
const SILENT = { debug() {}, info() {}, warn() {}, error() {} };

export interface Statement {
  readonly sql: string;
  readonly params?: SqlParams;
}

/** A folder with a published warehouse without a sandbox behind it, and a lake. */
export interface LakeProject {
  readonly folder: string;
  readonly config: Config;
  readonly store: LakeStore;
  /** Adds a complete run of this time to the warehouse, and what it changes. */
  night(asOf: string, ...changes: readonly (string | Statement)[]): Promise<void>;
  /** Changes the warehouse without a run. */
  change(...changes: readonly (string | Statement)[]): Promise<void>;
  publish(store?: LakeStore): Promise<PublishResult>;
  /** Names of the relations that the lake has. */
  relations(): Promise<readonly string[]>;
  /** Rows of a query over the views of the lake. */
  inLake(sql: string): Promise<Row[]>;
  inWarehouse(sql: string): Promise<Row[]>;
  /** Makes a warehouse out of the lake. @returns its file */
  restored(): Promise<string>;
  /** Fails unless a warehouse out of the lake equals this one in every table. */
  expectRestored(): Promise<void>;
}

export interface LakeProjectOptions {
  readonly cleanup?: Cleanup;
  /** Only the tables that most tests change, or these too: a publish looks at each. @default every table */
  readonly tables?: 'few' | readonly string[];
}

/** What a publish of any warehouse reads, and what these tests change. */
const FEW = [
  'agents_history',
  'autoscaler_health_history',
  'autoscaler_metrics_history',
  'finding_events',
  'findings',
  'history_start',
  'pulls',
  'rule_evaluations',
  'runs',
  'schema_digest',
  'unassessed_rules',
  'warehouse_identity',
  'workspaces_history',
];

/** A warehouse before its tables of other sources were declared. */
async function copyTables(added: readonly string[], to: string): Promise<void> {
  const kept = [...FEW, ...added];
  const prepared = await prepareOnce(['few-tables', ...added].join('-'), async (folder) => {
    const file = join(folder, 'warehouse.duckdb');
    await copyEmptyWarehouse(file);
    const database = await openDatabase(file);
    const tables = await database.rows('select table_name as name from duckdb_tables()');
    for (const { name } of tables) {
      if (!kept.includes(String(name))) await database.run(`drop table ${quoteIdent(String(name))}`);
    }
    database.close();
  });
  await copyFile(join(prepared, 'warehouse.duckdb'), to);
}

export async function lakeProject({ cleanup = onTestFinished, tables }: LakeProjectOptions = {}): Promise<LakeProject> {
  const folder = await tempFolder(cleanup);
  await mkdir(join(folder, 'data'));
  await writeFile(join(folder, 'tidemark.yaml'), CONFIG);
  const config = readConfig(folder);
  const store = createDirectoryStore(join(folder, 'lake'));
  const { published } = warehouseFiles(config.data);
  const added = tables === 'few' ? [] : tables;
  await (added ? copyTables(added, published) : copyEmptyWarehouse(published));

  const change: LakeProject['change'] = async (...changes) => {
    const database = await openDatabase(published, ONE_THREAD);
    for (const entry of changes) {
      const { sql, params } = typeof entry === 'string' ? { sql: entry, params: {} } : entry;
      await database.run(sql, params);
    }
    database.close();
  };
  const withFile = async (file: string, work: (database: Database) => Promise<Row[]>): Promise<Row[]> => {
    const database = await openDatabase(file, { ...ONE_THREAD, readOnly: file !== ':memory:' });
    try {
      return await work(database);
    } finally {
      database.close();
    }
  };
  return {
    folder,
    config,
    store,
    change,
    night: (asOf, ...changes) =>
      change(
        {
          sql: `insert into runs by name select strftime($as_of::timestamptz, '%Y%m%dT%H%M%SZ') as run_id, 'scaler' as target, 'nightly' as job,
            'complete' as status, $as_of::timestamptz as started_at`,
          params: { as_of: asOf },
        },
        ...changes,
      ),
    publish: (to = store) => publishToLake({ config, store: to, now: new Date() }),
    relations: async () =>
      (await store.folders())
        .filter((name) => name.endsWith('_changes'))
        .map((name) => name.slice(0, -'_changes'.length)),
    inLake: (sql) =>
      withFile(':memory:', async (database) => {
        const reader = createLakeReader({ store, database, files: createSqlFiles([PACKAGE_ROOT]), nowMs: 0 });
        await createLakeViews(reader, [sql]); // all views take a second, and a test reads one relation or two
        return database.rows(sql);
      }),
    inWarehouse: (sql) => withFile(published, (database) => database.rows(sql)),
    restored: () => restore(folder, store),
    expectRestored: async () => {
      const compared = await expectSame(published, await restore(folder, store));
      expect(compared).toBeGreaterThan(added ? FEW.length + added.length - 2 : 35);
    },
  };
}

function readConfig(folder: string): Config {
  return loadConfig(join(folder, 'tidemark.yaml'), {}, new Redactor(), { needsSecrets: false });
}

/** Makes a warehouse of the lake in a new folder. @returns its file */
async function restore(folder: string, store: LakeStore): Promise<string> {
  const to = await tempFolder(onTestFinished);
  await writeFile(join(to, 'tidemark.yaml'), CONFIG);
  // What a user has added beside the configuration is needed to know the tables.
  const config = { ...readConfig(to), directory: folder };
  await restoreFromLake({ config, store, now: new Date(), log: SILENT });
  return warehouseFiles(config.data).published;
}

/** @returns the number of tables */
async function expectSame(one: string, other: string): Promise<number> {
  const database = await openDatabase(':memory:', ONE_THREAD);
  try {
    await database.run(`attach '${one}' as one (read_only)`);
    await database.run(`attach '${other}' as other (read_only)`);
    const tables = await database.rows(
      // The digest of the definitions is that of the program that has migrated the file. An estimate of 0 is exact.
      `select table_name as name, sum(estimated_size) > 0 as has_rows from duckdb_tables()
      where database_name in ('one', 'other') and schema_name = 'main' and table_name <> 'schema_digest'
      group by name having list_contains(list(database_name), 'one') order by name`,
    );
    const differing: unknown[] = [];
    for (const { name } of tables.filter(({ has_rows }) => has_rows))
      differing.push(...(await compareTable(database, quoteIdent(String(name)))));
    expect(differing).toEqual([]);
    return tables.length;
  } finally {
    database.close();
  }
}

async function compareTable(database: Database, table: string): Promise<readonly unknown[]> {
  const described = await database.rows(`describe one.main.${table}`);
  const columns = described.map(({ column_name }) => quoteIdent(String(column_name))).join(', ');
  const lost = `select ${columns} from one.main.${table} except all select ${columns} from other.main.${table}`;
  const added = `select ${columns} from other.main.${table} except all select ${columns} from one.main.${table}`;
  const [counts] = await database.rows(
    `select (select count(*)::int from (${lost})) as lost, (select count(*)::int from (${added})) as added`,
  );
  return counts?.lost || counts?.added ? [{ table, ...counts }] : [];
}
