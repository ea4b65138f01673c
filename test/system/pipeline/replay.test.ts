import { existsSync } from 'node:fs';
import { mkdir, readdir, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { RunResult } from '../../../src/run/run.ts';
import { byKey, sourceTables } from '../../helpers/expect-table.ts';
import { startWithEmptyWarehouse } from '../../helpers/prepared.ts';
import { pulledProject, type TestProject, testProject } from '../../helpers/test-project.ts';

const contents = async (place: TestProject) => {
  const tables = await Promise.all(
    sourceTables.map(async (name) => [name, byKey(name, await place.rows(`select * from ${name}`))] as const),
  );
  return Object.fromEntries(tables);
};

const removeWarehouse = async ({ folder }: TestProject) => {
  await rm(join(folder, 'data', 'warehouse.duckdb'), { force: true });
  await rm(join(folder, 'data', 'work'), { recursive: true });
};

const pullJson = async (place: TestProject, words: readonly string[] = [], exit = 0) =>
  (await place.pull(words, exit)).json<RunResult>();

const CHANGED = ['--source', 'keys', '--source', 'kms_providers'];

test('landings restore an empty warehouse without the network', async () => {
  const place = await pulledProject();
  const [id = ''] = await readdir(join(place.folder, 'data', 'landing'));
  const first = { id, tables: await contents(place) };
  place.sandbox.tick();
  place.sandbox.services.secrets.state.keys.delete('retired-2023-export');
  const { run_id } = await pullJson(place, CHANGED);
  const second = { id: run_id, tables: await contents(place) };
  expect(second.tables).not.toEqual(first.tables);
  await removeWarehouse(place);
  const asked = place.sandbox.log.length;

  expect((await pullJson(place, ['--from', first.id])).as_of).toBe('2026-10-01T02:15:00.000Z');
  expect(await contents(place)).toEqual(first.tables);
  const again = await pullJson(place, ['--from', first.id, '--target', 'vault']);
  expect(again.pulls.map(({ inserted, changed, deleted }) => inserted + changed + deleted).every((n) => n === 0)).toBe(
    true,
  );
  await place.pull(['--from', second.id]);
  expect(await contents(place)).toEqual(second.tables);

  const refused = await place.pull(['--from', first.id, ...CHANGED], 3);
  expect(refused.stderr).toMatch(
    /the loaded rows are of 2026-10-02T02:15:00Z, after that run: see its time with `tidemark sql --as-of 2026-10-01T02:15:00\.000Z`/,
  );
  expect(await contents(place)).toEqual(second.tables);
  expect(place.sandbox.log.length).toBe(asked);
});

test('an unknown run is reported with the closest match; a run of some sources is replayed, and a source without a landing fails alone', async () => {
  const place = await testProject({ workspaces: 10 });
  const { run_id } = await pullJson(place, ['--source', 'keys', '--source', 'workspaces']);
  const unknown = await place.tidemark(['pull', '--from', `${run_id.slice(0, -2)}1Z`]);
  expect(unknown.exit).toBe(2);
  expect(unknown.stderr).toContain(`did you mean ${run_id}?`);
  await removeWarehouse(place);
  await startWithEmptyWarehouse(join(place.folder, 'data'));
  const { status, pulls } = await pullJson(place, ['--from', run_id]);
  expect(status).toBe('complete');
  expect(pulls.map(({ target, source }) => `${target} ${source}`).sort()).toEqual(['acme workspaces', 'vault keys']);
  const ofVault = await pullJson(place, ['--from', run_id, '--target', 'vault'], 1);
  const failed = ofVault.pulls.filter((pull) => pull.status === 'failed').map(({ source }) => source);
  expect(failed).not.toContain('keys');
  expect(failed).toContain('mesh_roles');
});

test('a run says which of its sources it did not land, and what it landed is loaded', async () => {
  let isDown = true;
  const place = await testProject({
    workspaces: 10,
    faultHook: ({ path }, service) => (isDown && path.includes('/kms') ? service.error(403, 'not today') : undefined),
  });
  const { run_id } = await pullJson(place, CHANGED, 1);
  isDown = false;
  await place.pull(['--source', 'kms_providers']);
  const { exit, stdout, stderr } = await place.tidemark(['pull', '--from', run_id]);
  expect({ exit, stdout }).toEqual({ exit: 1, stdout: expect.stringContaining('incomplete, 1 of 2 sources') });
  expect(stderr).toContain('vault: kms_providers: failed: that run did not land this source');
  expect(await place.rows("select status from source_state where source = 'kms_providers'")).toEqual([
    { status: 'complete' }, // it was pulled since: that another run did not land it changes nothing
  ]);
});

test.each<[string, (file: string) => Promise<void>, RegExp]>([
  [
    'has changed',
    (file) => writeFile(file, gzipSync('version,workspace_count,workspaces\n"6.6.6","1","x"\n')),
    /acme: tf_versions: failed: the landing file tf_versions\.csv\.gz was changed after the extraction/u,
  ],
  ['is cut off', (file) => truncate(file, 100), /failed: the landing file tf_versions\.csv\.gz was changed after/u],
  ['is missing', (file) => rm(file), /failed: cannot read the landing file tf_versions\.csv\.gz: ENOENT/u],
])('a landed file that %s fails its source in one line, and the others are loaded', async (_, damage, says) => {
  const place = await testProject({ workspaces: 10 });
  const sources = ['--source', 'tf_versions', '--source', 'acl_policies'];
  const { run_id } = await pullJson(place, sources);
  await damage(join(place.folder, 'data', 'landing', run_id, 'acme', 'tf_versions.csv.gz'));
  const { stderr } = await place.pull(['--from', run_id, ...sources], 1);
  expect(stderr.split('\n').filter((line) => line.includes('failed'))).toEqual([expect.stringMatching(says)]);
  expect(stderr).toMatch(/nomad: acl_policies: \d+ rows/u);
});

test('a landing of an earlier version, whose files are in an archive or not compressed, is none, and breaks no run', async () => {
  const place = await testProject({ workspaces: 10 });
  const old = join(place.folder, 'data', 'landing', '20260930T021500Z');
  await mkdir(join(old, 'nomad'), { recursive: true });
  await writeFile(join(old, 'nomad', 'landing.tar'), 'not read');
  const file = { file: 'acl_policies.ndjson', format: 'ndjson', bytes: 0, sha256: '' };
  const manifest = {
    source: 'acl_policies',
    target: 'nomad',
    run_id: '20260930T021500Z',
    as_of: '2026-09-30T02:15:00Z',
  };
  await writeFile(join(old, 'nomad', 'acl_policies.json'), JSON.stringify({ ...manifest, files: [file] }));
  await place.pull(['--source', 'acl_policies']);
  const { exit, stderr } = await place.tidemark(['pull', '--from', '20260930T021500Z']);
  expect({ exit, stderr }).toEqual({ exit: 4, stderr: expect.stringContaining('has a complete landing') });
});

test('landings older than landingDays are removed; newer ones and other files stay', async () => {
  const place = await testProject({ workspaces: 10 });
  const landing = join(place.folder, 'data', 'landing');
  await place.pull(['--source', 'acl_policies']);
  for (let run = 0; run < 14; run++) place.sandbox.tick();
  await place.pull(['--source', 'acl_policies']);
  expect((await readdir(landing)).sort()).toEqual(['20261001T021500Z', '20261015T021500Z']);
  await writeFile(join(landing, 'README'), 'mine');
  place.sandbox.tick();
  await place.pull(['--source', 'acl_policies']);
  expect((await readdir(landing)).sort()).toEqual(['20261015T021500Z', '20261016T021500Z', 'README']);
});

test('a missing working file is restored from the published warehouse', async () => {
  const place = await testProject({ workspaces: 10 });
  await place.pull(['--source', 'acl_policies']);
  await rm(join(place.folder, 'data', 'work'), { recursive: true });
  place.sandbox.tick();
  await place.pull(['--source', 'mesh_roles']);
  const [row] = await place.rows(
    'select (select count(*) from acl_policies) > 0 and (select count(*) from mesh_roles) > 0 as both',
  );
  expect(row).toEqual({ both: true });
});

test('an open reader keeps its version while a pull publishes the next, and no log is left behind', async () => {
  const place = await testProject({ workspaces: 10 });
  await place.pull(['--source', 'keys']);
  const { openDatabase } = await import('../../../src/warehouse/database.ts');
  const file = join(place.folder, 'data', 'warehouse.duckdb');
  const analyst = await openDatabase(file, { readOnly: true });
  try {
    place.sandbox.services.secrets.state.keys.clear();
    await place.pull(['--accept-shrink', 'keys']);
    const [old] = await analyst.rows('select count(*) > 0 as any from keys');
    expect(old).toEqual({ any: true });
  } finally {
    analyst.close();
  }
  expect(await place.rows('select * from keys')).toEqual([]);
  expect(existsSync(`${file}.wal`)).toBe(false);
});
