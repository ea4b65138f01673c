import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { FaultHook } from '../../sandbox/router.ts';
import type { Plan } from '../../src/act/plan-file.ts';
import { openDatabase } from '../../src/warehouse/database.ts';
import { recordFingerprint, warehouseFiles } from '../../src/warehouse/publish.ts';
import { findTarget, type TestProject, testProject } from '../helpers/test-project.ts';

const SOURCE = ['--target', 'vault', '--source', 'mesh_roles'];
const ADMIN = { token_type: 'management', consul_policies: ['ops'] };
const ENGINES = { data: { secret: { 'consul/': { type: 'consul' }, 'team/consul-b/': { type: 'consul' } } } };

type Answer = ReturnType<FaultHook>;
const json = (body: unknown, status = 200): Answer => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});

interface Second {
  project: TestProject;
  /** What the second engine answers instead of its roles. */
  state: { answer?: Answer };
}

/** A service with two Consul engines, each with the role `legacy-admin`. */
async function twoEngines(mounts: unknown = { mesh: ['consul', 'team/consul-b'] }): Promise<Second> {
  const state: Second['state'] = {};
  const project = await testProject({
    workspaces: 2,
    flavor: 'hashicorp',
    faultHook: ({ path }, { kind }) => {
      if (kind !== 'secrets') return undefined;
      if (path === '/v1/sys/internal/ui/mounts') return json(ENGINES);
      if (!path.startsWith('/v1/team/consul-b/')) return undefined;
      if (state.answer) return state.answer;
      if (/\/roles\/?$/u.test(path)) return json({ data: { keys: ['legacy-admin', 'only-b'] } });
      return json({ data: path.endsWith('/legacy-admin') ? ADMIN : { ...ADMIN, token_type: 'client' } });
    },
  });
  await project.configure((config) => {
    findTarget(config, 'vault').mounts = mounts;
  });
  return { project, state };
}

const VERSIONS = 'select * from mesh_roles_history order by mount, name, valid_from';

test('a list of mounts is read in full, and a name that two mounts have is two rows and two findings', async () => {
  const { project, state } = await twoEngines();
  state.answer = json({ data: { keys: [] } });
  await project.pull(SOURCE);
  delete state.answer;
  await project.pull(SOURCE);
  expect(
    await project.rows("select mount, name from mesh_roles where name in ('legacy-admin', 'only-b') order by 1, 2"),
  ).toEqual([
    { mount: 'consul', name: 'legacy-admin' },
    { mount: 'team/consul-b', name: 'legacy-admin' },
    { mount: 'team/consul-b', name: 'only-b' },
  ]);
});

const ANSWERS: Readonly<Record<string, Answer>> = {
  'is refused': json({ errors: ['1 error occurred: permission denied'] }, 403),
  'is gone': json({ errors: ["no handler for route 'team/consul-b/roles/'"] }, 404),
  'does not work': json({ errors: ['plugin process exited'] }, 500),
  'shows a login page': {
    status: 200,
    headers: { 'content-type': 'text/html' },
    body: '<!doctype html><title>Log in</title>',
  },
};

describe.each(Object.entries(ANSWERS))('where one of two mounts %s', (_, answer) => {
  test('the pull is partial, and its rows stay as they are', async () => {
    const { project, state } = await twoEngines();
    await project.pull(SOURCE);
    const before = await project.rows(VERSIONS);
    expect(before.filter(({ mount }) => mount === 'team/consul-b')).toHaveLength(2);
    state.answer = answer;
    project.sandbox.services.secrets.state.roles.delete('legacy-admin');
    await project.pull(SOURCE, 1);
    expect(await project.rows("select part, value from unknown_parts where source = 'mesh_roles'")).toEqual([
      { part: 'mount', value: 'team/consul-b' },
    ]);
    const after = await project.rows(VERSIONS);
    const ended = before.find(({ mount, name }) => mount === 'consul' && name === 'legacy-admin');
    expect(after.filter((row) => row.mount !== 'consul')).toEqual(before.filter((row) => row.mount !== 'consul'));
    expect(after.find(({ mount, name }) => mount === 'consul' && name === 'legacy-admin')).toMatchObject({
      name: ended?.name,
      valid_to: expect.anything(),
    });
  });
});

test('rows of a version that knew no mounts keep their versions, and are of the first mount', async () => {
  const { project } = await twoEngines({ mesh: 'consul' });
  await project.pull(SOURCE);
  const before = await project.rows(VERSIONS);
  const { work } = warehouseFiles(`${project.folder}/data`);
  const database = await openDatabase(work);
  await database.run('drop view mesh_roles');
  await database.run('drop macro table mesh_roles_at');
  await database.run('drop macro table mesh_roles_before');
  await database.run('alter table mesh_roles_history drop column mount');
  await database.run('delete from schema_digest');
  database.close();
  await recordFingerprint(work);
  await project.configure((config) => {
    findTarget(config, 'vault').mounts = { mesh: ['consul', 'team/consul-b'] };
  });
  const { pulls } = (await project.pull(SOURCE)).json<{ pulls: readonly object[] }>();
  expect(pulls).toMatchObject([{ inserted: 2, changed: 0, deleted: 0 }]);
  const after = await project.rows(VERSIONS);
  expect(after.filter(({ mount }) => mount === 'consul')).toEqual(before);
});

test('findings name the mount, keep the ID of a name that is unique, and a plan changes the role of its mount', async () => {
  const { project } = await twoEngines();
  await mkdir(join(project.folder, 'jobs'));
  await writeFile(join(project.folder, 'jobs', 'nightly.yaml'), 'pull: [mesh_roles]\n');
  const findings = () =>
    project.rows(
      "select subject_id, title from findings where rule = 'management-role' and state <> 'resolved' order by subject_id",
    );
  await project.configure((config) => {
    findTarget(config, 'vault').mounts = { mesh: 'consul' };
  });
  await project.tidemark(['run', 'nightly']);
  expect(await findings()).toContainEqual({
    subject_id: 'legacy-admin',
    title: 'Mesh role legacy-admin issues management tokens',
  });
  await project.configure((config) => {
    findTarget(config, 'vault').mounts = { mesh: ['consul', 'team/consul-b'] };
  });
  await project.tidemark(['run', 'nightly']);
  const found = await findings();
  expect(found.map(({ subject_id }) => subject_id)).toEqual(
    expect.arrayContaining(['consul/legacy-admin', 'team/consul-b/legacy-admin']),
  );
  expect(found).toContainEqual({
    subject_id: 'team/consul-b/legacy-admin',
    title: 'Mesh role legacy-admin of mount team/consul-b issues management tokens',
  });
  const page = await project.tidemark(['report', 'keys', '--json']);
  expect(page.stdout).toContain('team/consul-b/legacy-admin');
  const words = ['playbook', 'plan', 'downgrade-management-roles', '--max-percent', '100', '--json'];
  const { stdout, stderr } = await project.tidemark(words);
  const { actions } = JSON.parse(stdout || stderr) as Plan;
  expect(actions.map(({ params }) => params)).toContainEqual({ name: 'legacy-admin', mount: 'team/consul-b' });
});

test('api takes a mount of the target, and no other path', async () => {
  const { project } = await twoEngines();
  const list = (mount: string) => project.tidemark(['api', 'secrets.mesh-roles.list', `mount=${mount}`]);
  expect((await list('team/consul-b')).stdout).toContain('only-b');
  expect(await list('sys')).toMatchObject({
    exit: 2,
    stderr: expect.stringContaining('must be a mount of the target: consul, team/consul-b'),
  });
});

test('permissions name the roles of every mount', async () => {
  const { project } = await twoEngines();
  const { stdout } = await project.tidemark([
    'permissions',
    '--target',
    'vault',
    '--playbook',
    'downgrade-management-roles',
  ]);
  for (const path of ['consul/roles', 'consul/roles/+', 'team/consul-b/roles', 'team/consul-b/roles/+']) {
    expect(stdout).toContain(`path "${path}"`);
  }
});

test('doctor names an engine that is not configured', async () => {
  const { project } = await twoEngines({ mesh: 'consul' });
  const { stdout } = await project.tidemark(['doctor']);
  expect(stdout).toMatch(/mesh_roles +permitted; other .* not read: `mounts: \{ mesh: \[consul, team\/consul-b\] \}`/u);
});
