import { existsSync } from 'node:fs';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { applyHarness } from './apply-harness.ts';

const harness = applyHarness({ updatesTable: false, playbook: 'reap-dead-agents' });
const PLAN = ['playbook', 'plan', 'reap-dead-agents', '-o', 'plan.json', '--max-percent', '100'];

/** The files that hold plans, beside those that every plan is kept in. */
async function planFiles(): Promise<readonly string[]> {
  const names = await readdir(harness.place.folder);
  return names.filter((name) => name.startsWith('plan.json')).sort();
}

const tidemark = (...words: string[]) => harness.place.tidemark(words);

afterEach(async () => {
  for (const name of await planFiles()) await rm(join(harness.place.folder, name));
});

test.each([
  ['a limit', ['--max-actions', '1'], 6],
  ['an unknown target', ['--target', 'nowhere'], 2],
])('a plan that is refused for %s leaves no earlier plan in its file', async (_, words, exit) => {
  const { plan_id } = await harness.planAndApprove();
  const { file } = { file: harness.place.planFile };
  const approved = await readFile(file, 'utf8');
  const refused = await tidemark(...PLAN, ...words);
  expect(refused.exit).toBe(exit);
  expect(refused.stderr).toContain(`plan.json held an earlier plan, which is now in ${file}.${plan_id}`);
  expect(await planFiles()).toEqual([`plan.json.${plan_id}`]);
  expect(await readFile(`${file}.${plan_id}`, 'utf8')).toBe(approved);
  const applied = await tidemark('playbook', 'apply', 'plan.json');
  expect([applied.exit, applied.stderr]).toEqual([2, expect.stringContaining('neither a file nor the ID of a plan')]);
  expect(harness.writes()).toEqual([]);
});

test('a refused plan leaves a file alone that holds no plan', async () => {
  await writeFile(harness.place.planFile, 'notes of mine');
  expect((await tidemark(...PLAN, '--max-actions', '1')).exit).toBe(6);
  expect(await readFile(harness.place.planFile, 'utf8')).toBe('notes of mine');
});

test('a new plan replaces one that is not approved, and never destroys an approved one', async () => {
  expect((await tidemark(...PLAN)).exit).toBe(0);
  expect((await tidemark(...PLAN)).exit).toBe(0);
  expect(await planFiles()).toEqual(['plan.json']);
  const { plan_id } = await harness.planAndApprove();
  const again = await tidemark(...PLAN);
  expect([again.exit, again.stderr]).toEqual([0, expect.stringContaining(`plan.json.${plan_id}`)]);
  expect(await planFiles()).toEqual(['plan.json', `plan.json.${plan_id}`]);
});

test('an undo that is refused leaves no earlier plan in its file either', async () => {
  const { plan_id } = await harness.planAndApprove();
  const refused = await tidemark('playbook', 'undo', plan_id, '-o', 'plan.json');
  expect([refused.exit, existsSync(harness.place.planFile)]).toEqual([6, false]);
});

test('a finished plan that is applied again says so in one line, also after its time, and asks nobody', async () => {
  const { plan_id } = await harness.planAndApprove();
  const first = await tidemark('playbook', 'apply', 'plan.json');
  expect(first.exit).toBe(0);
  harness.place.sandbox.log.length = 0;
  const later = new Date(harness.place.sandbox.now.getTime() + 72 * 3_600_000).toISOString();
  for (const words of [[], ['--now', later]]) {
    const again = await tidemark('playbook', 'apply', 'plan.json', ...words);
    expect([again.exit, again.stdout, again.stderr]).toEqual([
      0,
      expect.stringMatching(new RegExp(`^plan ${plan_id} is finished, nothing to do: \\d+ applied\n$`, 'u')),
      '',
    ]);
  }
  expect(harness.place.sandbox.log).toEqual([]);
});

test('a plan with a failed action is not finished', async () => {
  await harness.planAndApprove();
  harness.faultHook = ({ method }, service) => (method === 'DELETE' ? service.error(403, 'no') : undefined);
  expect((await tidemark('playbook', 'apply', 'plan.json')).exit).toBe(1);
  harness.faultHook = undefined;
  const again = await tidemark('playbook', 'apply', 'plan.json');
  expect([again.exit, again.stdout]).toEqual([0, expect.not.stringContaining('is finished')]);
});
