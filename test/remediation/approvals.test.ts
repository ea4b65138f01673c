import { execFileSync, spawnSync } from 'node:child_process';
import { copyFile, mkdir, readFile, realpath, symlink, writeFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import type { Plan } from '../../src/act/plan-file.ts';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { createSshKey, type SshKey } from '../helpers/ssh-keys.ts';
import { tempFolder } from '../helpers/temp.ts';
import { applyHarness } from './apply-harness.ts';

const harness = applyHarness({ updatesTable: false, playbook: 'reap-dead-agents' });
const keys: Readonly<Record<string, SshKey>> = { alice: createSshKey(), bob: createSshKey(), carol: createSshKey() };

const PEOPLE = [
  { name: 'alice', key: keys.alice!.line, groups: ['security'] },
  { name: 'bob', key: keys.bob!.line },
  { name: 'carol', key: keys.carol!.line, groups: ['security'] },
];

const useApprovers = (approvers: object) =>
  harness.place.configure((config) => {
    config.approvers = { people: PEOPLE, ...approvers };
  });

const run = async (...words: string[]) => {
  const { exit, stdout, stderr } = await harness.place.tidemark(['playbook', ...words]);
  return { exit, stdout, stderr };
};

/** What `--print` prints, signed by a key, in a file. */
async function signature(name: string, plan: string, key: SshKey | undefined, options: object = {}): Promise<string> {
  const { stdout, exit, stderr } = await run('approve', plan, '--by', name, '--irreversible', '--print');
  expect(exit, stderr).toBe(0);
  const file = join(await tempFolder(), 'approval.sig');
  await writeFile(file, (key ?? keys[name]!).sign(stdout, options));
  return file;
}

const sign = async (name: string, plan: string, file?: string) =>
  run('approve', plan, '--by', name, '--irreversible', '--signature', file ?? (await signature(name, plan, undefined)));

const approve = async (plan: string, ...names: string[]) => {
  for (const name of names) expect(await sign(name, plan)).toMatchObject({ exit: 0 });
};

/** The reason for which an apply is refused; nothing is sent. */
async function refusal(plan: string): Promise<string> {
  harness.place.sandbox.log.length = 0;
  const { exit, stderr } = await run('apply', plan);
  expect([exit, harness.place.sandbox.log]).toEqual([6, []]);
  return stderr;
}

let plan: Plan;
const kept = () => join(harness.place.folder, 'data', 'plans', `${plan.plan_id}.json`);
beforeEach(async () => {
  await useApprovers({});
  plan = await harness.place.plan(['--max-percent', '100']);
});

describe('with `approvers:`', () => {
  test('a plan is applied once a listed approver has signed it, and the ledger names the approver', async () => {
    const { plan_id: id } = plan;
    expect(await run('approve', id, '--by', 'alice', '--irreversible')).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining('an approval needs a signature'),
    });
    expect(await refusal(id)).toContain(`plan ${id} is not approved`);
    const { stdout } = await run('approve', id, '--by', 'alice', '--irreversible', '--print');
    expect(stdout).toBe(
      [
        'Approval of a tidemark plan, version 1',
        `digest: sha256:${plan.digest}`,
        `plan: ${id}`,
        'playbook: reap-dead-agents',
        `actions: ${plan.actions.length}`,
        'irreversible actions included: yes',
        'approver: alice',
        '',
      ].join('\n'),
    );
    expect(await refusal(id), 'printing approves nothing').toContain('is not approved');
    await approve(id, 'alice');
    expect((await run('show', id)).stdout).toMatch(/approved by alice at .*, signed, irreversible actions included/u);
    expect((await run('apply', id)).exit).toBe(0);
    expect(new Set((await harness.place.ledger()).map(({ approved_by }) => approved_by))).toEqual(new Set(['alice']));
  });

  test('a signature of another key, name, plan, namespace or text is refused, and the plan stays as it is', async () => {
    const { plan_id: id } = plan;
    const other = await harness.place.plan(['--max-percent', '100']);
    plan = other;
    const before = await readFile(kept(), 'utf8');
    const refused = async (file: string, reason: string) => {
      const result = await sign('alice', other.plan_id, file);
      expect([result.exit, result.stderr]).toEqual([6, expect.stringContaining(reason)]);
    };
    await refused(await signature('alice', other.plan_id, keys.bob), 'another key made it');
    await refused(await signature('bob', other.plan_id, keys.alice), 'it is of another text');
    await refused(await signature('alice', id, undefined), 'it is of another text');
    await refused(await signature('alice', other.plan_id, undefined, { namespace: 'git' }), 'it is of namespace git');
    await refused(join(harness.place.folder, 'tidemark.yaml'), 'not an Ed25519 signature');
    const missing = await sign('alice', other.plan_id, '/nowhere');
    expect([missing.exit, missing.stderr]).toEqual([2, expect.stringContaining('/nowhere does not exist')]);
    const device = await sign('alice', other.plan_id, '/dev/zero');
    expect([device.exit, device.stderr]).toEqual([2, expect.stringContaining('it is not a regular file')]);
    expect(await sign('mallory', other.plan_id, '/nowhere')).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining('mallory is not one of the approvers'),
    });
    expect(await readFile(kept(), 'utf8')).toBe(before);
  });

  test('what was approved before a key was taken away does not count', async () => {
    await approve(plan.plan_id, 'alice');
    await useApprovers({ people: PEOPLE.slice(1) });
    expect(await refusal(plan.plan_id)).toContain(
      'has 0 of 1 approval; that of alice does not count: the configuration does not list this approver',
    );
    await useApprovers({ people: [{ ...PEOPLE[0], key: createSshKey().line }] });
    expect(await refusal(plan.plan_id)).toContain('that of alice does not count: another key made it');
  });

  test('approvals by ID and by a file are approvals of one plan', async () => {
    await useApprovers({ approvals: 2 });
    const file = join(harness.place.folder, 'plan.json');
    await copyFile(kept(), file);
    await approve(plan.plan_id, 'alice');
    await approve(file, 'bob');
    const names = async (path: string) =>
      (JSON.parse(await readFile(path, 'utf8')) as Plan).approvals.map(({ by }) => by);
    expect([await names(kept()), await names(file)]).toEqual([
      ['alice', 'bob'],
      ['alice', 'bob'],
    ]);
    await useApprovers({ approvals: 3 });
    expect(await refusal(file)).toContain('has 2 of 3 approvals');
    await approve(plan.plan_id, 'carol');
    expect((await run('show', file)).stdout).toContain('approved by carol');
    expect((await run('apply', file)).exit).toBe(0);
    expect(await names(kept())).toEqual(['alice', 'bob', 'carol']);
  });

  test('a link to a plan stays a link, and what it leads to is approved', async () => {
    const file = join(harness.place.folder, 'plan.json');
    await copyFile(kept(), file);
    const link = join(harness.place.folder, 'latest.json');
    await symlink(file, link);
    await approve(link, 'alice');
    expect(await realpath(link)).toBe(await realpath(file));
    expect(JSON.parse(await readFile(file, 'utf8')).approvals).toMatchObject([{ by: 'alice' }]);
  });

  test('approvals that are given at the same time, by ID and by a file, all count', async () => {
    await useApprovers({ approvals: 3 });
    const file = join(harness.place.folder, 'plan.json');
    await copyFile(kept(), file);
    const signed: [name: string, plan: string, file: string][] = [];
    for (const [name, by] of [
      ['alice', file],
      ['bob', plan.plan_id],
      ['carol', file],
    ] as const)
      signed.push([name, by, await signature(name, by, undefined)]);
    const results = await Promise.all(signed.map((words) => sign(...words)));
    expect(results.map(({ exit }) => exit)).toEqual([0, 0, 0]);
    expect((await run('apply', plan.plan_id)).exit).toBe(0);
  });

  test('an approval without a signature does not count, and is not shown as one', async () => {
    await harness.place.configure((config) => {
      delete config.approvers;
    });
    expect((await run('approve', plan.plan_id, '--by', 'alice', '--irreversible')).exit).toBe(0);
    await useApprovers({});
    expect(await refusal(plan.plan_id)).toContain('that of alice does not count: it is not signed');
    expect((await run('show', plan.plan_id)).stdout).toContain(
      'the approval by alice does not count: it is not signed;',
    );
    expect((await sign('bob', plan.plan_id)).stdout).toContain('is approved by bob; valid until');
  });

  test('the digest that is shown is the one that is signed', async () => {
    const shown = (await run('show', plan.plan_id)).stdout;
    const statement = (await run('approve', plan.plan_id, '--by', 'bob', '--irreversible', '--print')).stdout;
    expect(shown).toContain(`\ndigest: sha256:${plan.digest}\n`);
    expect(statement).toContain(`\ndigest: sha256:${plan.digest}\n`);
  });

  test('the planner may not approve', async () => {
    const accounts = [userInfo().username.toUpperCase()];
    expect(plan.planned_by?.who.split('@')[0]).toBe(userInfo().username);
    await approve(plan.plan_id, 'bob');
    await useApprovers({ people: PEOPLE.map((person) => (person.name === 'bob' ? { ...person, accounts } : person)) });
    expect(await run('approve', plan.plan_id, '--by', 'bob', '--irreversible', '--print')).toMatchObject({
      exit: 6,
      stderr: expect.stringContaining(`bob made plan ${plan.plan_id} and cannot approve it`),
    });
    expect(await refusal(plan.plan_id)).toContain('that of bob does not count: the planner may not approve');
    await approve(plan.plan_id, 'alice');
    expect((await run('apply', plan.plan_id)).exit).toBe(0);
  });

  test('two approvals are of two people, and the second is added to the first', async () => {
    await useApprovers({ approvals: 2 });
    await approve(plan.plan_id, 'alice', 'alice');
    expect(await refusal(plan.plan_id)).toContain(`plan ${plan.plan_id} has 1 of 2 approvals`);
    const one = JSON.parse(await readFile(kept(), 'utf8')) as Plan;
    expect(one.approvals).toHaveLength(1);
    await writeFile(kept(), JSON.stringify({ ...one, approvals: [...one.approvals, ...one.approvals] }));
    expect(await refusal(plan.plan_id)).toContain(
      'has 1 of 2 approvals; that of alice does not count: it is there twice',
    );
    await writeFile(kept(), JSON.stringify(one));
    await approve(plan.plan_id, 'bob');
    expect((await run('apply', plan.plan_id)).exit).toBe(0);
    expect((await harness.place.ledger())[0]?.approved_by).toBe('alice, bob');
  });

  test.each([
    [{ playbook: 'reap-dead-agents' }, 'reap-dead-agents'],
    [{ severity: 'warning' }, 'warning'],
    [{ severity: 'info' }, 'info'],
    [{ target: 'acme', severity: 'warning' }, 'warning, acme'],
  ])('the rule %o asks for the approval of a group', async (rule, why) => {
    await useApprovers({ rules: [{ ...rule, group: 'security' }] });
    await approve(plan.plan_id, 'bob');
    expect(await refusal(plan.plan_id)).toContain(`has 0 of 1 approval of group security (${why})`);
    await useApprovers({ rules: [{ ...rule, group: 'security', approvals: 2 }] });
    await approve(plan.plan_id, 'alice');
    expect(await refusal(plan.plan_id)).toContain('has 1 of 2 approvals of group security');
    await approve(plan.plan_id, 'carol');
    expect((await run('apply', plan.plan_id)).exit).toBe(0);
  });

  test.each([{ playbook: 'rotate-old-keys' }, { severity: 'critical' }, { target: 'vault' }])(
    'the rule %o does not bind a plan that it is not about',
    async (rule) => {
      await useApprovers({ rules: [{ ...rule, group: 'security' }] });
      await approve(plan.plan_id, 'bob');
      expect((await run('apply', plan.plan_id)).exit).toBe(0);
    },
  );

  test('a severity is that of the worst that the rule may find, and not of what it has found', async () => {
    const rule = join('queries', 'findings', 'dead-agent.sql');
    const text = await readFile(join(PACKAGE_ROOT, rule), 'utf8');
    await mkdir(join(harness.place.folder, 'queries', 'findings'), { recursive: true });
    const worse = text.replace('-- severity: warning\n', '-- severity: warning\n-- worst: critical\n');
    await writeFile(join(harness.place.folder, rule), worse);
    await useApprovers({ rules: [{ severity: 'critical', group: 'security' }] });
    await approve(plan.plan_id, 'bob');
    expect(await refusal(plan.plan_id)).toContain('has 0 of 1 approval of group security (critical)');
  });

  test.each([
    ['Renée ', 'Rene\u0301e'],
    ['Rene\u0301e', ' Renée'],
  ])('the approver %j is the one who signs as %j: both look the same', async (name, by) => {
    await useApprovers({ people: [{ name, key: keys.alice!.line }] });
    const file = await signature(by, plan.plan_id, keys.alice);
    expect(await sign(by, plan.plan_id, file)).toMatchObject({ exit: 0 });
    await harness.apply();
    expect((await harness.place.ledger())[0]).toMatchObject({ status: 'applied', approved_by: 'Renée' });
  });

  test.each([
    ['--key', '--signature'],
    ['--print', '--key'],
    ['--print', '--signature'],
  ])('%s and %s together are refused: one of them would be ignored', async (one, other) => {
    const words = [one, other].flatMap((option) => (option === '--print' ? [option] : [option, 'file']));
    const { exit, stderr } = await run('approve', plan.plan_id, '--by', 'alice', ...words);
    expect([exit, stderr]).toEqual([2, expect.stringMatching(/option '.*' cannot be used with option '.*'/u)]);
  });

  test('a job that would apply without a signature is refused before it pulls', async () => {
    const playbooks = [{ name: 'scope-unused-pools', mode: 'apply', approvedBy: 'platform team' }];
    await writeFile(join(harness.place.folder, 'jobs', 'nightly.yaml'), stringify({ pull: 'all', playbooks }));
    harness.place.sandbox.log.length = 0;
    const { exit, stderr } = await harness.place.tidemark(['run', 'nightly']);
    expect([exit, stderr]).toEqual([2, expect.stringContaining('playbooks[0].mode: apply has no signature')]);
    expect(harness.place.sandbox.log).toEqual([]);
  });
});

const hasKeygen = spawnSync('ssh-keygen', ['-?']).error === undefined;
if (!hasKeygen) console.log('tests with ssh-keygen are skipped: it is not in the path');

test.skipIf(!hasKeygen)('--key signs with the real ssh-keygen; what it refuses is one line', async () => {
  const file = join(await tempFolder(), 'id');
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', file]);
  const key = (await readFile(`${file}.pub`, 'utf8')).trim();
  await useApprovers({ people: [{ name: 'dora', key }] });
  const words = ['approve', plan.plan_id, '--by', 'dora', '--irreversible', '--key'];
  const refused = await run(...words, `${file}.none`);
  expect([refused.exit, refused.stderr]).toEqual([
    2,
    expect.stringContaining(`ssh-keygen did not sign with ${file}.none`),
  ]);
  expect(await refusal(plan.plan_id)).toContain('is not approved');
  expect(await run(...words, file)).toMatchObject({ exit: 0 });
  expect((await run('apply', plan.plan_id)).exit).toBe(0);
});

test('a signature is refused where the configuration has no approvers', async () => {
  const file = await signature('alice', plan.plan_id, undefined);
  await harness.place.configure((config) => {
    delete config.approvers;
  });
  const { exit, stderr } = await sign('alice', plan.plan_id, file);
  expect([exit, stderr]).toEqual([2, expect.stringContaining('the configuration has no approvers')]);
});

test.each<[string, object, string]>([
  [
    'a key that is none',
    { people: [{ name: 'a', key: 'ssh-rsa AAAA' }] },
    'people[0].key: must be the line of an Ed25519',
  ],
  ['a name twice', { people: [PEOPLE[0], { ...PEOPLE[1], name: 'alice' }] }, 'people[1].name: alice is there twice'],
  [
    'a key of another kind after one that is known',
    { people: [PEOPLE[0], { name: 'b', key: 'ssh-rsa AAAA' }] },
    'people[1].key: must be the line of an Ed25519',
  ],
  ['a key twice', { people: [PEOPLE[0], { ...PEOPLE[0], name: 'a2' }] }, 'people[1].key: is the key of alice'],
  ['too few people', { approvals: 4 }, 'approvers.approvals: 4 must sign, and 3 are named'],
  ['too small a group', { rules: [{ target: 'acme', group: 'none' }] }, 'none has 0 of the 1 approvers'],
  ['an unknown target', { rules: [{ target: 'acmee', group: 'security' }] }, 'no target has the name acmee'],
  ['a rule about nothing', { rules: [{ group: 'security' }] }, 'rules[0]: needs a playbook, a severity or a target'],
  ['an unknown key', { people: [{ ...PEOPLE[0], keys: [] }] }, 'people[0].keys: unknown key; did you mean key?'],
  ['an unknown playbook', { rules: [{ playbook: 'reap', group: 'security' }] }, 'unknown playbook reap'],
])('%s is a configuration error with its field', async (_, approvers, message) => {
  await useApprovers(approvers);
  const { exit, stderr } = await run('show', plan.plan_id);
  await useApprovers({});
  expect([exit, stderr]).toEqual([2, expect.stringContaining(message)]);
});
