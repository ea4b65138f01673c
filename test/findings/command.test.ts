import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { emptyProject, findings, publishWarehouse } from '../helpers/findings-command.ts';
import type { FindingsWarehouse, Rows } from '../helpers/findings-warehouse.ts';
import { cleanAtEnd, tempFolder } from '../helpers/temp.ts';

const FIRST = '2026-11-18T02:15:00Z';
const LAST = '2026-11-19T02:15:00Z';
const HOSTILE = 'evil\u001b[31m\n"name" | a';

const workspace = (id: string, fields: Rows[number] = {}): Rows[number] => ({
  external_id: id,
  workspace_name: id,
  drifted: false,
  checks_failed: 0,
  checks_errored: 0,
  workspace_iac_version: '1.10.0',
  ...fields,
});

async function twoRuns(warehouse: FindingsWarehouse): Promise<void> {
  const behind = ['w1', 'w2', 'w3', 'w4', 'w5'].map((id) => workspace(id, { workspace_iac_version: '1.5.0' }));
  for (const [at, drifts] of [
    [FIRST, [workspace('gone', { drifted: true })]],
    [LAST, [workspace('late', { drifted: true, workspace_name: HOSTILE })]],
  ] as const) {
    await warehouse.pull(at, 'acme', 'workspaces', { workspaces: [...behind, ...drifts] });
    await warehouse.pull(at, 'acme', 'tf_versions', { tf_versions: [{ version: '1.10.0' }, { version: '1.5.0' }] });
    await warehouse.pull(at, 'vault', 'mesh_roles', { mesh_roles: [{ name: 'admin', token_type: 'management' }] });
    await warehouse.pull(at, 'removed', 'mesh_roles', { mesh_roles: [{ name: 'admin', token_type: 'management' }] });
    await warehouse.evaluate(at, { targets: ['acme', 'vault'] });
  }
}

const atEnd = cleanAtEnd();
/** The project of two runs. Tests that change it copy it. */
let directory: string;

beforeAll(async () => {
  directory = await emptyProject(atEnd);
  await publishWarehouse(directory, atEnd, twoRuns);
});

describe('tidemark findings', () => {
  test('shows every unresolved finding, most severe first, one line per cause, without control characters', async () => {
    const { exit, stdout } = await findings(directory, []);
    expect(exit).toBe(0);
    const lines = stdout.split('\n');
    expect(lines).toHaveLength(7);
    expect(lines[1]).toMatch(
      /^critical +open +2026-11-18 +vault +management-role +Mesh role admin issues management tokens +f-[0-9a-f]{12}$/,
    );
    expect(lines[2]).toMatch(
      /^warning +new +2026-11-19 +acme +drifted-workspace +Workspace evil \[31m "name" \| a drifts/,
    );
    expect(lines[3]).toMatch(
      /^info +open +2026-11-18 +acme +outdated-version +5 workspaces of version 1\.5\.0 are outdated \(w1, w2, w3, …\) +f-[0-9a-f]{12} \+4$/,
    );
    expect(lines[5]).toBe('7 findings in 3 lines, 1 critical');
  });

  test('shows since when a finding is resolved', async () => {
    const { stdout } = await findings(directory, ['--state', 'resolved']);
    expect(stdout).toMatch(/^warning +resolved +2026-11-19 +acme +drifted-workspace/mu);
  });

  test('prints rows with --json, with detail as an object, group and acceptance', async () => {
    const { stdout } = await findings(directory, ['--rule', 'outdated-version'], { json: true });
    const rows = JSON.parse(stdout);
    expect(rows).toHaveLength(5);
    expect(rows[0]).toMatchObject({
      target: 'acme',
      rule: 'outdated-version',
      severity: 'info',
      subject_type: 'workspace',
      subject_id: 'w1',
      state: 'open',
      detail: { workspace_id: 'w1', version: '1.5.0', newest_version: '1.10.0', behind: 'minor' },
      first_seen: FIRST,
      last_seen: LAST,
      resolved_at: null,
      times_reopened: 0,
      group_key: 'version 1.5.0',
      group_size: 5,
      accepted_until: null,
    });
  });

  test.each([
    [['--state', 'resolved'], ['gone']],
    [['--state', 'new'], ['late']],
    [['--target', 'vault'], ['admin']],
    [
      ['--target', 'vault', '--target', 'acme', '--severity', 'warning'],
      ['admin', 'late'],
    ],
    [
      ['--rule', 'management-role', '--rule', 'drifted-workspace'],
      ['admin', 'late'],
    ],
    [['--rule', 'drifted-workspace', '--rule', 'failing-checks'], ['late']],
    [
      ['--severity', 'warning'],
      ['admin', 'late'],
    ],
    [['--severity', 'critical', '--target', 'acme'], []],
    [['--state', 'accepted'], []],
  ])('%j chooses', async (args, subjects) => {
    const { stdout, exit } = await findings(directory, args, { json: true });
    expect(JSON.parse(stdout).map(({ subject_id }: { subject_id: string }) => subject_id)).toEqual(subjects);
    expect(exit).toBe(0);
  });

  test.each([
    [['--rule', 'drifted-workspaces'], 'unknown rule drifted-workspaces\n  did you mean drifted-workspace?'],
    [['--target', 'acne'], 'unknown target acne\n  did you mean acme?'],
    [['--state', 'done'], "option '--state <state>' argument 'done' is invalid"],
    [['--fail-on', 'dire'], "option '--fail-on <severity>' argument 'dire' is invalid"],
    [['accept', 'f-1'], "required option '--reason <text>' not specified"],
  ])('%j is wrong usage', async (args, words) => {
    const { exit, stderr } = await findings(directory, args);
    expect(stderr).toContain(words);
    expect(exit).toBe(2);
  });

  test('reports that there are no findings', async () => {
    expect((await findings(directory, ['--state', 'accepted'])).stdout).toBe('no findings\n');
  });

  test('that there are none is unknown, and what there are is old, where nothing was assessed for long', async () => {
    const now = '2026-11-20T14:15:01Z';
    const { stdout } = await findings(directory, ['--target', 'acme', '--severity', 'critical'], { now });
    expect(stdout).toMatch(/^unknown: .*acme: nothing assessed since 2026-11-19 02:15 UTC/u);
    const { stderr } = await findings(directory, [], { now });
    expect(stderr).toContain('warning: nothing assessed since 2026-11-19T02:15:00Z: acme, vault\n');
    expect((await findings(directory, [])).stderr).toBe('');
  });

  test.each([
    ['critical', [], 5, '1 finding critical, new or open'],
    ['warning', [], 5, '2 findings warning or worse'],
    ['info', [], 5, '7 findings info or worse'],
    ['warning', ['--rule', 'drifted-workspace'], 5, '1 finding warning or worse'],
    ['critical', ['--rule', 'drifted-workspace'], 0, ''],
    ['critical', ['--target', 'acme', '--rule', 'outdated-version'], 0, ''],
  ] as const)('--fail-on %s %j exits %i', async (severity, args, code, words) => {
    const outcome = await findings(directory, ['--fail-on', severity, ...args]);
    expect(outcome.stderr).toContain(words);
    expect(outcome.exit).toBe(code);
    if (code === 0) expect(outcome.stderr).toBe('');
  });

  test('--fail-on counts open findings, whatever state is listed', async () => {
    expect((await findings(directory, ['--fail-on', 'critical', '--state', 'resolved'])).exit).toBe(5);
  });

  test('--fail-on with --state new or open counts only those', async () => {
    const args = ['--rule', 'management-role', '--fail-on', 'critical', '--state'];
    const code = async (state: string) => (await findings(directory, [...args, state])).exit;
    expect([await code('new'), await code('open')]).toEqual([0, 5]);
  });

  test('--fail-on exits 1 where a stale source may hide findings', async () => {
    const args = ['--fail-on', 'warning', '--rule', 'failing-checks'];
    expect(await findings(directory, args, { now: '2026-11-20T14:15:00Z' })).toMatchObject({ exit: 0, stderr: '' });
    expect(await findings(directory, args, { now: '2026-11-20T14:15:01Z' })).toMatchObject({
      exit: 1,
      stderr: expect.stringContaining(
        'cannot tell whether other findings are warning or worse: acme: nothing assessed since 2026-11-19 02:15 UTC',
      ),
    });
  });
});

describe('what --fail-on cannot know', () => {
  const publish = async (play: (warehouse: FindingsWarehouse) => Promise<void>) => {
    const folder = await emptyProject();
    await publishWarehouse(folder, onTestFinished, play);
    return (...args: readonly string[]) => findings(folder, ['--fail-on', ...args]);
  };
  const gate = async (play: (warehouse: FindingsWarehouse) => Promise<void>) => (await publish(play))('critical');

  test('a source whose last pull failed, and a target that was never pulled', async () => {
    const { exit, stderr } = await gate(async (warehouse) => {
      await warehouse.pull(FIRST, 'vault', 'mesh_roles');
      await warehouse.evaluate(FIRST);
      await warehouse.fail(LAST, 'vault', 'mesh_roles');
      await warehouse.evaluate(LAST);
    });
    expect(stderr).toContain('acme: never pulled; vault: mesh_roles is failed');
    expect(exit).toBe(1);
  });

  test('nothing, where only sources fail whose findings never reach the severity', async () => {
    const failOn = await publish(async (warehouse) => {
      await warehouse.pull(LAST, 'vault', 'mesh_roles');
      await warehouse.pull(LAST, 'acme', 'agents');
      await warehouse.pull(LAST, 'acme', 'agent_pools');
      await warehouse.pull(LAST, 'acme', 'saved_views');
      await warehouse.fail(LAST, 'acme', 'saved_view_rows');
      await warehouse.evaluate(LAST);
    });
    const { exit, stderr } = await failOn('critical', '--rule', 'management-role', '--rule', 'dead-saved-view');
    expect(stderr).toMatch(
      /^warning: acme: not assessed since 2026-11-19: .*\bdead-saved-view\b.*: source saved_view_rows is failed\n$/u,
    );
    expect(exit).toBe(0);
  });

  test('a source that was never pulled of a target that has it', async () => {
    const failOn = await publish(async (warehouse) => {
      await warehouse.pull(LAST, 'vault', 'mesh_roles');
      await warehouse.evaluate(LAST);
    });
    expect(await failOn('info', '--rule', 'management-role', '--rule', 'retired-key')).toMatchObject({
      exit: 1,
      stderr: expect.stringContaining('vault: never pulled: key_distributions, keys'),
    });
  });

  test('a target that was never pulled matters only to rules about its own sources', async () => {
    const failOn = await publish(async (warehouse) => {
      await warehouse.pull(LAST, 'vault', 'mesh_roles');
      await warehouse.evaluate(LAST);
    });
    expect(await failOn('critical', '--rule', 'management-role')).toMatchObject({ exit: 0, stderr: '' });
    const drift = await failOn('warning', '--rule', 'drifted-workspace');
    expect(drift).toMatchObject({ exit: 1, stderr: expect.stringContaining('acme: never pulled') });
    expect(await failOn('critical', '--rule', 'drifted-workspace')).toMatchObject({ exit: 0, stderr: '' });
  });

  test('a source that several kinds of targets have', async () => {
    const folder = await emptyProject();
    const file = join(folder, 'tidemark.yaml');
    await writeFile(file, (await readFile(file, 'utf8')).replaceAll('token: t', 'token: t, flavor: hashicorp'));
    await publishWarehouse(folder, onTestFinished, async (warehouse) => {
      await warehouse.fail(LAST, 'vault', 'tokens');
      await warehouse.evaluate(LAST);
    });
    const { exit, stderr } = await findings(folder, ['--fail-on', 'critical', '--rule', 'token-expires']);
    expect(stderr).toContain('acme: never pulled; vault: tokens is failed');
    expect(exit).toBe(1);
  });

  test('a rule that was never assessed', async () => {
    const { exit, stderr } = await gate(async (warehouse) => {
      await warehouse.pull(LAST, 'vault', 'mesh_roles');
      await warehouse.pull(LAST, 'acme', 'agents');
    });
    expect(stderr).toContain('vault: management-role never assessed');
    expect(exit).toBe(1);
  });

  test('shows the name of a part that is unknown without control characters', async () => {
    const project = await emptyProject();
    await publishWarehouse(project, onTestFinished, async (warehouse) => {
      await warehouse.pull(LAST, 'vault', 'mesh_roles');
      const parts = JSON.stringify([{ column: 'mount', value: HOSTILE, reason: 'sealed' }]);
      await warehouse.database.run(`update pulls set status = 'partial', unknown_parts = $parts::json`, { parts });
      await warehouse.evaluate(LAST, { targets: ['vault'] });
    });
    const { stdout } = await findings(project, ['--target', 'vault', '--rule', 'management-role']);
    expect(stdout).toMatch(/^unknown: vault: management-role: mount evil\[31m.* is unknown: sealed\n$/su);
  });

  test('a rule that was added since the last evaluation has no result yet', async () => {
    const project = await tempFolder();
    await cp(directory, project, { recursive: true });
    await mkdir(join(project, 'queries/findings'), { recursive: true });
    await writeFile(
      join(project, 'queries/findings/added.sql'),
      `-- rule: Added.
-- severity: info
-- sources: workspaces
-- subject: workspace
select target, external_id as subject_id, external_id as title from workspaces where false`,
    );
    const { stdout } = await findings(project, ['--rule', 'added']);
    expect(stdout).toBe('unknown: acme: added never assessed\n');
    expect((await findings(project, ['--rule', 'added', '--state', 'accepted'])).stdout).toBe('no findings\n');
  });
});

describe('tidemark findings accept', () => {
  const copyProject = async () => {
    const folder = await tempFolder();
    await cp(directory, folder, { recursive: true });
    return folder;
  };

  test('accepts findings until a day, publishes it, and lets --fail-on pass until then', async () => {
    const folder = await copyProject();
    const [role] = JSON.parse((await findings(folder, ['--rule', 'management-role'], { json: true })).stdout);
    const accept = [
      'accept',
      role.finding_id,
      '--reason',
      'break glass',
      '--owner',
      'security',
      '--until',
      '2026-11-20',
    ];
    expect(await findings(folder, accept)).toMatchObject({
      exit: 0,
      stdout: `accepted until 2026-11-20T00:00:00Z: ${role.finding_id}\n`,
    });

    expect((await findings(folder, ['--target', 'vault'])).stdout).toContain('accepted until 2026-11-20  2026-11-19');
    expect((await findings(folder, ['explain', role.finding_id])).stdout).toContain('accepted since 2026-11-19T');
    const gate = ['--fail-on', 'critical', '--target', 'vault', '--rule', 'management-role'];
    expect(await findings(folder, gate, { now: '2026-11-19T23:59:59Z' })).toMatchObject({ exit: 0 });
    expect(await findings(folder, gate, { now: '2026-11-20T00:00:00Z' })).toMatchObject({ exit: 5 });
  });

  test('refuses an unknown ID, an invalid or past date, and empty text', async () => {
    const folder = await copyProject();
    const [role] = JSON.parse((await findings(folder, ['--rule', 'management-role'], { json: true })).stdout);
    const accept = (id: string, until: string, owner = 'me') =>
      findings(folder, ['accept', id, '--reason', 'why', '--owner', owner, '--until', until]);
    expect(await accept('f-000000000000', '2027-01-01')).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining('unknown finding f-000000000000'),
    });
    expect(await accept(role.finding_id, 'friday')).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining("'friday' is invalid. must be a timestamp"),
    });
    expect(await accept(role.finding_id, '2026-11-19')).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining('has passed'),
    });
    expect(await accept(role.finding_id, '2027-01-01', ' ')).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining('must not be empty'),
    });
  });

  test('without a warehouse there is nothing to accept, and none is created', async () => {
    const folder = await emptyProject();
    expect(
      await findings(folder, ['accept', 'f-1', '--reason', 'a', '--owner', 'b', '--until', '2027-01-01']),
    ).toMatchObject({
      exit: 3,
      stderr: expect.stringContaining('there is no warehouse yet'),
    });
  });
});
