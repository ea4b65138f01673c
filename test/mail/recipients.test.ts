import { expect, test } from 'vitest';
import { resolveAudiences } from '../../src/tell/mail/recipients.ts';
import {
  createMailWarehouse,
  type MailWarehouse,
  mailConfig,
  NIGHTLY,
  PLATFORM,
  prepareMailWarehouse,
} from '../helpers/mail-warehouse.ts';
import { workspace } from '../helpers/report-warehouse.ts';
import { type Cleanup, share, tempFolder } from '../helpers/temp.ts';
import { quietRun } from './digest-runs.ts';

const FIRST = '2026-11-18T02:15:00Z';
const SECOND = '2026-11-19T02:15:00Z';
const MAIL = { smtp: 'smtp://127.0.0.1', from: 'Tidemark <reports@acme.example>' };
const JOB_RECIPIENTS = ['platform@acme.example'];

const inProject = (project: string, more = {}) => ({
  project_name: project,
  project_external_id: `prj-${project}`,
  ...more,
});
const drifting = (id: string, more = {}) => workspace(id, { drifted: true, resources_drifted: 1, ...more });

/** A copy of a warehouse after two runs, with these routes in the configuration. */
async function createRouted(routes: readonly unknown[], cleanup: Cleanup) {
  const targets = [
    PLATFORM,
    { ...PLATFORM, name: 'other' },
    { name: 'vault', kind: 'secrets', url: 'https://v.example', token: 'tok-en' },
  ];
  const config = mailConfig(await tempFolder(cleanup), { targets, mail: { ...MAIL, routes } });
  return createMailWarehouse(config, await prepareMailWarehouse('mail-routed', fillTwoRuns, config), cleanup);
}

async function fillTwoRuns(warehouse: MailWarehouse): Promise<void> {
  const pull = async (at: string, isPayDrifting: boolean) => {
    await warehouse.pull(at, {
      workspaces: [
        drifting('pay-1', inProject('payments-eu', { drifted: isPayDrifting })),
        drifting('pay-2', inProject('payments-us')),
        drifting('core-1', inProject('core', { checks_failed: 1 })),
      ],
      agent_pools: [
        { pool_id: 'apool-1', name: 'pay pool' },
        { pool_id: 'apool-2', name: 'core pool' },
      ],
      agent_pool_workspaces: [{ pool_id: 'apool-1', workspace_id: 'ws-pay-1', relation: 'attached' }],
      agents: [],
    });
    await warehouse.pull(at, { workspaces: [drifting('elsewhere', inProject('payments-eu'))] }, 'other');
    await warehouse.pull(at, { keys: [{ name: 'old-key', latest_version: 1 }] }, 'vault');
    await warehouse.evaluate(at);
  };
  await pull(FIRST, false);
  await pull(SECOND, true);
}

const ROUTES = [
  { to: 'pay@acme.example', projects: ['payments-*'], targets: ['acme'] },
  { to: 'vault@acme.example', targets: ['v*'] },
  { to: 'eu@acme.example', projects: ['prj-payments-eu'] },
  { to: 'no-target@acme.example', targets: ['typo-*'] },
  { to: 'no-project@acme.example', projects: ['paymnets-*'] },
];

const PLAN = { name: 'plan.json', type: 'application/json', text: '{}' };

/** The digests of the second run with `ROUTES`, by recipient. */
const routed = share(async (cleanup) => {
  const warehouse = await createRouted(ROUTES, cleanup);
  const { messages } = await warehouse.compose(SECOND, { attachments: [PLAN], notes: ['reap-dead-agents: 2 planned'] });
  return new Map(messages.map((message) => [message.to.address, message]));
});

test('a route with projects covers these projects only: metrics, findings, trend, pools, CSV', async () => {
  const messages = await routed();
  expect([...messages.keys()]).toEqual([...JOB_RECIPIENTS, ...ROUTES.map(({ to }) => to)]);
  const mine = messages.get('pay@acme.example');
  expect(mine?.subject).toBe(
    'Tidemark acme (payments-*): 1 critical, 2 drifting (+1), 1 pool down, 0 not assessed for drift (−1)',
  );
  expect(mine?.html).toContain('aria-label="workspaces drifting per day: 1 2"');
  expect(mine?.text).toContain('Workspace pay-2');
  expect(mine?.text).toContain('Agent pool pay pool has no live agent');
  expect(`${mine?.html}${mine?.text}${JSON.stringify(mine?.attachments)}`).not.toMatch(
    /core-1|core pool|elsewhere|vault|old-key/u,
  );
  expect(mine?.pages).toEqual([]);
  expect(mine?.attachments).not.toContainEqual(PLAN);
  expect(mine?.text).not.toContain('reap-dead-agents');
  expect(messages.get('platform@acme.example')?.attachments).toContainEqual(PLAN);
  expect(mine?.text).toContain(
    'You receive this mail because mail.routes in tidemark.yaml assigns you projects payments-* of targets acme.',
  );
  expect(messages.get('platform@acme.example')?.subject).toContain('4 drifting (+1)');
});

test('a route with targets covers these targets only', async () => {
  const mine = (await routed()).get('vault@acme.example');
  expect(mine?.subject).toMatch(/^Tidemark vault: /u);
  expect(mine?.text).toContain('Data: 1 of 1 sources complete and fresh.');
  expect(mine?.text).not.toMatch(/acme:|drift/u);
});

test('a route without targets matches projects of every platform, by name or ID', async () => {
  expect((await routed()).get('eu@acme.example')?.subject).toContain(
    'Tidemark acme, other (prj-payments-eu): 1 critical, 2 drifting',
  );
});

test('a digest names patterns that match no target', async () => {
  const mine = (await routed()).get('no-target@acme.example');
  expect(mine?.subject).toContain('Tidemark no target');
  expect(mine?.text).toContain('No workspace or target matches targets typo-*. Check the patterns under mail.routes.');
});

test('a digest names no pattern as wrong while it is not known what the projects are', async () => {
  const route = { to: 'own@acme.example', projects: ['payments-*'] };
  const config = mailConfig(await tempFolder(), { targets: [PLATFORM], mail: { ...MAIL, routes: [route] } });
  const warehouse = await createMailWarehouse(config);
  await warehouse.pull(FIRST, { workspaces: 'failed' });
  const { messages } = await warehouse.compose(FIRST);
  const mine = messages.find(({ to }) => to.address === route.to);
  expect(mine?.subject).toContain('no fresh data');
  expect(mine?.text).not.toContain('Check the patterns');
});

test('a digest without matching workspaces is not all quiet', async () => {
  const mine = (await routed()).get('no-project@acme.example');
  expect(mine?.subject).toBe('Tidemark acme, other (paymnets-*): no matching workspaces');
  expect(mine?.text).toContain('No workspace or target matches projects paymnets-*');
});

test('an address gets one digest: its routes are combined, and a recipient of the job gets no other', () => {
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

test('the Message-ID is the same for the same job, run and recipient only', async () => {
  const warehouse = await quietRun();
  const id = async (more = {}) => (await warehouse.digest(FIRST, more)).messageId;
  const first = await id();
  expect(first).toMatch(/^<tidemark\.[0-9a-f]{32}@acme\.example>$/u);
  expect(await id({ composedAt: new Date('2027-01-01T00:00:00Z') })).toBe(first);
  expect(await id({ job: { ...NIGHTLY, mail: { to: ['PLATFORM@acme.example'], when: 'always' } } })).toBe(first);
  const others = [
    await id({ run: { runId: 'another', asOf: new Date(FIRST) } }),
    await id({ job: { ...NIGHTLY, name: 'weekly' } }),
    await id({ to: ['platform@acme.example'] }),
    await id({ to: ['platform@acme.example'], composedAt: new Date('2027-01-01T00:00:00Z') }),
  ];
  expect(new Set([first, ...others]).size).toBe(5);
  const sender = { name: '', address: 'reports@bücher.example' };
  expect(await id({ settings: { sender, routes: [] } })).toMatch(/@xn--bcher-kva\.example>$/u); // headers are ASCII
});
