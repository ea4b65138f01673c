import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openDatabase } from '../../src/warehouse/database.ts';
import { cli } from '../helpers/cli.ts';
import { prepareOnce } from '../helpers/prepared.ts';
import { createReportWarehouse, workspace } from '../helpers/report-warehouse.ts';
import { tempFolder } from '../helpers/temp.ts';

const night = (day: number) => `2026-11-${String(day).padStart(2, '0')}T02:15:00Z`;
const RULES = Array.from({ length: 12 }, (_, index) => `namespace "n${index}" {\n  policy = "read"\n}`).join('\n');
const encode = (text: string) => Buffer.from(text).toString('base64');

/** Three nights: workspaces of two projects change, a policy and a role in the last; the last pull of the agents failed. */
const prepareNights = () =>
  prepareOnce('diff', async (created) => {
    const warehouse = await createReportWarehouse();
    const place = { project_external_id: 'prj-pay', project_name: 'payments' };
    const role = (policy: string) => ({ name: 'ops', mount: 'mesh', policy: encode(policy) });
    const agent = (status: string) => ({ agent_id: 'agent-1', pool_id: 'apool-1', name: 'runner', status });
    await warehouse.pull(night(1), {
      workspaces: [workspace('a'), workspace('b', place), workspace('gone')],
      acl_policies: [{ name: 'ops', create_index: 7, rules: RULES }],
      mesh_roles: [role('key "x" {\n  policy = "write"\n}')],
      agents: [agent('idle')],
    });
    await warehouse.pull(night(2), {
      workspaces: [workspace('a', { drifted: true }), workspace('b', place), workspace('gone')],
    });
    await warehouse.pull(night(3), {
      workspaces: [
        workspace('a', { drifted: true, resources_drifted: 3, ...place }),
        workspace('b', { ...place, workspace_name: 'b\u001b[31m\n`x`', extra: { tags: ['new'] } }),
        workspace('late', { workspace_name: 'gone' }),
      ],
      acl_policies: [
        {
          name: 'ops',
          create_index: 7,
          rules: RULES.replace('"n6" {\n  policy = "read"', '"n6" {\n  policy = "write"'),
        },
      ],
      mesh_roles: [role('key "x" {\n  policy = "read"\n}')],
      agents: 'failed',
    });
    await warehouse.database.run(
      `insert into actions by name select 'acme' as target, 'p-17' as plan_id, 'a1' as action_id, 'downgrade' as playbook,
       'secrets.mesh-roles.write' as operation, '{"name": "ops", "mount": "mesh"}'::json as params, 'f' as finding_id, 'applied' as status,
       'A. Reviewer' as approved_by, timestamptz '${night(2)}' as started_at`,
    );
    await warehouse.database.run('checkpoint');
    await copyFile(warehouse.file, join(created, 'warehouse.duckdb'));
  });

async function project(change?: (file: string) => Promise<void>) {
  const folder = await tempFolder();
  const file = join(folder, 'data', 'warehouse.duckdb');
  await mkdir(join(folder, 'data'), { recursive: true });
  await copyFile(join(await prepareNights(), 'warehouse.duckdb'), file);
  await change?.(file);
  await writeFile(
    join(folder, 'tidemark.yaml'),
    'targets: [{ name: acme, kind: platform, url: "https://tidemark.test", organization: acme, token: "x" }]\n',
  );
  return (...words: string[]) => cli(['diff', '--now', '2026-11-03T12:00:00Z', ...words], { cwd: folder });
}

/** A warehouse that a version published which knew neither a table nor a column. */
async function publishEarlier(file: string): Promise<void> {
  const database = await openDatabase(file);
  for (const sql of [
    'drop table authority_certificates_history',
    'alter table agents_history drop column ip_address',
    'drop view if exists changes',
  ]) {
    await database.run(sql);
  }
  database.close();
}

describe('tidemark diff', () => {
  test('reads a warehouse of an earlier version, which lacks a table and a column', async () => {
    const diff = await project(publishEarlier);
    const { exit, stderr, stdout } = await diff();
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' });
    expect(stdout).toContain('acl_policies, acme');
  });

  test('shows the last two complete pulls by table and subject, and what has no answer', async () => {
    const { exit, stdout, stderr } = await (await project())();
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' });
    expect(stdout).toMatchInlineSnapshot(`
      "2026-11-02T02:15:00Z to 2026-11-03T02:15:00Z

      acl_policies, acme
        ~ ops
            ~ rules:
                @@ -17 +17 @@
                  policy = "read"
                }
                namespace "n6" {
            -     policy = "read"
            +     policy = "write"
                }
                namespace "n7" {
                  policy = "read"

      mesh_roles, acme
        ~ ops (mesh/ops), by plan p-17
            ~ policy:
                key "x" {
            -     policy = "write"
            +     policy = "read"
                }

      workspaces, acme
        ~ a (ws-a) moved from core to payments
            ~ resources_drifted: 0 -> 3
            ~ project_external_id: "prj-core" -> "prj-pay"
            ~ project_name: "core" -> "payments"
        ~ b[31m \`x\` (ws-b) was b
            + extra.tags: ["new"]
            ~ workspace_name:
            -   b
            +   b[31m
            +   \`x\`
        - gone (ws-gone)
        + gone (ws-late) is another one: ws-late, after ws-gone was gone

      1 new, 1 gone, 1 renamed, 1 moved, 4 changed; 1 of 9 changes by plans
      ? acme: acl_policies, mesh_roles: compared with 2026-11-01T02:15:00Z: not loaded in the first pull
      ? acme: agents: no answer since 2026-11-01T02:15:00Z: failed: the service answered 502
      "
    `);
  });

  test('prints the rows of changes as JSON, and warns of what has no answer', async () => {
    const { stdout, stderr } = await (await project())('--json', '--table', 'workspaces', '--subject', 'ws-a');
    expect(JSON.parse(stdout)).toEqual(
      [
        ['moved', 'project_external_id', 'prj-core', 'prj-pay'],
        ['moved', 'project_name', 'core', 'payments'],
        ['changed', 'resources_drifted', '0', '3'],
      ]
        .sort()
        .map(([change, column, old, current]) => ({
          at: night(3),
          target: 'acme',
          table: 'workspaces',
          key: 'ws-a',
          name: 'a',
          change,
          column,
          old,
          new: current,
        })),
    );
    expect(stderr).toBe('');
    expect((await (await project())('--json', '--table', 'agents')).stderr).toContain(
      'acme: agents: no answer since 2026-11-01T02:15:00Z: failed',
    );
  });

  test('says that the configuration left a source out, which had an answer before', async () => {
    const run = await project(async (file) => {
      const database = await openDatabase(file);
      const at = `source = 'workspaces' and as_of = '${night(2)}'`;
      await database.run(`update pulls set status = 'left-out' where ${at}`);
      database.close();
    });
    const { stdout } = await run('2026-11-02', '2026-11-03', '--table', 'workspaces');
    expect(stdout).toContain('? acme: workspaces: the configuration left it out at the earlier time\n');
  });

  test('takes names of moments, and counts with --stat', async () => {
    const run = await project();
    expect((await run('-2d', 'now', '--stat')).stdout).toMatchInlineSnapshot(`
      "2026-11-01T02:15:00Z to 2026-11-03T02:15:00Z: 1 new, 1 gone, 1 renamed, 1 moved, 4 changed; 1 of 10 changes by plans
      TABLE         TARGET  NEW  GONE  BACK  RENAMED  MOVED  CHANGED
      acl_policies  acme                                     1
      mesh_roles    acme                                     1
      workspaces    acme    1    1           1        1      2
      ? acme: agents: no answer since 2026-11-01T02:15:00Z: failed: the service answered 502
      "
    `);
    expect((await run('2026-11-01', '2026-11-02', '--table', 'workspaces')).stdout).toContain(
      '~ drifted: false -> true',
    );
  });

  test('of two moments without a pull in between, nothing is known', async () => {
    const run = await project();
    const { stdout } = await run('2026-11-03', '2026-11-04', '--table', 'workspaces', '--now', '2026-11-05T12:00:00Z');
    expect(stdout).toContain('? acme: workspaces: no answer since 2026-11-03T02:15:00Z: not pulled\n');
  });

  test('selects a project and a target', async () => {
    const run = await project();
    const { stdout } = await run('--json', '--project', 'payments');
    expect([...new Set((JSON.parse(stdout) as { key: string }[]).map(({ key }) => key))]).toEqual(['ws-a', 'ws-b']);
    expect((await run('--target', 'acme', '--stat')).stdout).toContain('acl_policies');
    const both = (await run('--table', 'workspaces', '--table', 'acl_policies', '--stat')).stdout;
    expect(both).toContain('acl_policies');
    expect(both).toContain('workspaces');
  });

  test('writes Markdown whose values are no markup', async () => {
    expect((await (await project())('--format', 'markdown', '--project', 'payments')).stdout).toMatchInlineSnapshot(`
      "## 2026-11-02T02:15:00Z to 2026-11-03T02:15:00Z

      1 renamed, 1 moved, 2 changed

      ### \`workspaces\`, \`acme\`

      - **changed** \`a (ws-a)\` \`moved from core to payments\`
        - \`resources_drifted: 0 -> 3\`
        - \`project_external_id: "prj-core" -> "prj-pay"\`
        - \`project_name: "core" -> "payments"\`
      - **changed** \`\` b[31m \`x\` (ws-b) \`\` \`was b\`
        - \`extra.tags: ["new"]\`

        \`\`\`diff
        ~ workspace_name:
        -   b
        +   b[31m
        +   \`x\`
        \`\`\`


      ### Not known

      - \`acme: acl_policies, mesh_roles: compared with 2026-11-01T02:15:00Z: not loaded in the first pull\`
      - \`acme: agents: no answer since 2026-11-01T02:15:00Z: failed: the service answered 502\`
      "
    `);
  });
});

describe('the exit code', () => {
  test.each([
    [0, ['--table', 'workspaces']],
    [5, ['--table', 'workspaces', '--exit-code']],
    [0, ['--table', 'mesh_roles', '2026-11-01', '2026-11-01']],
    [0, ['--table', 'workspaces', '2026-11-02', '2026-11-02', '--exit-code']],
    [1, ['--table', 'mesh_roles', '2026-11-02', '2026-11-02', '--exit-code']],
    [1, ['--table', 'agents', '--exit-code']],
    [1, ['--table', 'workspaces', '-1h', '--exit-code']],
    [0, ['--table', 'workspaces', '--subject', 'ws-b', '2026-11-01', '2026-11-02', '--exit-code']],
  ])('is %d for %j', async (expected, words) => {
    const { exit, stderr } = await (await project())(...words);
    expect({ exit, stderr }).toEqual({ exit: expected, stderr: '' });
  });

  test('is 1 after the first night: nothing is known to compare with', async () => {
    const diff = await project(async (file) => {
      const database = await openDatabase(file);
      await database.run(`delete from pulls where as_of > '${night(1)}'`);
      database.close();
    });
    expect(await diff()).toMatchObject({ exit: 1, stderr: 'error: there are no two complete pulls to compare\n' });
  });

  test('is 1 where the runs since the first moment failed: they loaded nothing', async () => {
    const diff = await project(async (file) => {
      const database = await openDatabase(file);
      await database.run(`update pulls set status = 'failed', error = 'refused' where as_of = '${night(3)}'`);
      database.close();
    });
    const words = ['-1h', '--table', 'workspaces', '--exit-code'];
    expect(await diff(...words)).toMatchObject({ exit: 1, stdout: expect.stringContaining('? acme: workspaces') });
  });

  test.each([
    [['--table', 'workspace'], 'unknown table workspace'],
    [['--table', 'autoscaler_metrics'], 'unknown table autoscaler_metrics'],
    [['--target', 'acne'], 'did you mean acme?'],
    [['--project', 'payment'], 'unknown project payment'],
    [['--subject', 'nobody'], 'nothing has the name or ID nobody'],
    [['2026-11-03', '2026-11-01'], 'is after'],
    [['2026-11-03T06:00', '2026-11-03T05:00'], 'is after'],
    [['--stta'], 'unknown option --stta'],
    [['2026-10-01'], 'is before the first pull'],
  ])('is 2 for %j', async (words, message) => {
    const { exit, stdout, stderr } = await (await project())(...words);
    expect({ exit, stdout }).toEqual({ exit: 2, stdout: '' });
    expect(stderr).toContain(message);
  });
});
