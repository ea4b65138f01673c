import { expect, test } from 'vitest';
import { createMailWarehouse, type MailWarehouse, mailConfig, NIGHTLY, PLATFORM } from '../helpers/mail-warehouse.ts';
import { type PulledTables, workspace } from '../helpers/report-warehouse.ts';
import { share } from '../helpers/temp.ts';
import { FIRST, SECOND, THIRD } from './digest-runs.ts';

const place = { project_external_id: 'prj-pay', project_name: 'payments' };

/** Two runs, between which a plan changed a policy. No test changes it. */
const changed = share(async (cleanup): Promise<MailWarehouse> => {
  const warehouse = await createMailWarehouse(undefined, undefined, cleanup);
  const policy = (rules: string) => [{ name: 'ops', create_index: 1, rules }];
  await warehouse.pull(FIRST, {
    workspaces: [workspace('a'), workspace('b', place), workspace('gone')],
    acl_policies: policy('write'),
  });
  await warehouse.evaluate(FIRST);
  await warehouse.database.run(
    `insert into actions by name select 'acme' as target, 'p-17' as plan_id, 'a1' as action_id, 'trim' as playbook,
     'scheduler.policies.write' as operation, '{"policy_name": "ops"}'::json as params, 'f' as finding_id, 'applied' as status,
     timestamptz '${FIRST}' as started_at`,
  );
  await warehouse.pull(SECOND, {
    workspaces: [
      workspace('a', { current_rum_count: 11 }),
      workspace('b', { ...place, workspace_name: 'c' }),
      workspace('new'),
    ],
    acl_policies: policy('read'),
  });
  await warehouse.evaluate(SECOND);
  return warehouse;
});

test('a digest tells what changed by table, and whether plans or others did it', async () => {
  const { text, html } = await (await changed()).digest(SECOND);
  expect(text).toContain(
    'What changed\n------------\nworkspaces: 1 new, 1 gone, 1 renamed, 1 changed (4 by others)\nacl_policies: 1 changed (1 by plans)\n',
  );
  expect(html).toContain('workspaces: 1 new, 1 gone, 1 renamed, 1 changed');
});

test('the digest of a project tells of its workspaces only', async () => {
  const warehouse = await changed();
  const routes = [{ to: 'pay@acme.example', projects: ['payments'] }];
  const mail = { smtp: 'smtp://127.0.0.1:2525', from: 'Tidemark <reports@acme.example>', routes };
  const { messages } = await warehouse.compose(SECOND, { config: mailConfig(warehouse.directory, { mail }) });
  const mine = messages.find(({ to }) => to.address === 'pay@acme.example');
  expect(mine?.text).toContain('What changed\n------------\nworkspaces: 1 renamed (1 by others)\n\n');
});

test('the first digest compares with nothing', async () => {
  expect((await (await changed()).digest(FIRST)).text).not.toContain('What changed');
});

test('findings of a target that the configuration has no more are no longer watched, and not unchanged', async () => {
  const both = mailConfig('.', { targets: [PLATFORM, { ...PLATFORM, name: 'old' }] });
  const warehouse = await createMailWarehouse(both);
  const rows = [workspace('a', { drifted: true })];
  for (const target of ['acme', 'old']) await warehouse.pull(FIRST, { workspaces: rows }, target);
  await warehouse.evaluate(FIRST);
  await warehouse.pull(SECOND, { workspaces: rows });
  await warehouse.pull(SECOND, { workspaces: 'left-out' }, 'old');
  const config = mailConfig(warehouse.directory);
  await warehouse.evaluate(SECOND, config);
  const mail = { to: ['platform@acme.example'], when: 'changed' as const };
  const { text } = await warehouse.digest(SECOND, { config, job: { ...NIGHTLY, mail } });
  expect(text).toContain('open findings: 1 (1 no longer watched)\n');
  expect(text).toContain('Resolved: 0\n');
});

test('a target whose workspaces are left out for a night is neither fewer nor more of anything, and returns', async () => {
  const both = mailConfig('.', { targets: [PLATFORM, { ...PLATFORM, name: 'old' }] });
  const warehouse = await createMailWarehouse(both);
  const tables = {
    workspaces: [
      workspace('a', { drifted: true, checks_failed: 1 }),
      workspace('b', { drifted: null, workspace_iac_version: '1.0.0' }),
    ],
    tf_versions: ['1.0.0', '1.9.0'].map((version) => ({ version, workspace_count: 1, workspaces: 'b' })),
    agent_pools: [{ pool_id: 'apool-1', name: 'builders', agent_count: 1 }],
    agents: [{ agent_id: 'agent-1', pool_id: 'apool-1', status: 'unknown' }],
  };
  const leftOut = Object.fromEntries(Object.keys(tables).map((name) => [name, 'left-out' as const]));
  const night = async (asOf: string, old: PulledTables) => {
    await warehouse.pull(asOf, tables);
    await warehouse.pull(asOf, old, 'old');
    await warehouse.evaluate(asOf, both);
    return (await warehouse.digest(asOf, { config: both })).text;
  };
  await night(FIRST, tables);
  const without = await night(SECOND, leftOut);
  expect(without).toContain(`workspaces drifting: 1 (no change)
not assessed for drift: 1 (no change)
workspaces failing checks: 1 (no change)
agent pools without a live agent: 1 (no change)
agents silent at their pull: 1 (no change)
workspaces behind the newest version in use: 1 (no change)
open findings: 5 (5 no longer watched)

workspaces drifting, 2026-11-18 to 2026-11-19: 1 to 1 over 2 days, 1 now
`);
  expect(without).not.toContain('never pulled');
  const back = await night(THIRD, tables);
  expect(back).toContain(`workspaces drifting: 2 (1 returned)
not assessed for drift: 2 (1 assessed for the first time)
workspaces failing checks: 2 (1 returned)
agent pools without a live agent: 2 (1 assessed for the first time)
agents silent at their pull: 2 (1 assessed for the first time)
workspaces behind the newest version in use: 2 (1 assessed for the first time)
open findings: 12 (2 new, 5 returned)
`);
  expect(back).not.toContain('new workspace');
});
