import { expect, test } from 'vitest';
import { resolveAudiences } from '../../src/mail/recipients.ts';
import { createMailWarehouse, mailConfig, NIGHTLY, PLATFORM } from '../helpers/mail-warehouse.ts';
import { workspace } from '../helpers/report-warehouse.ts';
import { tempFolder } from '../helpers/temp.ts';

const NIGHT = '2026-11-18T02:15:00Z';
const NEXT = '2026-11-19T02:15:00Z';
const MAIL = { smtp: 'smtp://127.0.0.1', from: 'Tidemark <reports@acme.example>' };
const WHOLE = ['platform@acme.example'];

const of = (project: string, more = {}) => ({ project_name: project, project_external_id: `prj-${project}`, ...more });
const drifting = (id: string, more = {}) => workspace(id, { drifted: true, resources_drifted: 1, ...more });

async function estateOf(routes: readonly unknown[]) {
  const targets = [
    PLATFORM,
    { ...PLATFORM, name: 'other' },
    { name: 'vault', kind: 'secrets', url: 'https://v.example', token: 'tok-en' },
  ];
  const estate = await createMailWarehouse(mailConfig(await tempFolder(), { targets, mail: { ...MAIL, routes } }));
  const night = async (at: string, paysDrift: boolean) => {
    await estate.pull(at, {
      workspaces: [
        drifting('pay-1', of('payments-eu', { drifted: paysDrift })),
        drifting('pay-2', of('payments-us')),
        drifting('core-1', of('core', { checks_failed: 1 })),
      ],
      agent_pools: [
        { pool_id: 'apool-1', name: 'pay pool' },
        { pool_id: 'apool-2', name: 'core pool' },
      ],
      agent_pool_workspaces: [{ pool_id: 'apool-1', workspace_id: 'ws-pay-1', relation: 'attached' }],
      agents: [],
    });
    await estate.pull(at, { workspaces: [drifting('elsewhere', of('payments-eu'))] }, 'other');
    await estate.pull(at, { keys: [{ name: 'old-key', latest_version: 1 }] }, 'vault');
    await estate.evaluate(at);
  };
  await night(NIGHT, false);
  await night(NEXT, true);
  return estate;
}

test('an owner hears of their projects alone: numbers, findings, nights, pools, CSV', async () => {
  const estate = await estateOf([{ to: 'pay@acme.example', projects: ['payments-*'], targets: ['acme'] }]);
  const plan = { name: 'plan.json', type: 'application/json', text: '{}' };
  const { messages } = await estate.compose(NEXT, { attachments: [plan], notes: ['reap-dead-agents: 2 planned'] });
  expect(messages.map(({ to }) => to.address)).toEqual([...WHOLE, 'pay@acme.example']);
  const mine = messages[1];
  expect(mine?.subject).toBe('Tidemark acme (payments-*): 2 drifting (+1), 1 pool down, 1 critical');
  expect(mine?.html).toContain('aria-label="workspaces drifting by night: 1 2"');
  expect(mine?.text).toContain('Workspace pay-2');
  expect(mine?.text).toContain('Agent pool pay pool has no live agent');
  expect(`${mine?.html}${mine?.text}${JSON.stringify(mine?.attachments)}`).not.toMatch(
    /core-1|core pool|elsewhere|vault|old-key/u,
  );
  expect(mine?.pages).toEqual([]);
  expect(mine?.attachments).not.toContainEqual(plan);
  expect(mine?.text).not.toContain('reap-dead-agents');
  expect(messages[0]?.attachments).toContainEqual(plan);
  expect(mine?.text).toContain(
    'You get this because mail.routes in tidemark.yaml gives you projects payments-* of targets acme.',
  );
  expect(messages[0]?.subject).toContain('Tidemark acme, other: 4 drifting (+1)');
});

test('a route by target leads to all of that target, and to nothing of the others', async () => {
  const estate = await estateOf([{ to: 'v@acme.example', targets: ['v*'] }]);
  const { messages } = await estate.compose(NEXT);
  const mine = messages[1];
  expect(mine?.subject).toMatch(/^Tidemark vault: /u);
  expect(mine?.text).toContain('Data: 1 of 1 sources complete and fresh.');
  expect(mine?.text).not.toMatch(/acme:|drift/u);
});

test('projects are matched in every platform when no target is named, by name or by id', async () => {
  const estate = await estateOf([{ to: 'o@acme.example', projects: ['prj-payments-eu'] }]);
  expect((await estate.compose(NEXT)).messages[1]?.subject).toContain(
    'Tidemark acme, other (prj-payments-eu): 2 drifting',
  );
});

test('a pattern that nothing matches is said, not passed over', async () => {
  const estate = await estateOf([{ to: 'o@acme.example', targets: ['typo-*'] }]);
  const mine = (await estate.compose(NEXT)).messages[1];
  expect(mine?.subject).toContain('Tidemark nothing known');
  expect(mine?.text).toContain('Nothing is known of this part: targets typo-*. Is its pattern right?');
});

test('a part whose projects hold no workspace is not called quiet', async () => {
  const estate = await estateOf([{ to: 'o@acme.example', projects: ['paymnets-*'] }]);
  const mine = (await estate.compose(NEXT)).messages[1];
  expect(mine?.subject).toBe('Tidemark acme, other (paymnets-*): no such workspaces');
  expect(mine?.text).toContain('Nothing is known of this part: projects paymnets-*');
});

test('an address gets one digest: its routes are joined, and who gets all of it gets no part beside', () => {
  const routes = [
    { to: ['A@acme.example', 'b@acme.example'], projects: ['x'] },
    { to: 'a@acme.example', targets: ['t'] },
    { to: 'Whole <PLATFORM@acme.example>', projects: ['x'] },
    { to: 'c@acme.example', projects: ['x'] },
  ];
  const audiences = resolveAudiences('nightly', ['platform@acme.example', 'Platform@acme.example'], { routes });
  expect(audiences.map(({ to, isUnfiltered }) => [to.map(({ address }) => address), isUnfiltered])).toEqual([
    [['platform@acme.example'], true],
    [['A@acme.example'], false],
    [['b@acme.example', 'c@acme.example'], false],
  ]);
  expect(audiences[1]?.routes).toEqual([
    { targets: null, projects: ['x'] },
    { targets: ['t'], projects: null },
  ]);
});

test('a digest has the same Message-ID for the same job, run and recipient, and no other', async () => {
  const estate = await estateOf([]);
  const id = async (more = {}) => (await estate.digest(NEXT, more)).messageId;
  const first = await id();
  expect(first).toMatch(/^<tidemark\.[0-9a-f]{32}@acme\.example>$/u);
  expect(await id({ composedAt: new Date('2027-01-01T00:00:00Z') })).toBe(first);
  expect(await id({ job: { ...NIGHTLY, mail: { to: ['PLATFORM@acme.example'], when: 'always' } } })).toBe(first);
  const others = [
    await id({ run: { runId: 'another', asOf: new Date(NEXT) } }),
    await id({ job: { ...NIGHTLY, name: 'weekly' } }),
    await id({ to: ['platform@acme.example'] }),
    await id({ to: ['platform@acme.example'], composedAt: new Date('2027-01-01T00:00:00Z') }),
  ];
  expect(new Set([first, ...others]).size).toBe(5);
});
