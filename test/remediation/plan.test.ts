import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Plan } from '../../src/act/plan-file.ts';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { rewriteWarehouse } from '../helpers/change-warehouse.ts';
import { playbookHarness } from '../helpers/playbook-harness.ts';
import { findTarget, testProject } from '../helpers/test-project.ts';
import { applyHarness } from './apply-harness.ts';

const harness = applyHarness({ updatesTable: false, playbook: 'reap-dead-agents' });
const PLAN = ['playbook', 'plan', 'reap-dead-agents'];

/** Plans with options that must be refused, without a file, and returns the error. */
async function refused(words: readonly string[], exit: number): Promise<string> {
  await rm(harness.place.planFile, { force: true });
  const result = await harness.place.tidemark([...PLAN, '-o', harness.place.planFile, ...words]);
  expect([result.exit, existsSync(harness.place.planFile)]).toEqual([exit, false]);
  return result.stderr;
}

test('a plan says what its rule could not tell: no run has evaluated it', async () => {
  const place = await testProject({ workspaces: 2 });
  await place.pull(['--source', 'agents', '--source', 'agent_pools']);
  const { stderr } = await place.tidemark(PLAN);
  expect(stderr).toMatch(/^warning: dead-agent may find more: acme: dead-agent never assessed$/mu);
  expect((await harness.place.tidemark(PLAN)).stderr).not.toContain('may find more');
});

test('three of the agents are within the limits, and the plan has every documented field', async () => {
  const plan = await harness.place.plan();
  expect(Object.keys(plan)).toEqual(
    expect.arrayContaining([
      'plan_id',
      'playbook',
      'created_at',
      'expires_at',
      'run_id',
      'digest',
      'actions',
      'skipped',
      'approvals',
      'planned_by',
      'targets',
    ]),
  );
  expect(plan).toMatchObject({ playbook: 'reap-dead-agents', approvals: [], skipped: [] });
  const [{ run_id } = {}] = await harness.place.rows('select max(run_id) as run_id from runs');
  expect(plan.run_id).toBe(run_id);
  for (const action of plan.actions) {
    expect(action).toMatchObject({
      operation: 'platform.agents.delete',
      target: 'acme',
      params: { id: expect.stringMatching(/^agent-/u) },
      finding_id: expect.stringMatching(/^f-/u),
      guard: { reads: { agent: { operation: 'platform.agents.show' } } },
    });
    expect(action).toHaveProperty('irreversible', true);
  }
});

// A zero-width space, a variation selector, a Hangul filler and an empty Braille pattern.
test.each([8203, 65024, 12644, 10240])(
  'actions that are named alike, also but for what a terminal does not show (%i), are told apart by their parameters',
  async (code) => {
    await rewriteWarehouse(harness.place, [
      `update findings set
      subject_name = if(finding_id = (select min(finding_id) from findings where rule = 'dead-agent'), 'ed' || chr(${code}) || 'ge', 'edge'),
      detail = json_merge_patch(detail, '{"pool_name": "p", "status": "errored"}')
    where rule = 'dead-agent'`,
    ]);
    const { actions } = await harness.place.plan();
    expect(actions.map(({ summary }) => summary)).toEqual(
      actions.map(({ params }) => expect.stringMatching(new RegExp(`^delete agent .* \\(id=${params.id}\\)$`, 'u'))),
    );
  },
);

test('a plan beyond --max-actions is refused, with no file', async () => {
  expect(await refused(['--max-actions', '2'], 6)).toContain('3 actions are more than --max-actions 2');
  expect((await harness.place.plan(['--max-actions', '3'])).actions).toHaveLength(3);
  expect((await harness.place.plan(['--max-actions', '3000000000'])).actions).toHaveLength(3);
});

test('a plan beyond --max-percent of the rows of its table is refused, with no file', async () => {
  const [{ n: agents } = {}] = await harness.place.rows('select count(*) as n from agents');
  const share = (3 * 100) / Number(agents);
  expect(await refused(['--max-percent', (share - 0.01).toFixed(3)], 6)).toContain(
    `3 of ${agents} rows of agents in acme`,
  );
  expect((await harness.place.plan(['--max-percent', (share + 0.001).toFixed(3)])).actions).toHaveLength(3);
});

test.each([
  ['--max-actions', '0'],
  ['--max-actions', '-1'],
  ['--max-actions', '1.5'],
  ['--max-percent', '0'],
  ['--max-percent', '101'],
  ['--max-percent', 'all'],
])('a limit of %s %s is a usage error', async (option, value) => {
  await refused([`${option}=${value}`], 2);
});

test('an unknown playbook or target is a usage error that suggests the closest name', async () => {
  const result = await harness.place.tidemark(['playbook', 'plan', 'reap-dead-agent']);
  expect([result.exit, result.stderr]).toEqual([2, expect.stringContaining('did you mean reap-dead-agents?')]);
  expect(await refused(['--target', 'acmee'], 2)).toContain('did you mean acme?');
});

test('findings of a source that failed since, or that a run could not assess, are skipped with the reason', async () => {
  const reasons = async () => {
    const plan = await harness.place.plan();
    expect(plan.actions).toEqual([]);
    expect(plan.skipped).toHaveLength(3);
    return [...new Set(plan.skipped.map(({ reason }) => reason))];
  };
  const down = ({ path }: { readonly path: string }) =>
    path.endsWith('/agents') ? { status: 404, body: '{"errors": []}' } : undefined;
  const pull = (now: string) => harness.place.tidemark(['pull', '--source', 'agents', '--now', now]);

  harness.faultHook = down;
  expect((await pull('2026-10-01T02:15:10Z')).exit).not.toBe(0);
  expect(await reasons()).toEqual(['source agents is stale: the status of its last pull is failed']);
  expect((await harness.place.tidemark(['run', 'playbook', '--now', '2026-10-01T02:15:20Z'])).exit).not.toBe(0);
  harness.faultHook = undefined;
  expect((await pull('2026-10-01T02:16:00Z')).exit).toBe(0);
  expect(await reasons()).toEqual(['not assessed since 2026-10-01T02:15:20Z: it may no longer apply']);

  expect((await harness.place.tidemark(['run', 'playbook', '--now', '2026-10-01T02:17:00Z'])).exit).toBe(0);
  expect((await harness.place.plan(['--now', '2026-10-01T02:18:00Z'])).actions).toHaveLength(3);
});

test('findings of a source that was not pulled for staleHours are skipped with the reason', async () => {
  expect((await harness.place.plan(['--now', '2026-10-02T14:15:00Z'])).actions).toHaveLength(3);
  const plan = await harness.place.plan(['--now', '2026-10-02T14:15:01Z']);
  expect(plan.actions).toEqual([]);
  expect(new Set(plan.skipped.map(({ reason }) => reason))).toEqual(
    new Set(['source agents is stale: last pulled at 2026-10-01T02:15:00Z']),
  );
});

test('findings of a rule that reads a source which was never pulled, as after an update, are skipped with the reason', async () => {
  const { folder } = harness.place;
  const rule = join('queries', 'findings', 'dead-agent.sql');
  const text = await readFile(join(PACKAGE_ROOT, rule), 'utf8');
  await mkdir(join(folder, 'queries', 'findings'), { recursive: true });
  await writeFile(join(folder, rule), text.replace('-- sources: agents\n', '-- sources: agents, ca_roots\n'));
  const { actions, skipped } = await harness.place.plan();
  expect([actions, new Set(skipped.map(({ reason }) => reason))]).toEqual([
    [],
    new Set(['source ca_roots was never pulled completely']),
  ]);
});

test('approving needs --irreversible only for irreversible actions', async () => {
  await harness.place.plan();
  const approve = ['playbook', 'approve', harness.place.planFile, '--by', 'the operator'];
  const refused = await harness.place.tidemark(approve);
  expect([refused.exit, refused.stderr]).toEqual([6, expect.stringContaining('3 of 3 actions cannot be undone')]);
  expect((await harness.place.tidemark([...approve, '--irreversible'])).exit).toBe(0);

  await harness.place.tidemark(['playbook', 'plan', 'pin-drift-view', '-o', harness.place.planFile]);
  expect((await harness.place.tidemark(approve)).exit).toBe(0);
  expect(JSON.parse(await readFile(harness.place.planFile, 'utf8')).approvals).toMatchObject([
    { by: 'the operator', irreversible: false },
  ]);
});

test('a plan is kept under its ID, and show, approve and apply take the ID, its beginning, or a file', async () => {
  const made = await harness.place.tidemark([...PLAN, '--json']);
  const { plan_id: id } = made.json<Plan>();
  expect(made.stderr).toContain(id);
  const run = (...words: string[]) => harness.place.tidemark(['playbook', ...words]);
  expect((await run('show', id.slice(0, -3))).stdout).toContain(`plan ${id} of reap-dead-agents`);
  expect((await run('approve', id, '--by', 'the operator', '--irreversible')).exit).toBe(0);
  const kept = join(harness.place.folder, 'data', 'plans', `${id}.json`);
  expect((await run('show', kept)).stdout).toContain('approved by the operator');
  expect((await run('apply', id)).exit).toBe(0);

  await harness.place.tidemark([...PLAN, '--json']);
  const many = await run('show', 'p-');
  expect([many.exit, many.stderr]).toEqual([2, expect.stringContaining('p- is the beginning of')]);
  const none = await run('show', 'p-1999');
  expect([none.exit, none.stderr]).toEqual([2, expect.stringContaining('neither a file nor the ID of a plan')]);
  expect((await run('show', '../p-1')).exit).toBe(2);
});

test('an approval without a name, or of an expired plan, is refused', async () => {
  await harness.place.plan(['--now', '2026-10-01T05:00:00Z']);
  const approve = ['playbook', 'approve', harness.place.planFile, '--irreversible'];
  expect((await harness.place.tidemark(approve)).exit).toBe(2);
  expect((await harness.place.tidemark([...approve, '--by', ' '])).exit).toBe(2);
  expect((await harness.place.tidemark([...approve, '--by', 'x', '--now', '2026-10-02T05:00:00Z'])).exit).toBe(6);
  expect((await harness.place.tidemark([...approve, '--by', 'x', '--now', '2026-10-01T04:59:59Z'])).exit).toBe(6);
  expect(JSON.parse(await readFile(harness.place.planFile, 'utf8')).approvals).toEqual([]);
});

test('a target that is no longer configured receives no request', async () => {
  const plan = await harness.place.plan();
  await harness.place.approve();
  await harness.place.configure((config) => {
    findTarget(config, 'acme').name = 'renamed';
  });
  harness.place.sandbox.log.length = 0;
  const { stderr } = await harness.place.apply([], 6);
  await harness.place.configure((config) => {
    findTarget(config, 'renamed').name = 'acme';
  });
  expect(stderr).toContain(`target acme of plan ${plan.plan_id} is not configured`);
  expect(harness.place.sandbox.log).toEqual([]);
});

test('the table shows action, target, reason, since and reversible', async () => {
  await harness.place.plan();
  const { stdout } = await harness.place.tidemark(['playbook', 'show', harness.place.planFile]);
  expect(stdout.split('\n')[0]?.split(/ {2,}/u)).toEqual(['ID', 'ACTION', 'TARGET', 'REASON', 'SINCE', 'REVERSIBLE']);
  expect(stdout).toMatch(/a1 {2}delete agent .* {2}acme {2,}.*has sent no ping since .* {2,}2026-10-01 {2}no/u);
  expect(stdout).toContain('not approved; valid until');
});

test('a finding whose subject cannot be read is skipped with the reason, and logged', async () => {
  let isDenied = false;
  const place = await playbookHarness({
    updatesTable: false,
    playbook: 'retire-old-key-versions',
    faultHook: ({ path }) =>
      isDenied && path.endsWith('/payments-signing') ? { status: 403, body: '{"errors": ["denied"]}' } : undefined,
  });
  isDenied = true;
  const result = await place.tidemark(['playbook', 'plan', 'retire-old-key-versions', '--json']);
  const plan = result.json<Plan>();
  expect([result.exit, plan.actions.length, plan.skipped.length]).toEqual([0, 4, 1]);
  expect(plan.skipped[0]?.reason).toContain('secrets.keys.read at vault: 403 forbidden: denied');
  expect(result.stderr).toContain('Key payments-signing has 7 versions enabled: not planned:');
});

test('a service that has no answer is asked for three findings; the others are skipped with the reason', async () => {
  let isDown = false;
  const place = await playbookHarness({
    updatesTable: false,
    playbook: 'retire-old-key-versions',
    faultHook: () => (isDown ? { status: 502, body: 'bad gateway' } : undefined),
  });
  isDown = true;
  place.sandbox.log.length = 0;
  const timeouts = { backoffMs: 1, maxBackoffMs: 2 };
  const result = await place.tidemark(['playbook', 'plan', 'retire-old-key-versions', '--json'], { timeouts });
  expect(result.json<Plan>().skipped.map(({ reason }) => reason)).toEqual([
    ...Array(3).fill(expect.stringContaining('502 server')),
    ...Array(2).fill('not read: vault had no answer for 3 findings before it: plan again once it has'),
  ]);
  expect(new Set(place.sandbox.log.map(({ path }) => path)).size).toBe(3);
});

test('findings that no run confirmed within staleHours are skipped, even if their sources were pulled since', async () => {
  const now = ['--now', '2026-10-02T14:15:01Z'];
  expect((await harness.place.tidemark(['pull', '--source', 'agents', ...now])).exit).toBe(0);
  const { actions, skipped } = await harness.place.plan(now);
  expect([actions, new Set(skipped.map(({ reason }) => reason))]).toEqual([
    [],
    new Set(['last found at 2026-10-01T02:15:00Z: run a job to evaluate the rule again']),
  ]);
  expect((await harness.place.tidemark(['run', 'playbook', ...now])).exit).toBe(0);
  expect((await harness.place.plan([...now, '--max-percent', '100'])).skipped).toEqual([]);
});
