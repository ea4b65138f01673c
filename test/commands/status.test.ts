import { mkdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { openDatabase } from '../../src/warehouse/database.ts';
import { warehouseFiles } from '../../src/warehouse/publish.ts';
import { changePublished, setEarlierVersion } from '../helpers/change-warehouse.ts';
import { cleanAtEnd } from '../helpers/temp.ts';
import { findTarget, type TestProject, testProject } from '../helpers/test-project.ts';

const atEnd = cleanAtEnd();
describe('status', () => {
  let place: TestProject;
  let unauthorized: TestProject;
  beforeAll(async () => {
    let down = false;
    place = await testProject({
      workspaces: 10,
      cleanup: atEnd,
      faultHook: ({ path }, service) =>
        down && path.includes('/mesh/roles') ? service.error(403, 'not today') : undefined,
    });
    await place.pull(['--target', 'vault']);
    place.sandbox.tick();
    down = true;
    await place.pull(['--target', 'vault', '--source', 'keys', '--source', 'mesh_roles'], 1);
    unauthorized = await testProject({ workspaces: 5, cleanup: atEnd });
    await unauthorized.configure((config) => {
      findTarget(config, 'vault').token = 'a-token-that-is-wrong';
    });
    await unauthorized.pull(['--target', 'vault', '--target', 'scaler'], 1);
  });

  test('says in one line that DuckDB may use too little memory', async () => {
    const little = await testProject({ workspaces: 5, cleanup: atEnd });
    await little.pull(['--target', 'scaler']);
    await little.configure((config) => {
      config.memoryLimit = '1MB';
    });
    const { exit, stderr } = await little.tidemark(['status']);
    expect({ exit, stderr }).toEqual({
      exit: 1,
      stderr: 'error: DuckDB needs more memory than it may use: raise `memoryLimit`\n',
    });
  });

  test('shows the age of every source, whether it is stale, and why', async () => {
    const { exit, stdout } = await place.tidemark(['status', '--json', '--now', '2026-10-02T10:15:00Z']);
    expect(exit).toBe(0);
    const { sources } = JSON.parse(stdout) as { sources: Record<string, unknown>[] };
    const rows = sources.map(({ source, status, age, stale, error }) => [source, status, age, stale, error === null]);
    expect(rows).toEqual([
      ['key_distributions', 'complete', '32 h', false, true],
      ['keys', 'complete', '8 h', false, true],
      ['kms_providers', 'complete', '32 h', false, true],
      ['mesh_roles', 'failed', '32 h', true, false],
    ]);
  });

  test('--exit-code exits with 1 where a source is stale, or a target was never pulled', async () => {
    const one = await testProject({ workspaces: 1, cleanup: atEnd });
    let others: unknown[] = [];
    await one.configure((config) => {
      others = config.targets.filter(({ name }) => name !== 'scaler');
      config.targets = config.targets.filter(({ name }) => name === 'scaler');
    });
    await one.pull();
    const now = one.sandbox.now.getTime();
    const status = (hours: number) =>
      one.tidemark(['status', '--exit-code', '--now', new Date(now + hours * 3_600_000).toISOString()]);
    expect(await status(1)).toMatchObject({ exit: 0, stderr: '' });
    expect(await status(100)).toMatchObject({ exit: 1, stderr: '' });
    await one.configure((config) => config.targets.push(...(others as typeof config.targets)));
    expect(await status(1)).toMatchObject({
      exit: 1,
      stderr: expect.stringMatching(/warning: never pulled: acme, vault, .*registry/u),
    });
  });

  test('calls a source stale after staleHours', async () => {
    const { stdout } = await place.tidemark(['status', '--json', '--now', '2026-10-03T10:15:00Z']);
    const { sources } = JSON.parse(stdout) as { sources: Record<string, unknown>[] };
    expect(sources.filter(({ stale }) => stale).map(({ source }) => source)).toEqual([
      'key_distributions',
      'kms_providers',
      'mesh_roles',
    ]);
  });

  test('reads a warehouse whose pulls have no parts of an error', async () => {
    const old = await testProject({
      workspaces: 1,
      cleanup: atEnd,
      faultHook: (_, service) => service.error(403, 'no'),
    });
    await old.pull(['--target', 'scaler'], 3);
    await changePublished(old.folder, (database) => database.run('alter table pulls drop column failure'));
    const { exit, stdout } = await old.tidemark(['status']);
    expect(exit).toBe(0);
    expect(stdout).toMatch(/^scaler: .*403/mu);
  });

  test('names a reason once, with the sources that failed for it', async () => {
    const { stdout } = await unauthorized.tidemark(['status']);
    expect(stdout.match(/403 forbidden/gu)).toHaveLength(1);
    expect(stdout).toMatch(/^vault: 403 forbidden: .* \(key_distributions, keys, kms_providers, mesh_roles\)$/mu);
  });

  test('shows times to the second', async () => {
    const { stdout } = await place.tidemark(['status', '--now', '2026-10-02T10:15:00.123Z']);
    expect(stdout).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ +nightly +UTC$/mu);
  });

  test('says how old the facts about support are, and where they are from', async () => {
    const line = async (now: string) => {
      const { stdout } = await place.tidemark(['status', '--now', now]);
      return stdout.split('\n').filter((text) => text.startsWith('facts about'));
    };
    expect(await line('2026-12-20T10:15:00Z')).toEqual([
      'facts about the support of versions: of 2026-08-22 (packaged), 120 days old',
    ]);
    expect(await line('2026-12-21T10:15:00Z')).toEqual([expect.stringMatching(/121 days old, stale$/u)]);
    const { lifecycle } = (await place.tidemark(['status', '--json', '--now', '2026-12-21T10:15:00Z'])).json<{
      lifecycle: object[];
    }>();
    expect(lifecycle).toMatchObject([{ origin: 'packaged', data_as_of: '2026-08-22', days: 121, stale: true }]);
  });

  test('reads a warehouse that was written before there were such facts, and says that it has none', async () => {
    const older = await testProject({ workspaces: 10, cleanup: atEnd });
    await older.pull(['--source', 'keys']);
    await changePublished(older.folder, async (database) => {
      for (const name of ['versions_in_use', 'version_support', 'lifecycle']) {
        await database.run(`drop view ${name}`);
        await database.run(`drop macro table ${name}_at`);
      }
      await database.run('drop table lifecycle_facts');
      await setEarlierVersion(database);
    });
    const { exit, stdout } = await older.tidemark(['status']);
    expect([exit, stdout]).toEqual([0, expect.stringMatching(/^facts about the support of versions: none$/mu)]);
    const report = await older.tidemark(['report', 'overview']);
    expect([report.exit, report.stderr]).toEqual([0, expect.stringMatching(/^1 report written/u)]);
    await changePublished(older.folder, (database) => database.run('alter table mesh_roles_history drop column mount'));
    const partial = await older.tidemark(['report', 'overview']);
    expect(partial).toMatchObject({ exit: 4, stdout: expect.stringContaining('overview.html') });
    expect(partial.stderr).toMatch(
      /^error: \S+ is of an earlier version: .*: run `tidemark pull`, which adds what it lacks$/mu,
    );
  });

  test('shows the last runs, newest first, as a table and as JSON', async () => {
    const { stdout } = await place.tidemark(['status']);
    expect(stdout.indexOf('20261002T021500Z')).toBeLessThan(stdout.indexOf('20261001T021500Z'));
    expect(stdout).toMatch(/20261002T021500Z +pull +incomplete/u);
    const { runs } = (await place.tidemark(['status', '--json'])).json<{ runs: { status: string }[] }>();
    expect(runs.map(({ status }) => status)).toEqual(['incomplete', 'complete']);
  });
});

test.each([
  ['status', 'Referenced column "reused" not found'],
  ['findings', 'Table with name unassessed_rules does not exist'],
  ['diff', 'Referenced column "unknown_parts" not found'],
  ['show x', 'Referenced column "mount" not found'],
  ['report drift', 'Table Function with name assessed_targets does not exist'],
  ['export --out exported', 'Table with name additions does not exist'],
  ['lake publish --lake lake', 'Referenced column "namespace" not found'],
])('%s says that a warehouse is of an earlier version', async (command, lacking) => {
  const { place, published } = await earlierWarehouse();
  const { exit, stderr } = await place.tidemark(command.split(' '));
  expect(exit).toBe(4);
  expect(stderr).toContain(`${published} is of an earlier version: `);
  expect(stderr).toContain(lacking);
  expect(stderr).toContain('run `tidemark pull`, which adds what it lacks');
});

test('sql asks a warehouse of an earlier version', async () => {
  const { place } = await earlierWarehouse();
  const { exit, json } = await place.tidemark(['sql', '--json', 'select count(*) as n from workspaces']);
  expect([exit, json()]).toEqual([0, [{ n: 2 }]]);
  const lacking = await place.tidemark(['sql', 'from additions']);
  expect([lacking.exit, lacking.stderr]).toEqual([
    4,
    expect.stringMatching(/additions does not exist.*the warehouse is of an earlier version: run `tidemark pull`/su),
  ]);
});

test('saved queries and a publish read a warehouse of an earlier version, which lacks what they call', async () => {
  const place = await testProject({ workspaces: 3 });
  await place.pull(['--source', 'workspaces']);
  await changePublished(place.folder, async (database) => {
    await database.run('drop macro known_drift');
    await setEarlierVersion(database);
  });
  for (const command of [
    'sql --saved unassessed-workspaces',
    'sql --saved drift-duration',
    'lake publish --lake lake',
  ]) {
    const { exit, stderr } = await place.tidemark(command.split(' '));
    expect([exit, stderr], command).toEqual([0, '']);
  }
});

async function earlierWarehouse() {
  const place = await testProject({ workspaces: 1, warehouse: 'none' });
  const { published } = warehouseFiles(join(place.folder, 'data'));
  await mkdir(dirname(published), { recursive: true });
  const old = await openDatabase(published);
  const sql = await readFile(join(import.meta.dirname, '..', 'warehouse', 'fixtures', 'warehouse-0.1.0.sql'), 'utf8');
  await old.connection.run(sql);
  old.close();
  return { place, published };
}
