import { execFile } from 'node:child_process';
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { chmod, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { NOTHING_SEEN } from '../../src/act/ledger-chain.ts';
import { inspectLedger } from '../../src/act/ledger-file.ts';
import { planDigest, writePlan } from '../../src/act/plan-file.ts';
import type { TidemarkError } from '../../src/core/errors.ts';
import { replaceLedger } from '../helpers/playbook-harness.ts';
import { tempFolder } from '../helpers/temp.ts';
import { applyHarness } from './apply-harness.ts';

const harness = applyHarness({ playbook: 'reap-dead-agents' });
const ledger = () => join(harness.place.folder, 'data', 'ledger.ndjson');

describe('a ledger that is missing although the table actions has rows', () => {
  test('is an error that names the way out, and nothing is sent', async () => {
    await harness.useApprovedPlan();
    await harness.apply();
    await rm(ledger());
    harness.place.sandbox.log.length = 0;
    for (const words of [
      ['apply', harness.place.planFile],
      ['plan', harness.place.playbook],
      ['ledger'],
      ['ledger', '--settle'],
    ]) {
      const { exit, stdout, stderr } = await harness.place.tidemark(['playbook', ...words]);
      expect([words, exit, stdout]).toEqual([words, 4, '']);
      expect(stderr).toMatch(/ledger\.ndjson is missing, and the table actions has 3 rows of it/u);
      expect(stderr).toContain('`tidemark playbook ledger --restore`');
    }
    expect(harness.writes()).toEqual([]);
  });

  test('keeps its rows in the table during a run, and is restored from them', async () => {
    const plan = await harness.useApprovedPlan();
    await harness.apply();
    const before = await harness.place.ledger();
    await rm(ledger());
    harness.reset((agents) => agents); // the run finds the agents again
    expect((await harness.place.tidemark(['run', 'playbook'])).stderr).toContain('the table actions was not updated');
    expect(await harness.place.rows('select count(*) as n from actions')).toEqual([{ n: 3 }]);
    const restored = await harness.place.tidemark(['playbook', 'ledger', '--restore', '--json']);
    expect([restored.exit, restored.json()]).toEqual([0, before]);
    const again = await harness.place.tidemark(['playbook', 'ledger', '--restore']);
    expect([again.exit, again.stderr]).toEqual([6, expect.stringContaining('ledger.ndjson exists')]);
    harness.place.sandbox.log.length = 0;
    expect((await harness.apply()).rows.map(({ status }) => status)).toEqual(plan.actions.map(() => 'applied'));
    expect(harness.writes()).toEqual([]);
  });
});

test.each([
  ['removed', (file: string) => rmSync(file)],
  ['replaced', (file: string) => writeFileSync(`${file}.new`, readFileSync(file))],
  ['emptied', (file: string) => writeFileSync(file, '')],
  ['written to', (file: string) => writeFileSync(file, '{"event":"truncated"}\n', { flag: 'a' })],
])('a ledger that is %s during an apply ends it before the next request', async (_, change) => {
  await harness.useApprovedPlan();
  harness.faultHook = ({ method }) => {
    if (method !== 'DELETE' || harness.writes().length > 1) return undefined; // this one is among them
    change(ledger());
    if (existsSync(`${ledger()}.new`)) renameSync(`${ledger()}.new`, ledger());
    return undefined;
  };
  const { exit, stderr } = await harness.place.apply([], 4);
  expect([exit, stderr]).toEqual([4, expect.stringContaining('ledger.ndjson was removed, replaced or changed')]);
  expect(harness.writes()).toHaveLength(1);
});

test('a restored ledger knows what the service accepted and what was satisfied, whatever the reasons say', async () => {
  const plan = await harness.useApprovedPlan();
  const [accepted, gone, failing] = plan.actions.map(({ params }) => String(params.id));
  harness.faultHook = ({ method, path }) => {
    if (method !== 'DELETE') return undefined;
    return path.endsWith(accepted!) ? { status: 204 } : { status: 500, body: '{"errors": []}' };
  };
  harness.reset((agents) => agents.filter(({ id }) => id !== gone));
  await harness.apply([], 1);
  const readOutcomes = async () => {
    const lines = (await readFile(ledger(), 'utf8')).split('\n').filter((line) => line.includes('"outcome"'));
    return lines.map((line) => ({ ...JSON.parse(line), previous: '' }));
  };
  const outcomes = await readOutcomes();
  expect(outcomes.map(({ status, answer, satisfied }) => [status, answer, satisfied])).toEqual([
    ['unconfirmed', 'accepted', false],
    ['skipped', undefined, true],
    ['failed', 'ambiguous', false],
  ]);
  await rm(ledger());
  expect((await harness.place.tidemark(['playbook', 'ledger', '--restore'])).exit).toBe(0);
  expect(await readOutcomes()).toEqual(outcomes);
  harness.place.sandbox.log.length = 0;
  harness.faultHook = undefined;
  await harness.apply([], 1);
  expect(harness.writes()).toEqual([expect.stringMatching(new RegExp(`${failing}$`, 'u'))]);
});

test('a plan whose actions were exchanged since is neither applied nor settled', async () => {
  const plan = await harness.useApprovedPlan();
  const id = String(plan.actions[0]?.params.id);
  harness.faultHook = ({ method, path }) => (method === 'DELETE' && path.endsWith(id) ? { status: 204 } : undefined);
  await harness.apply([], 1);
  harness.faultHook = undefined;
  const [first, second, ...others] = plan.actions;
  const exchanged = { ...second!, action_id: first!.action_id };
  const edited = { ...plan, actions: [exchanged, { ...first!, action_id: second!.action_id }, ...others] };
  for (const file of [harness.place.planFile, join(harness.place.folder, 'data', 'plans', `${plan.plan_id}.json`)]) {
    await writePlan(file, { ...edited, digest: planDigest(edited), approvals: [] });
  }
  harness.place.sandbox.log.length = 0;
  const settled = await harness.place.tidemark(['playbook', 'ledger', '--settle', '--json']);
  expect([settled.exit, settled.json<{ status: string }[]>()[0]?.status]).toEqual([1, 'unconfirmed']);
  await harness.place.approve();
  const refused = await harness.place.apply([], 6);
  expect(refused.stderr).toContain(`a1 of plan ${plan.plan_id} was changed since it was applied`);
  expect(harness.writes()).toEqual([]);
});

test('a finished plan whose actions were exchanged since is refused, and is not told as finished', async () => {
  const plan = await harness.useApprovedPlan();
  await harness.apply();
  const [first, second, ...others] = plan.actions;
  const exchanged = [
    { ...second!, action_id: first!.action_id },
    { ...first!, action_id: second!.action_id },
  ];
  const edited = { ...plan, actions: [...exchanged, ...others] };
  await writePlan(harness.place.planFile, { ...edited, digest: planDigest(edited), approvals: [] });
  await harness.place.approve();
  const refused = await harness.place.apply([], 6);
  expect(refused.stderr).toContain(`a1 of plan ${plan.plan_id} was changed since it was applied`);
});

describe('what cannot be read as a ledger', () => {
  test.each([
    ['a folder', (file: string) => mkdir(file), 'cannot be read as a ledger'],
    ['a pipe', (file: string) => promisify(execFile)('mkfifo', [file]), 'cannot be read as a ledger'],
    ['a device', (file: string) => symlink('/dev/zero', file), 'cannot be read as a ledger'],
    ['a loop of links', (file: string) => symlink(file, file), 'cannot be read as a ledger'],
    ['a broken line', (file: string) => writeFile(file, '{"event":"intent"\n'), 'ledger.ndjson:1 is damaged'],
    ['a line of another kind', (file: string) => writeFile(file, '{"event":"other"}\n'), 'ledger.ndjson:1 is damaged'],
  ])('%s is refused with exit 4', async (_, create, message) => {
    await harness.useApprovedPlan();
    await rm(ledger(), { force: true });
    await create(ledger());
    for (const words of [
      ['apply', harness.place.planFile],
      ['ledger'],
      ['ledger', '--settle'],
      ['undo', harness.place.planFile],
    ]) {
      const result = await harness.place.tidemark(['playbook', ...words]);
      const expected = words[0] === 'undo' ? 6 : 4;
      expect([words, result.exit]).toEqual([words, expected]);
      if (expected === 4) expect(result.stderr).toContain(message);
    }
    expect(harness.writes()).toEqual([]);
  });
});

test('a ledger of another account is not taken for a damaged one', async () => {
  const folder = await tempFolder();
  const file = join(folder, 'ledger.ndjson');
  await writeFile(file, '', { mode: 0o600 });
  await chmod(folder, 0o755);
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid?.(65_534);
  else await chmod(file, 0);
  try {
    const error = await inspectLedger(folder, NOTHING_SEEN).catch((thrown: TidemarkError) => thrown);
    expect(error).toMatchObject({
      code: 'DATA',
      message: expect.stringMatching(/ledger\.ndjson cannot be read by this account: .* belongs to user \d+/u),
      hint: expect.stringMatching(/^run as its owner/u),
    });
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
});

test.skipIf(process.platform !== 'linux')(
  'a ledger that the disk cannot read is not called damaged: the message does not advise to replace or accept it',
  async () => {
    const folder = await tempFolder();
    await symlink('/proc/self/mem', join(folder, 'ledger.ndjson'));
    const error = await inspectLedger(folder, NOTHING_SEEN).catch((thrown: TidemarkError) => thrown);
    expect(error).toMatchObject({
      code: 'INCOMPLETE',
      message: expect.stringMatching(/ledger\.ndjson cannot be read: the disk cannot be read or written$/u),
      hint: undefined,
    });
  },
);

describe('playbook ledger --settle', () => {
  test('reads an unconfirmed action again, and records what became of it', async () => {
    const plan = await harness.useApprovedPlan();
    const id = String(plan.actions[0]?.params.id);
    harness.faultHook = ({ method, path }) => (method === 'DELETE' && path.endsWith(id) ? { status: 204 } : undefined);
    await harness.apply([], 1);
    harness.faultHook = undefined;
    const settle = () => harness.place.tidemark(['playbook', 'ledger', '--settle', '--json']);
    const first = await settle();
    expect([first.exit, first.json<{ status: string }[]>()[0]?.status]).toEqual([1, 'unconfirmed']);

    harness.reset((agents) => agents.filter((agent) => agent.id !== id));
    const second = await settle();
    expect([second.exit, second.json<object[]>()[0]]).toMatchObject([
      0,
      { status: 'applied', reason: 'confirmed late: readings show that it was applied: the agent is gone' },
    ]);
    expect(harness.writes()).toEqual([]);
  });

  test('an interrupted action that readings do not show is failed, and the next apply sends it', async () => {
    await harness.useApprovedPlan();
    await harness.apply();
    const [intent] = (await readFile(ledger(), 'utf8')).split('\n');
    await replaceLedger(harness.place, `${intent}\n`);
    harness.reset((agents) => agents);
    const { exit, stdout } = await harness.place.tidemark(['playbook', 'ledger', '--settle', '--json']);
    expect([exit, JSON.parse(stdout)[0]]).toMatchObject([
      0,
      { status: 'failed', reason: 'readings over 0.2 s agree that it was not applied' },
    ]);
    expect(harness.writes()).toEqual([]);
    await harness.apply();
    expect(harness.writes()).toHaveLength(3);
  });

  test('a finding whose action is unconfirmed is not planned again', async () => {
    const plan = await harness.useApprovedPlan();
    const id = String(plan.actions[0]?.params.id);
    harness.faultHook = ({ method, path }) => (method === 'DELETE' && path.endsWith(id) ? { status: 204 } : undefined);
    await harness.apply([], 1);
    harness.faultHook = undefined;
    const next = await harness.place.plan(['--max-percent', '100']);
    expect(next.skipped).toContainEqual({
      finding_id: plan.actions[0]?.finding_id,
      reason: `a1 of plan ${plan.plan_id} is unconfirmed: run \`tidemark playbook ledger --settle\``,
    });
  });
});
