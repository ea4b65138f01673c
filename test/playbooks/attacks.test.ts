import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { approvalDigest, type Plan, planDigest } from '../../src/act/plan-file.ts';
import { builtInPlaybooks } from '../../src/act/playbooks/index.ts';
import { isReversible } from '../../src/act/registry.ts';
import { listWrites, type PlaybookHarness, playbookHarness } from '../helpers/playbook-harness.ts';
import { createSshKey } from '../helpers/ssh-keys.ts';
import { cleanAtEnd, tempFolder } from '../helpers/temp.ts';

/** What someone does who can write the plan file, and compute its digests, against every playbook that a job may apply. */

const cleanup = cleanAtEnd();
const keys = { alice: createSshKey(), bob: createSshKey() };
const people = Object.entries(keys).map(([name, { line }]) => ({ name, key: line }));
type Name = keyof typeof keys;

/** Approvals and times are checked before what a playbook makes. */
const ANY = 'scope-unused-pools';

let shared: PlaybookHarness;
beforeAll(async () => {
  shared = await playbookHarness({ playbook: ANY, updatesTable: false, cleanup });
});

const HOUR_MS = 3_600_000;
const hoursAfter = (plan: Plan, hours: number) => new Date(Date.parse(plan.created_at) + hours * HOUR_MS).toISOString();

/** The plan with a change, and with digests that fit it again. */
function resign(plan: Plan, change: (copy: Plan) => void): Plan {
  const copy = structuredClone(plan);
  change(copy);
  copy.digest = planDigest(copy);
  copy.approvals = copy.approvals.map((approval) => ({ ...approval, digest: approvalDigest(copy, approval) }));
  return copy;
}

type Holder = Record<string, unknown>;

/** Every text in a value, with what holds it. */
function listTexts(value: unknown): readonly (readonly [Holder, string])[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    typeof inner === 'string' ? [[value as Holder, name] as const] : listTexts(inner),
  );
}

const useApprovers = (approvers: object | undefined) =>
  shared.configure((config) => {
    config.approvers = approvers;
  });

/** Applies a plan that must be refused, and returns the reason. */
async function refused(plan: Plan, now = plan.created_at): Promise<string> {
  await writeFile(shared.planFile, JSON.stringify(plan));
  shared.sandbox.log.length = 0;
  const { stderr } = await shared.switchTo(plan.playbook).apply(['--now', now], 6);
  expect(listWrites(shared.sandbox.log)).toEqual([]);
  return stderr;
}

async function planned(name: string, approvers?: object): Promise<Plan> {
  await useApprovers(approvers);
  return shared.switchTo(name).plan(['--max-percent', '100']);
}

/** The plan with the approval of one person, signed. */
async function sign(by: Name, now: string): Promise<Plan> {
  const words = ['playbook', 'approve', shared.planFile, '--by', by, '--now', now];
  const { stdout } = await shared.tidemark([...words, '--print']);
  const file = join(await tempFolder(), 'sig');
  await writeFile(file, keys[by].sign(stdout));
  const { exit, stderr } = await shared.tidemark([...words, '--signature', file]);
  expect(exit, stderr).toBe(0);
  return read();
}

const read = async () => JSON.parse(await readFile(shared.planFile, 'utf8')) as Plan;

describe.each(builtInPlaybooks.filter(isReversible).map(({ name }) => name))('%s', (name) => {
  test('a forged plan is refused: without approvers where it acts on another subject than it reads, with them always', async () => {
    await planned(name);
    await shared.switchTo(name).approve();
    const approved = await read();
    const [action] = approved.actions;
    const parts = { params: action!.params, body: action!.body, reads: action!.guard.reads };
    for (const [part, value] of Object.entries(parts)) {
      for (const index of listTexts(value).keys()) {
        const forged = resign(approved, ({ actions: [copy] }) => {
          const [holder, field] = listTexts({ ...copy!, ...copy!.guard }[part as keyof typeof parts])[index]!;
          holder[field] = `${holder[field]}-2`;
        });
        expect(await refused(forged), `${part} ${index}`).toMatch(/another guard for|makes another call of/u);
      }
    }

    await planned(name, { people });
    const signed = await sign('alice', (await read()).created_at);
    const changes: readonly ((copy: Plan) => void)[] = [
      (copy) => Object.assign(copy.actions[0]!, { summary: 'something harmless' }),
      (copy) =>
        Object.assign(copy.targets![0]!, { identity: null, name: copy.targets![0]!.name }) &&
        copy.skipped.push({ finding_id: 'f', reason: 'r' }),
      (copy) => Object.assign(copy.planned_by!, { who: 'nobody@nowhere' }),
      (copy) => copy.actions.push({ ...copy.actions[0]!, action_id: 'more' }),
      (copy) => Object.assign(copy, { created_at: hoursAfter(copy, -1) }),
      (copy) => Object.assign(copy.approvals[0]!, { irreversible: true }),
    ];
    for (const change of changes) {
      expect(await refused(resign(signed, change), signed.created_at)).toContain(
        'that of alice does not count: it is of another text',
      );
    }
    await rm(join(shared.folder, 'data', 'plans', `${signed.plan_id}.json`)); // its approval by alice is one of the file as well
    const renamed = resign(signed, (copy) => Object.assign(copy.approvals[0]!, { by: 'bob' }));
    expect(await refused(renamed)).toContain('that of bob does not count: another key made it');
  });

  test('after the attacks, two people approve and the plan is applied, once', async () => {
    const plan = await planned(name, { people, approvals: 2 });
    await sign('alice', plan.created_at);
    await sign('bob', plan.created_at);
    shared.sandbox.log.length = 0;
    await shared.switchTo(name).apply();
    const ledger = (await shared.switchTo(name).ledger()).filter(({ plan_id }) => plan_id === plan.plan_id);
    expect(ledger.map(({ status, approved_by }) => [status, approved_by])).toEqual(
      plan.actions.map(() => ['applied', 'alice, bob']),
    );
    const sent = listWrites(shared.sandbox.log).length;
    await shared.switchTo(name).apply();
    expect(listWrites(shared.sandbox.log)).toHaveLength(sent);
  });
});

test('an approval that is replayed on another plan of the same actions is refused', async () => {
  const first = await planned(ANY, { people });
  const signed = await sign('alice', first.created_at);
  const second = await planned(ANY, { people });
  expect(second.actions).toEqual(first.actions);
  const replayed = resign({ ...second, approvals: signed.approvals }, () => {});
  expect(await refused(replayed)).toContain('that of alice does not count: it is of another text');
});

test('what is to be signed has no line or control sequence of the plan file', async () => {
  const plan = await planned(ANY, { people });
  const forged = resign(plan, (copy) => Object.assign(copy, { playbook: `${ANY}\u001b[2K\nactions: 0` }));
  await writeFile(shared.planFile, JSON.stringify(forged));
  const words = ['playbook', 'approve', shared.planFile, '--by', 'alice', '--print', '--now', plan.created_at];
  const { exit, stdout, stderr } = await shared.tidemark(words);
  expect([exit, stdout, stderr]).toEqual([6, '', expect.stringContaining('is not a plan of this version')]);
});

test('a plan that one person approves twice has one approval', async () => {
  const { created_at } = await planned(ANY, { people, approvals: 2 });
  await sign('alice', created_at);
  const twice = await sign('alice', hoursAfter({ created_at } as Plan, 1));
  expect(await refused(twice, hoursAfter(twice, 1))).toContain('has 1 of 2 approvals');
  const copied = { ...twice, approvals: [...twice.approvals, ...twice.approvals] };
  expect(await refused(copied, hoursAfter(twice, 1))).toContain('that of alice does not count: it is there twice');
});

test('an expired plan is refused, whatever it says of its end, and with an earlier time as well', async () => {
  await planned(ANY);
  await shared.switchTo(ANY).approve();
  const plan = await read();
  expect(await refused(plan, hoursAfter(plan, 24))).toContain('expired at');
  for (const end of ['2099-01-01T00:00:00.000Z', hoursAfter(plan, 25)]) {
    const longer = resign(plan, (copy) => Object.assign(copy, { expires_at: end }));
    for (const hours of [1, 24.5])
      expect(await refused(longer, hoursAfter(plan, hours))).toContain('longer than `planHours`');
  }
  for (const end of ['never', '', '9999999']) {
    const endless = resign(plan, (copy) => Object.assign(copy, { expires_at: end }));
    expect(await refused(endless)).toContain('is not a plan of this version');
  }
  const late = resign(plan, (copy) => Object.assign(copy.approvals[0]!, { at: hoursAfter(copy, 23) }));
  expect(await refused(late, hoursAfter(plan, 22))).toContain('which is in the future of');
});
