import { expect, test } from 'vitest';
import { createFindingsWarehouse } from '../helpers/findings-warehouse.ts';

const NOW = '2026-11-20T02:15:00Z';

const used = (name: string, version: string | null, ...workspaces: readonly string[]) => ({
  name,
  source: 'registry/x',
  version,
  workspaces: workspaces.join(', '),
  workspace_count: workspaces.length,
});

test.each([
  ['module-sprawl', 'modules', 'module'],
  ['provider-sprawl', 'providers', 'provider'],
])('%s: a workspace uses an older version than the newest one in use', async (rule, table, what) => {
  const warehouse = await createFindingsWarehouse();
  await warehouse.pull(NOW, 'acme', table, {
    [table]: [
      used('net', '2.0.0', 'newest'),
      used('net', '1.10.0', 'older', 'oldest'),
      used('net', '1.9.0', 'oldest'),
      used('net', '2.1.0-rc1', 'ahead'),
      used('net', 'main', 'branch'),
      used('net', null, 'unversioned'),
      used('single', '1.0.0', 'alone'),
      { ...used('net', '1.10.0', 'another'), source: 'registry/y' },
    ],
  });
  const same = [used('net', '1.10.0', 'elsewhere')];
  await warehouse.pull(NOW, 'other', table, { [table]: same });
  const others = table === 'modules' ? 'providers' : 'modules';
  await warehouse.pull(NOW, 'acme', others, { [others]: same });
  await warehouse.evaluate(NOW);
  expect((await warehouse.seen(rule)).found).toEqual([
    'branch net registry/x',
    'older net registry/x',
    'oldest net registry/x',
  ]);
  expect(await warehouse.findings(rule)).toMatchObject([
    { title: `Workspace branch uses ${what} net main; the newest in use is 2.0.0` },
    { title: `Workspace older uses ${what} net 1.10.0; the newest in use is 2.0.0` },
    { title: `Workspace oldest uses ${what} net 1.9.0, 1.10.0; the newest in use is 2.0.0` },
  ]);
});

const LATER = '2026-11-21T02:15:00Z';

test('a note about a module ends as deleted with its workspace, or with its name, and as resolved where the workspace moved on', async () => {
  const warehouse = await createFindingsWarehouse();
  const night = async (at: string, modules: readonly ReturnType<typeof used>[], ...names: readonly string[]) => {
    const workspaces = names.map((name) => ({ external_id: `ws-${name.slice(0, 4)}`, workspace_name: name }));
    await warehouse.pull(at, 'acme', 'workspaces', { workspaces });
    await warehouse.pull(at, 'acme', 'modules', { modules });
    return warehouse.evaluate(at);
  };
  const older = used('net', '1.0.0', 'gone', 'moved', 'name');
  await night(NOW, [used('net', '2.0.0', 'newest'), older], 'newest', 'gone', 'moved', 'name');
  const renamed = used('net', '1.0.0', 'name2');
  await night(LATER, [used('net', '2.0.0', 'newest', 'moved'), renamed], 'newest', 'moved', 'name2');
  const events = await warehouse.database.rows(
    `select subject_name, reason from finding_events join findings using (finding_id)
     where findings.rule = 'module-sprawl' and changed_at = timestamptz '${LATER}' order by 1`,
  );
  expect(events).toEqual([
    { subject_name: 'gone', reason: 'deleted' },
    { subject_name: 'moved', reason: 'gone' },
    { subject_name: 'name', reason: 'deleted' },
    { subject_name: 'name2', reason: 'found' },
  ]);
});

/** More workspaces are counted than named. */
const cut = (name: string, version: string, count: number, ...workspaces: readonly string[]) => ({
  ...used(name, version, ...workspaces),
  workspace_count: count,
});

test.each([
  ['module-sprawl', 'modules'],
  ['provider-sprawl', 'providers'],
])('%s: a workspace that is not named while more are counted is not known to be up to date', async (rule, table) => {
  const warehouse = await createFindingsWarehouse();
  const newest = [used('net', '2.0.0', 'a'), used('dns', '2.0.0', 'a')];
  await warehouse.pull(NOW, 'acme', table, {
    [table]: [...newest, used('net', '1.0.0', 'b', 'c'), used('dns', '1.0.0', 'b', 'c')],
  });
  await warehouse.evaluate(NOW);
  await warehouse.pull(LATER, 'acme', table, {
    [table]: [...newest, cut('net', '1.0.0', 2, 'c'), cut('dns', '1.0.0', 1, 'c')],
  });
  await warehouse.evaluate(LATER);
  expect(await warehouse.findings(rule)).toMatchObject([
    { subject_id: 'b dns registry/x', state: 'resolved' },
    { subject_id: 'b net registry/x', state: 'open', unassessed_since: expect.any(String) },
    { subject_id: 'c dns registry/x', state: 'open', unassessed_since: null },
    { subject_id: 'c net registry/x', state: 'open', unassessed_since: null },
  ]);
  await warehouse.pull('2026-11-22T02:15:00Z', 'acme', table, { [table]: [...newest, cut('net', '1.0.0', 2)] });
  await warehouse.evaluate('2026-11-22T02:15:00Z');
  expect((await warehouse.findings(rule)).filter(({ unassessed_since }) => unassessed_since !== null)).toMatchObject([
    { subject_id: 'b net registry/x' },
    { subject_id: 'c net registry/x' },
  ]);
});

test.each([
  ['module-sprawl', 'modules'],
  ['provider-sprawl', 'providers'],
])('%s: a workspace whose version is no longer reported is not known to be up to date', async (rule, table) => {
  const warehouse = await createFindingsWarehouse();
  const newest = used('net', '2.0.0', 'a');
  await warehouse.pull(NOW, 'acme', table, { [table]: [newest, used('net', '1.0.0', 'b', 'c', 'd')] });
  await warehouse.evaluate(NOW);
  await warehouse.pull(LATER, 'acme', table, {
    [table]: [used('net', '2.0.0', 'a', 'd'), used('net', '1.0.0', 'c'), used('net', null, 'b', 'c')],
  });
  await warehouse.evaluate(LATER);
  expect(await warehouse.findings(rule)).toMatchObject([
    { subject_id: 'b net registry/x', state: 'open', unassessed_since: expect.any(String) },
    { subject_id: 'c net registry/x', state: 'open', unassessed_since: null, detail: { versions: ['1.0.0'] } },
    { subject_id: 'd net registry/x', state: 'resolved' },
  ]);
});

test.each([
  ['module-sprawl', 'modules', 'source'],
  ['module-sprawl', 'modules', 'name'],
  ['provider-sprawl', 'providers', 'source'],
])('%s: without its name or source, a row may be of any, and of any version', async (rule, table, lacks) => {
  const warehouse = await createFindingsWarehouse();
  const newest = [used('net', '2.0.0', 'a'), { ...used('dns', '2.0.0', 'a'), source: 'registry/dns' }];
  const older = [used('net', '1.0.0', 'b'), { ...used('dns', '1.0.0', 'b'), source: 'registry/dns' }];
  await warehouse.pull(NOW, 'acme', table, { [table]: [...newest, ...older] });
  await warehouse.evaluate(NOW);
  await warehouse.pull(LATER, 'acme', table, {
    [table]: [...newest, { ...older[0], version: '1.1.0', [lacks]: null }],
  });
  await warehouse.evaluate(LATER);
  expect(await warehouse.findings(rule)).toMatchObject([
    { subject_id: 'b dns registry/dns', state: 'resolved' },
    { subject_id: 'b net registry/x', state: 'open', unassessed_since: expect.any(String) },
  ]);
});

test('a list that is split at its commas names no workspace without a name, and counts none as named', async () => {
  const warehouse = await createFindingsWarehouse();
  const night = async (at: string, list: string) => {
    const modules = [used('net', '2.0.0', 'a'), { ...used('net', '1.0.0', list), workspace_count: 3 }];
    await warehouse.pull(at, 'acme', 'modules', { modules });
    await warehouse.evaluate(at);
  };
  await night(NOW, 'b,d,c');
  await night(LATER, 'b,,c');
  const found = await warehouse.findings('module-sprawl');
  expect(found.map(({ subject_id, unassessed_since }) => [subject_id, unassessed_since !== null])).toEqual([
    ['b net registry/x', false],
    ['c net registry/x', false],
    ['d net registry/x', true],
  ]);
});

test('a row of the newest version that counts more workspaces than it names keeps no finding: who uses it is not behind', async () => {
  const warehouse = await createFindingsWarehouse();
  const newest = (...names: readonly string[]) => ({ ...used('net', '2.0.0', ...names), workspace_count: 900 });
  await warehouse.pull(NOW, 'acme', 'modules', { modules: [newest('a'), used('net', '1.0.0', 'b', 'c')] });
  await warehouse.evaluate(NOW);
  await warehouse.pull(LATER, 'acme', 'modules', { modules: [newest('a', 'b'), used('net', '1.0.0', 'c')] });
  await warehouse.evaluate(LATER);
  expect(await warehouse.findings('module-sprawl')).toMatchObject([
    { subject_id: 'b net registry/x', state: 'resolved' },
    { subject_id: 'c net registry/x', state: 'open' },
  ]);
});
