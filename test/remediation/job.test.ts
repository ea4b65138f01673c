import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { approvePlan } from '../../src/act/approvals.ts';
import {
  applyJobPlaybooks,
  type JobPlaybookResult,
  listPlaybookProblems,
  planJobPlaybooks,
} from '../../src/act/job.ts';
import type { ActionIntent } from '../../src/act/ledger.ts';
import { syncLedger, trySyncLedger } from '../../src/act/ledger-table.ts';
import { planDigest, readPlan, writePlan } from '../../src/act/plan-file.ts';
import { syncPlans } from '../../src/act/plan-table.ts';
import { builtInPlaybooks } from '../../src/act/playbooks/index.ts';
import { isReversible } from '../../src/act/registry.ts';
import { loadConfig } from '../../src/config/config.ts';
import { loadJob } from '../../src/config/job.ts';
import { DAY_MS, frozenClock } from '../../src/core/clock.ts';
import { acquireLock } from '../../src/warehouse/lock.ts';
import { withWarehouse } from '../../src/warehouse/session.ts';
import { quietContext } from '../helpers/context.ts';
import { createSshKey } from '../helpers/ssh-keys.ts';
import { applyHarness } from './apply-harness.ts';
import { toLegacyText } from './test-plans.ts';

const harness = applyHarness({ playbook: 'scope-unused-pools', sources: ['agents'] });

async function prepare(playbooks: readonly Record<string, unknown>[]) {
  const { folder } = harness.place;
  await writeFile(join(folder, 'jobs', 'acting.yaml'), stringify({ pull: false, playbooks }));
  const context = quietContext(folder, { clock: frozenClock(harness.place.sandbox.now) });
  const config = loadConfig(join(folder, 'tidemark.yaml'), {}, context.redactor);
  return { config, context, job: await loadJob(config, {}, 'acting') };
}

type Prepared = Awaited<ReturnType<typeof prepare>>;

/** As a run in progress plans, after it has done this to its warehouse. */
function planInRun({ config, context, job }: Prepared, change = '', playbooks = builtInPlaybooks) {
  const options = { config, purpose: 'test', now: context.clock.now(), log: context.log };
  return withWarehouse(options, async (warehouse) => {
    if (change !== '') await warehouse.database.run(change);
    return planJobPlaybooks({ config, context }, job, playbooks, warehouse);
  });
}

async function runJob(
  playbooks: readonly Record<string, unknown>[],
  known = builtInPlaybooks,
): Promise<readonly JobPlaybookResult[]> {
  const prepared = await prepare(playbooks);
  const { config, context } = prepared;
  const plans = await planInRun(prepared, '', known);
  return applyJobPlaybooks({ config, context }, plans, known);
}

test('mode plan writes a plan file, and changes nothing', async () => {
  const [result] = await runJob([{ name: 'reap-dead-agents', mode: 'plan' }]);
  expect(result).toMatchObject({ name: 'reap-dead-agents', applied: null, refused: null, exit: 0 });
  expect(await readPlan(result!.file!)).toEqual(result?.plan);
  expect(result?.plan).toMatchObject({ approvals: [], actions: [{}, {}, {}], planned_by: { how: 'job acting' } });
  expect(harness.writes()).toEqual([]);
});

test('mode apply applies reversible actions, approved by the name in the job file', async () => {
  const [result] = await runJob([{ name: 'scope-unused-pools', mode: 'apply', approvedBy: 'platform team' }]);
  expect(result?.applied?.rows.map(({ status, approved_by }) => [status, approved_by])).toEqual([
    ['applied', 'platform team'],
    ['applied', 'platform team'],
  ]);
  expect(result?.exit).toBe(0);
  expect(harness.writes()).toHaveLength(2);
});

test('a playbook that throws when it is planned is refused, and stops nothing else', async () => {
  const plan = (): never => {
    throw new TypeError('of a user');
  };
  const known = builtInPlaybooks.map((one) => (one.name === 'scope-unused-pools' ? { ...one, plan } : one));
  const [broken, other] = await runJob(
    [
      { name: 'scope-unused-pools', mode: 'apply', approvedBy: 'platform team' },
      { name: 'reap-dead-agents', mode: 'plan' },
    ],
    known,
  );
  expect(broken).toMatchObject({ applied: null, refused: 'the playbook failed: of a user', exit: 1 });
  expect(other?.plan?.actions).toHaveLength(3);
  expect(harness.writes()).toEqual([]);
});

test('a plan that is replaced before the job approves it is not applied', async () => {
  const entries = [{ name: 'scope-unused-pools', mode: 'apply', approvedBy: 'platform team' }];
  const prepared = await prepare(entries);
  const { config, context } = prepared;
  const plans = await planInRun(prepared);
  const { plan, file } = plans[0]!;
  const [action] = plan!.actions;
  const replaced = { ...plan!, actions: [{ ...action!, summary: 'another plan' }] };
  await writePlan(file!, { ...replaced, digest: planDigest(replaced) });
  const [result] = await applyJobPlaybooks({ config, context }, plans, builtInPlaybooks);
  expect(result).toMatchObject({ exit: 6, applied: null, refused: `${file} was replaced by another plan` });
  expect((await readPlan(file!)).approvals).toEqual([]);
  expect(harness.writes()).toEqual([]);
});

test.each([
  'platform team',
  'platform team\n', // as a block of YAML ends
])('an apply that was killed is continued by the next run of the job, which plans nothing twice: %j', async (by) => {
  const playbooks = [{ name: 'scope-unused-pools', mode: 'apply', approvedBy: by }];
  await runJob(playbooks);
  const file = join(harness.place.folder, 'data', 'ledger.ndjson');
  const [intent] = (await readFile(file, 'utf8')).split('\n');
  harness.reset((all) => all);
  await writeFile(file, `${intent}\n`);

  const results = await runJob(playbooks);
  expect(results.map(({ plan, applied }) => [plan?.actions.length, applied?.rows.map(({ status }) => status)])).toEqual(
    [
      [2, ['applied', 'applied']],
      [0, undefined],
    ],
  );
  expect(results[0]?.plan?.plan_id).toBe(JSON.parse(intent!).plan_id);
  expect(harness.writes()).toHaveLength(2);
});

test.each(['tidemark playbook plan', 'job another'])(
  'a plan of `%s` that was stopped is not continued by a job which approves with the same name',
  async (how) => {
    const planned = await harness.place.plan(['--max-percent', '100']);
    const plan = { ...planned, planned_by: { ...planned.planned_by!, how } };
    await writePlan(harness.place.planFile, { ...plan, digest: planDigest(plan) });
    await harness.place.tidemark(['playbook', 'approve', harness.place.planFile, '--by', 'platform team']);
    harness.faultHook = ({ method }) =>
      method === 'PATCH' ? { status: 403, body: '{"errors":[{"status":"403","title":"forbidden"}]}' } : undefined;
    const { stopped } = await harness.apply(['--max-failures', '1'], 1);
    expect(stopped?.reason).toBe('1 action failed or unconfirmed');
    harness.faultHook = undefined;

    const results = await runJob([{ name: 'scope-unused-pools', mode: 'apply', approvedBy: 'platform team' }]);
    expect(results.map(({ refused }) => refused)).toEqual([null]);
    expect(results[0]?.plan?.plan_id).not.toBe(plan.plan_id);
  },
);

test('what a plan of version 0.1 left open is neither continued nor settled: it names no installation', async () => {
  const playbooks = [{ name: 'scope-unused-pools', mode: 'apply', approvedBy: 'platform team' }];
  const [first] = await runJob(playbooks);
  const file = join(harness.place.folder, 'data', 'ledger.ndjson');
  const [intent] = (await readFile(file, 'utf8')).split('\n');
  harness.reset((all) => all);
  await writeFile(file, `${intent}\n`);
  const kept = join(harness.place.folder, 'data', 'plans', `${first!.plan!.plan_id}.json`);
  await writeFile(kept, toLegacyText(JSON.parse(await readFile(kept, 'utf8'))));

  const [result, ...others] = await runJob(playbooks);
  expect([result?.refused, result?.exit, others]).toEqual([null, 0, []]);
  expect(result?.plan?.actions.map(({ finding_id }) => finding_id)).toEqual([first!.plan!.actions[1]!.finding_id]);
  expect((await harness.place.ledger())[0]).toMatchObject({ action_id: 'a1', status: 'unconfirmed' });
  expect(harness.writes()).toHaveLength(1);
});

test('an action that a kill left open is settled by a job that only plans since, unless a person applies a plan', async () => {
  await runJob([{ name: 'scope-unused-pools', mode: 'apply', approvedBy: 'platform team' }]);
  const file = join(harness.place.folder, 'data', 'ledger.ndjson');
  const [intent] = (await readFile(file, 'utf8')).split('\n');
  await writeFile(file, `${intent}\n`);
  harness.place.sandbox.log.length = 0;
  const planning = [{ name: 'scope-unused-pools', mode: 'plan' }];

  const lock = await acquireLock(join(harness.place.folder, 'data', 'apply.lock'), 'a person');
  const held = await runJob(planning).finally(() => lock.release());
  expect(held).toMatchObject([{ refused: null, exit: 0 }]);
  expect(await readFile(file, 'utf8')).toBe(`${intent}\n`);

  expect(await runJob(planning)).toMatchObject([{ refused: null, exit: 0, applied: null }]);
  expect(await harness.place.ledger()).toMatchObject([
    { action_id: 'a1', status: 'applied', reason: expect.stringMatching(/^confirmed late: interrupted; /u) },
  ]);
  expect(harness.writes()).toEqual([]);
});

/** What a reading left in doubt. */
const DOUBT = { event: 'outcome', status: 'unconfirmed', satisfied: false, reason: 'in doubt', answer: 'accepted' };

test.each([
  ['open', {}, 8, 'applied', /^confirmed late: interrupted; /u],
  ['in doubt', DOUBT, 7, 'applied', /^confirmed late: /u],
  ['in doubt', DOUBT, 8, 'unconfirmed', /^in doubt$/u], // a person settles it: more of them each night would take ever longer
])('an action that an expired plan left %s (%o) %d days ago is %s once the job plans again', async (...given) => {
  const [, change, days, status, reason] = given;
  const playbooks = [{ name: 'scope-unused-pools', mode: 'apply', approvedBy: 'platform team' }];
  const [first] = await runJob(playbooks);
  const file = join(harness.place.folder, 'data', 'ledger.ndjson');
  const [text = ''] = (await readFile(file, 'utf8')).split('\n');
  const intent = JSON.parse(text) as ActionIntent;
  const started = new Date(Date.parse(intent.started_at) - days * DAY_MS).toISOString();
  const left = { ...intent, started_at: started, finished_at: started, ...change };
  await writeFile(file, `${JSON.stringify(left)}\n`);
  const kept = join(harness.place.folder, 'data', 'plans', `${first!.plan!.plan_id}.json`);
  const plan = JSON.parse(await readFile(kept, 'utf8'));
  const expired = { ...plan, expires_at: plan.created_at, approvals: [] };
  await writePlan(kept, { ...expired, digest: planDigest(expired) });
  harness.place.sandbox.log.length = 0;

  const results = await runJob(playbooks);
  expect(results).toHaveLength(1);
  const [row] = await harness.place.ledger();
  expect(row).toMatchObject({ status, reason: expect.stringMatching(reason) });
  expect(harness.writes()).toEqual([]);
});

test.each([
  [
    { name: 'remove-retired-keys', mode: 'apply', approvedBy: 'x' },
    'jobs/acting.yaml: playbooks[0].mode: remove-retired-keys has actions that cannot be undone: use mode plan, and approve each plan by hand',
  ],
  [
    { name: 'scope-unused-pools', mode: 'apply' },
    'jobs/acting.yaml: playbooks[0].approvedBy: is required with mode apply: who approves the actions',
  ],
  [
    { name: 'reap-dead-agent', mode: 'plan' },
    'jobs/acting.yaml: playbooks[0].name: unknown playbook reap-dead-agent; did you mean reap-dead-agents?',
  ],
])('an invalid job is refused with file and field: %o', async (entry, message) => {
  const { config, job } = await prepare([entry]);
  expect(await listPlaybookProblems(config, job, builtInPlaybooks)).toEqual([message]);
});

test('a run in progress plans from the findings it just evaluated, before they are published', async () => {
  const plans = await planInRun(
    await prepare([{ name: 'scope-unused-pools', mode: 'plan' }]),
    "delete from findings where rule = 'unscoped-agent-pool' and finding_id <> (select min(finding_id) from findings where rule = 'unscoped-agent-pool')",
  );
  expect(plans[0]?.plan?.actions).toHaveLength(1);
});

test('the table actions is a copy of the ledger, and the warehouse keeps its ID', async () => {
  const { config, context } = await prepare([]);
  const options = { config, purpose: 'test', now: context.clock.now(), log: context.log };
  const [before] = await harness.place.rows('select warehouse_id from warehouse_identity');
  await runJob([{ name: 'scope-unused-pools', mode: 'apply', approvedBy: "o'brien\n=cmd" }]);
  for (let count = 0; count < 2; count++)
    await withWarehouse(options, (warehouse) => syncLedger(warehouse, config, options.now));
  const ledger = await harness.place.ledger();
  expect(await harness.place.rows('select * from actions order by action_id')).toMatchObject(
    ledger.map(({ plan_id, action_id, status, params, approved_by }) => ({
      plan_id,
      action_id,
      status,
      params,
      approved_by,
    })),
  );
  expect(await harness.place.rows('select warehouse_id from warehouse_identity')).toEqual([before]);
  expect(await readFile(join(config.data, 'ledger.ndjson'), 'utf8')).not.toContain('\n=cmd');
});

test('the table plans has a plan once, and then who approved it', async () => {
  const { config, context } = await prepare([]);
  const now = context.clock.now();
  const [planned] = await runJob([{ name: 'reap-dead-agents', mode: 'plan' }]);
  const options = { config, purpose: 'test', now, log: context.log };
  const sync = (asOf: Date) => withWarehouse(options, (warehouse) => syncPlans(warehouse, config, asOf));
  const ours = `from plans where plan_id = '${planned?.plan?.plan_id}'`;
  await sync(now);
  const row = {
    playbook: 'reap-dead-agents',
    target: 'acme',
    expires_at: planned?.plan?.expires_at.replace('.000Z', 'Z'),
  };
  const seen_at = now.toISOString().replace('.000Z', 'Z');
  const rows = () => harness.place.rows(`select * exclude (plan_id) ${ours}`);
  expect(await rows()).toEqual([{ ...row, actions: 3, approved_by: null, seen_at }]);
  await approvePlan(planned!.file!, { config, by: "o'brien", now, irreversible: true });
  await sync(new Date(now.getTime() + 60_000));
  expect(await rows()).toEqual([{ ...row, actions: 3, approved_by: "o'brien", seen_at }]);
  const waiting = `select subject_name, what_to_do from deadlines_at('${seen_at}') where kind = 'plan'`;
  expect(await harness.place.rows(waiting)).toContainEqual({
    subject_name: 'reap-dead-agents',
    what_to_do: `apply 3 actions, approved so far by o'brien: tidemark playbook show ${planned?.plan?.plan_id}`,
  });
});

test('the table plans names nobody whose approval does not count', async () => {
  const { config, context } = await prepare([]);
  const now = context.clock.now();
  const [planned] = await runJob([{ name: 'reap-dead-agents', mode: 'plan' }]);
  await approvePlan(planned!.file!, { config, by: 'mallory', now, irreversible: true });
  const signing = {
    ...config,
    approvers: { approvals: 1, people: [{ name: 'alice', key: createSshKey().line, groups: [] }], rules: [] },
  };
  const options = { config, purpose: 'test', now, log: context.log };
  await withWarehouse(options, (warehouse) => syncPlans(warehouse, signing, now));
  const rows = await harness.place.rows(
    `select approved_by, what_to_do from plans join deadlines_at('${now.toISOString()}') as ends on ends.subject_id = plan_id`,
  );
  const what_to_do = `approve and apply 3 actions: tidemark playbook show ${planned?.plan?.plan_id}`;
  expect(rows).toEqual([{ approved_by: null, what_to_do }]);
});

test('a damaged ledger is logged, and does not fail the run', async () => {
  const warnings: string[] = [];
  const { config, context } = await prepare([]);
  await runJob([{ name: 'scope-unused-pools', mode: 'apply', approvedBy: 'platform team' }]);
  const before = await harness.place.rows('select count(*) as actions from actions');
  await writeFile(join(config.data, 'ledger.ndjson'), 'damaged\n');
  const options = { config, purpose: 'test', now: context.clock.now(), log: context.log };
  const log = { ...context.log, warn: (line: string) => warnings.push(line) };
  await withWarehouse(options, (warehouse) => trySyncLedger({ config, context: { ...context, log } }, warehouse));
  expect(warnings).toEqual([expect.stringContaining('ledger.ndjson:1 is damaged')]);
  expect(await harness.place.rows('select count(*) as actions from actions')).toEqual(before);
  await expect(withWarehouse(options, (warehouse) => syncLedger(warehouse, config, options.now))).rejects.toMatchObject(
    {
      code: 'DATA',
    },
  );
});

test('tidemark run plans, applies and updates the table', async () => {
  const { folder } = harness.place;
  const playbooks = [{ name: 'scope-unused-pools', mode: 'apply', approvedBy: 'platform team' }];
  await writeFile(
    join(folder, 'jobs', 'nightly.yaml'),
    stringify({ pull: ['agents', 'agent_pools'], reports: [], playbooks }),
  );
  const result = await harness.place.tidemark(['run', 'nightly', '--json']);
  expect([result.exit, /^error/mu.test(result.stderr)]).toEqual([0, false]);
  expect(result.json<{ playbooks: { exit: number }[] }>().playbooks.map(({ exit }) => exit)).toEqual([0]);
  expect(await harness.place.rows('select distinct status, approved_by from actions')).toEqual([
    { status: 'applied', approved_by: 'platform team' },
  ]);
  expect(harness.writes()).toHaveLength(2);
});

test.each(builtInPlaybooks.filter((playbook) => !isReversible(playbook)).map(({ name }) => name))(
  'tidemark run refuses a job that would apply the irreversible %s before it pulls',
  async (name) => {
    const file = join(harness.place.folder, 'jobs', 'nightly.yaml');
    await writeFile(file, stringify({ pull: 'all', playbooks: [{ name, mode: 'apply', approvedBy: 'x' }] }));
    const result = await harness.place.tidemark(['run', 'nightly']);
    expect([result.exit, result.stderr]).toEqual([
      2,
      expect.stringContaining(`${name} has actions that cannot be undone`),
    ]);
    expect(harness.place.sandbox.log).toEqual([]);
  },
);

// The last one: it leaves a run that found every agent dead.
test('a plan beyond its limits is kept for a person and applies nothing, and the next one runs', async () => {
  const { agents } = harness.place.sandbox.services.platform.state;
  for (const agent of agents) Object.assign(agent, { status: 'errored', lastPingAt: Date.parse('2026-01-01') });
  await harness.place.runJob();
  const results = await runJob([
    { name: 'reap-dead-agents', mode: 'plan' },
    { name: 'remove-empty-pools', mode: 'plan' },
  ]);
  expect(results.map(({ refused, exit, plan }) => [refused, exit, plan?.actions.length])).toEqual([
    [expect.stringContaining('more than --max-percent 20'), 0, agents.length],
    [null, 0, 1],
  ]);
  expect(await readPlan(results[0]!.file!)).toEqual(results[0]!.plan);
  expect(harness.writes()).toEqual([]);
});
