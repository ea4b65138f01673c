import { existsSync } from 'node:fs';
import { mkdir, readdir, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { RunResult } from '../../../src/pipeline/run.ts';
import { byKey, sourceTables } from '../../helpers/expect-table.ts';
import { findArchives, unpackLandings } from '../../helpers/landings.ts';
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

test('landings restore an empty warehouse without the network, and stay one packed file for each target', async () => {
  const place = await pulledProject();
  const listLandings = () => readdir(join(place.folder, 'data', 'landing'), { recursive: true });
  const [id = ''] = await listLandings();
  const first = { id, tables: await contents(place) };
  place.sandbox.tick();
  place.sandbox.services.secrets.state.keys.delete('retired-2023-export');
  const { run_id } = await pullJson(place, CHANGED);
  const second = { id: run_id, tables: await contents(place) };
  expect(second.tables).not.toEqual(first.tables);
  const pack = (folder: string) => [folder, `${folder}/landing.tar`];
  const packed = [
    first.id,
    ...['acme', 'consul', 'nomad', 'scaler', 'vault'].flatMap((target) => pack(`${first.id}/${target}`)),
    `${first.id}/run.json`,
    second.id,
    `${second.id}/run.json`,
    ...pack(`${second.id}/vault`),
  ].sort();
  expect((await listLandings()).sort()).toEqual(packed);
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
  expect(refused.stderr).toMatch(/the loaded rows are of 2026-10-02T02:15:00Z, after that run/);
  expect(await contents(place)).toEqual(second.tables);
  expect(place.sandbox.log.length).toBe(asked);
  expect((await listLandings()).sort()).toEqual(packed);
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

test('a landed file that has changed is rejected', async () => {
  const place = await testProject({ workspaces: 10 });
  const { run_id } = await pullJson(place, ['--source', 'tf_versions']);
  await unpackLandings(place.folder);
  const file = join(place.folder, 'data', 'landing', run_id, 'acme', 'tf_versions.csv');
  await writeFile(file, 'version,workspace_count,workspaces\n"6.6.6","1","x"\n');
  const { stderr } = await place.pull(['--from', run_id, '--source', 'tf_versions'], 3);
  expect(stderr).toContain('the landing file tf_versions.csv was changed after the extraction');
});

test('a damaged archive fails its target in one line, and the other targets are loaded', async () => {
  const place = await testProject({ workspaces: 10 });
  const { run_id } = await pullJson(place, ['--source', 'acl_policies', '--source', 'agent_pools']);
  await truncate(join(place.folder, 'data', 'landing', run_id, 'nomad', 'landing.tar'), 100);
  const { stderr } = await place.pull(['--from', run_id, '--source', 'acl_policies', '--source', 'agent_pools'], 1);
  const failed = stderr.split('\n').filter((line) => line.includes('failed'));
  expect(failed).toEqual([
    expect.stringMatching(/nomad: acl_policies: failed: the archive \S+landing\.tar is damaged at byte 0/u),
  ]);
  expect(stderr).toMatch(/acme: agent_pools: \d+ rows/u);
});

test('a landing that cannot be packed is named, the run is complete, and the next one packs it', async () => {
  const place = await testProject({ workspaces: 10 });
  const { run_id } = await pullJson(place, ['--source', 'acl_policies']);
  await unpackLandings(place.folder);
  const blocked = join(place.folder, 'data', 'landing', run_id, 'nomad', 'landing.tar.part');
  await mkdir(blocked);
  place.sandbox.tick();
  const { stderr } = await place.pull(['--source', 'acl_policies']);
  expect(stderr).toMatch(/the landing \S+nomad stays unpacked: EISDIR/u);
  await rm(blocked, { recursive: true });
  place.sandbox.tick();
  await place.pull(['--source', 'acl_policies']);
  expect(await findArchives(place.folder)).toHaveLength(3);
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
