import { copyFile, mkdir, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import { TidemarkError } from '../../src/core/errors.ts';
import { createDirectoryStore } from '../../src/lake/store.ts';
import { openDatabase } from '../../src/warehouse/database.ts';
import { cli } from '../helpers/cli.ts';
import { cleanAtEnd, tempFolder } from '../helpers/temp.ts';
import { type TestProject, testProject } from '../helpers/test-project.ts';

const HOUR_MS = 3_600_000;

describe('a run with `lake` in the configuration', () => {
  const atEnd = cleanAtEnd();
  let project: TestProject;
  const lake = () => join(project.folder, 'lake');
  const words = (...more: string[]) => project.tidemark(['lake', ...more]);

  beforeAll(async () => {
    project = await testProject({ workspaces: 3, cleanup: atEnd });
    await project.configure((config) => {
      config.lake = './lake';
    });
    const { stdout } = await project.pull(['--target', 'acme', '--source', 'workspaces']);
    expect(JSON.parse(stdout)).toMatchObject({ status: 'complete', lake: { publish: 1024, problem: null } });
  });

  test('has published it: a further publish has nothing to add', async () => {
    const { exit, stdout } = await words('publish');
    expect({ exit, stdout }).toMatchObject({ exit: 0, stdout: expect.stringContaining('has every run up to') });
  });

  test.each([
    ['a shard', ['lake', 'close', '--shards', '2', '--wait', '60']],
    ['a reader of its output', ['findings', '--json']],
  ])('ends at a signal while a command waits for %s', async (_, command) => {
    const stop = new AbortController();
    const { signal } = stop;
    setTimeout(() => stop.abort(new TidemarkError('INCOMPLETE', 'stopped by SIGINT')), 500);
    const drain = () => sleep(60_000, undefined, { signal });
    const { exit, stderr } = await project.tidemark(command, { signal, drain });
    expect({ exit, stderr }).toEqual({ exit: 1, stderr: 'error: stopped by SIGINT\n' });
  });

  test('shows a publish that fails, and keeps the run', async () => {
    await project.configure((config) => {
      config.lake = './tidemark.yaml/lake';
    });
    const { stdout, stderr } = await project.pull(['--target', 'acme', '--source', 'workspaces'], 1);
    await project.configure((config) => {
      config.lake = './lake';
    });
    expect(JSON.parse(stdout)).toMatchObject({
      status: 'complete',
      lake: { publish: null, rows: 0, problem: expect.stringContaining('ENOTDIR') },
    });
    expect(stderr).toContain('error: lake: ');
    expect(await project.rows(`select count(*)::int as n from runs where status = 'complete'`)).toEqual([{ n: 2 }]);
    const next = JSON.parse((await project.tidemark(['lake', 'publish', '--json'])).stdout);
    expect(next).toMatchObject({ publish: 2048 });
  });

  test('verify: names each file that is missing or changed, and exits with 4', async () => {
    expect(await words('verify')).toMatchObject({ exit: 0, stdout: expect.stringContaining('all complete') });
    const store = createDirectoryStore(lake());
    const data = (table: string) =>
      store.list(table).then((files) => files.find(({ path }) => path.endsWith('.parquet'))?.path ?? '');
    const [missing, changed, cut] = [
      await data('pulls_changes'),
      await data('workspaces_changes'),
      await data('runs_changes'),
    ];
    const broken = join(project.folder, 'broken');
    for (const { path } of await store.list('')) {
      await mkdir(join(broken, path, '..'), { recursive: true });
      await copyFile(join(lake(), path), join(broken, path));
    }
    await rm(join(broken, missing));
    const text = await createDirectoryStore(broken).read(cut);
    await writeFile(join(broken, cut), text.slice(10));
    const { bytes = 0 } = (await store.list('workspaces_changes')).find(({ path }) => path === changed) ?? {};
    await writeFile(join(broken, changed), 'x'.repeat(bytes));
    const { exit, stderr, stdout } = await words('verify', '--lake', broken, '--json');
    expect(exit).toBe(4);
    const { problems } = JSON.parse(stdout);
    expect(
      problems.map(({ table, problem }: { table: string; problem: string }) => `${table} ${problem}`).sort(),
    ).toEqual([
      'pulls_changes is missing',
      expect.stringMatching(/^runs_changes has \d+ bytes instead of \d+$/u),
      'workspaces_changes has another checksum',
    ]);
    expect(stderr).toContain(`${missing} is missing`);
    await project.configure((config) => {
      config.data = './elsewhere';
    });
    const restored = await words('restore', '--lake', broken);
    for (const path of [cut, missing]) await copyFile(join(lake(), path), join(broken, path));
    const mended = await words('restore', '--lake', broken);
    await project.configure((config) => {
      config.data = './data';
    });
    expect(restored).toMatchObject({
      exit: 4,
      stderr: expect.stringMatching(/_changes\S+ (?:is missing|has \d+ bytes instead of \d+)/u),
    });
    expect(mended.exit).toBe(4);
    expect(mended.stderr).toMatch(
      /^error: \S+broken\/workspaces_changes\/\S+\.parquet has another checksum\n.*`tidemark lake verify`.*\n$/u,
    );
  });

  test('vacuum: removes what no commit names once it is old', async () => {
    const stray = join(lake(), 'workspaces_changes', 'month=2026-10', 'stray\u001b[2J.parquet');
    await mkdir(join(stray, '..'), { recursive: true });
    await writeFile(stray, 'x');
    const old = new Date(project.sandbox.now.getTime() - 25 * HOUR_MS);
    await utimes(stray, old, old);
    const listed = JSON.parse((await words('vacuum', '--dry-run', '--json')).stdout);
    expect(listed).toMatchObject({
      removed: false,
      files: ['workspaces_changes/month=2026-10/stray\u001b[2J.parquet'],
    });
    expect((await words('vacuum', '--dry-run')).stdout).toMatch(
      /^workspaces_changes\/month=2026-10\/stray\[2J.parquet\n/u,
    );
    expect((await words('vacuum')).stdout).toBe('1 file, 1 byte removed\n');
    expect((await words('vacuum')).stdout).toBe('0 files, 0 bytes removed\n');
    expect(await words('verify')).toMatchObject({ exit: 0 });
  });

  test('restore: makes the warehouse where there is none, and refuses where there is one', async () => {
    expect(await words('restore')).toMatchObject({
      exit: 6,
      stderr: expect.stringContaining('there is a warehouse already'),
    });
    await project.configure((config) => {
      config.data = './restored';
    });
    const { exit, stdout } = await words('restore');
    const restored = await project.tidemark(['sql', '--json', 'select count(*) as n from workspaces']);
    await project.configure((config) => {
      config.data = './data';
    });
    expect({ exit, stdout }).toMatchObject({ exit: 0, stdout: expect.stringContaining('tables with') });
    expect(restored.stdout).toContain('3');
  });

  test.each(['spark', 'trino', 'clickhouse', 'duckdb'])(
    'ddl --engine %s: names every table at the location',
    async (engine) => {
      const { exit, stdout } = await words('ddl', '--engine', engine, '--location', "s3://it's/lake/");
      expect(exit).toBe(0);
      const quote = engine === 'spark' || engine === 'clickhouse' ? "\\'" : "''";
      expect(stdout).toContain(`s3://it${quote}s/lake/workspaces_changes'`);
      for (const view of ['workspaces', 'workspaces_history', 'tf_versions', 'rollup_nights', 'source_state']) {
        expect(stdout).toMatch(new RegExp(`view [\`"]${view}[\`"] as`, 'u'));
      }
      expect(stdout).not.toContain('{{');
      expect(stdout).toMatch(/^-- Query T for the present.*\n(?:-- .*\n)*-- T is acl_policies, .* workspaces\./u);
      expect(stdout).toMatch(/create (?:schema|database) if not exists [`"]tidemark_internal[`"];/u);
      // What readers do not query is in the schema for it, and the rest has a comment.
      const created = stdout
        .split('\n')
        .filter((line) => /^(?:create|call)/u.test(line) && !line.includes('tidemark_internal'));
      expect(created.filter((line) => /_changes|_members/u.test(line))).toEqual([]);
      const comment = {
        spark: 'alter view `workspaces` set tblproperties',
        clickhouse: 'alter table "workspaces" modify comment',
      };
      expect(stdout).toContain(comment[engine as 'spark'] ?? `comment on view "workspaces" is '`);
    },
  );

  test('ddl: needs no configuration where the lake is named, as verify does not', async () => {
    const cwd = await tempFolder();
    for (const command of [['ddl', '--engine', 'duckdb'], ['verify']]) {
      const { exit, stderr, stdout } = await cli(['lake', ...command, '--lake', lake()], { cwd });
      expect([exit, stderr, stdout === '']).toEqual([0, '', false]);
    }
    expect(await readdir(cwd)).toEqual([]);
    const without = await cli(['lake', 'ddl', '--engine', 'duckdb'], { cwd });
    expect(without).toMatchObject({ exit: 2, stderr: expect.stringContaining('tidemark.yaml') });
  });

  test('ddl: DuckDB takes the statements, with a comment for each view and column', async () => {
    const { stdout } = await words('ddl', '--engine', 'duckdb', '--json');
    const database = await openDatabase(':memory:');
    try {
      await database.run(
        "create macro delta_scan(path) as table select * from read_parquet(path || '/*.parquet', union_by_name = true)",
      );
      const { statements } = JSON.parse(stdout) as { readonly statements: readonly string[] };
      const few = statements.filter((statement) =>
        /^create schema|(?:view|table|column|macro) (?:"tidemark_internal"\.)?"(?:workspaces|runs)(?:_changes|_history|_at)?"/u.test(
          statement,
        ),
      );
      for (const statement of few) await database.run(statement);
      expect(await database.rows(`select count(*)::int as n from workspaces_at(now())`)).toEqual([{ n: 3 }]);
      const [row] =
        await database.rows(`select (select comment from duckdb_views() where view_name = 'workspaces') as view,
        (select comment from duckdb_columns() where table_name = 'workspaces' and column_name = 'workspace_name') as col`);
      expect(row).toEqual({
        view: expect.stringContaining('one row per workspace'),
        col: expect.stringMatching(/\w/u),
      });
    } finally {
      database.close();
    }
  });
});

test('a folder that is no lake, and a command without a folder, are one clear line', async () => {
  const project = await testProject({ workspaces: 1 });
  const none = await project.tidemark(['lake', 'verify']);
  expect(none).toMatchObject({ exit: 2, stderr: expect.stringContaining('no lake is named') });
  const empty = await project.tidemark(['lake', 'verify', '--lake', '.']);
  expect(empty).toMatchObject({ exit: 4, stderr: expect.stringContaining('is not a lake') });
  const report = await project.tidemark(['report', 'fleet', '--lake', '.']);
  expect(report).toMatchObject({ exit: 4, stderr: expect.stringContaining('is not a lake') });
  const wrong = await cli(['lake', 'ddl'], { cwd: project.folder });
  expect(wrong).toMatchObject({ exit: 2 });
});

test.each(['report fleet', 'lake ddl --engine duckdb'])(
  '%s says that no run of a lake of shards is closed',
  async (command) => {
    const project = await testProject({ workspaces: 1 });
    const place = ['--lake', join(project.folder, 'lake')];
    const shard = ['--shard', '1/1'];
    await project.pull(['--source', 'autoscaler_health', ...shard]);
    const publish = await project.tidemark(['lake', 'publish', ...place, ...shard]);
    expect(publish).toMatchObject({ exit: 0 });
    const { exit, stderr } = await project.tidemark([...command.split(' '), ...place]);
    expect([exit, stderr]).toEqual([
      4,
      expect.stringMatching(/^error: no run of \S+lake is visible\n.*`tidemark lake close`/u),
    ]);
  },
);
