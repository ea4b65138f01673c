import { expect, test } from 'vitest';
import { createMailWarehouse, type MailWarehouse, mailConfig } from '../helpers/mail-warehouse.ts';
import { workspace } from '../helpers/report-warehouse.ts';
import { share } from '../helpers/temp.ts';
import { FIRST, SECOND } from './digest-runs.ts';

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
