import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  copyState,
  listWrites,
  type PlaybookHarness,
  playbookHarness,
  restoreState,
} from '../helpers/playbook-harness.ts';

/** A call that may still take effect is not made again, whichever plan asks for it. */

interface Row {
  readonly status: string;
  readonly reason: string | null;
}

/** A project with two approved plans of the same findings, where the service answers 504 to the first request. */
async function twoPlans(playbook: string, sources: readonly string[] = []) {
  let isBroken = true;
  const place = await playbookHarness({
    updatesTable: false,
    playbook,
    sources,
    faultHook: ({ method }) => {
      if (['GET', 'LIST'].includes(method) || !isBroken) return undefined;
      isBroken = false;
      return { status: 504, body: 'upstream timed out' };
    },
  });
  const plan = await place.plan(['--max-percent', '100']);
  await place.approve();
  const second = join(place.folder, 'second.json');
  const words = ['playbook', 'plan', playbook, '-o', second, '--max-percent', '100'];
  expect((await place.tidemark(words)).exit).toBe(0);
  const approve = ['playbook', 'approve', second, '--by', 'another operator', '--irreversible'];
  expect((await place.tidemark(approve)).exit).toBe(0);
  return { place, plan, second };
}

const firstRow = async (place: PlaybookHarness, file: string): Promise<readonly [number, Row | undefined]> => {
  const { exit, json } = await place.tidemark(['playbook', 'apply', file, '--json']);
  return [exit, json<{ rows: Row[] }>().rows[0]];
};

test('another plan does not repeat a rotation that is unconfirmed, until it is settled', async () => {
  const { place, plan, second } = await twoPlans('rotate-old-keys');
  const name = String(plan.actions[0]?.params.name);
  const rotations = () => listWrites(place.sandbox.log).filter(({ path }) => path.includes(`/${name}/`));
  expect(await firstRow(place, place.planFile)).toMatchObject([1, { status: 'unconfirmed' }]);
  const reason = `a1 of plan ${plan.plan_id} is unconfirmed: run \`tidemark playbook ledger --settle\``;
  expect(await firstRow(place, second)).toMatchObject([1, { status: 'failed', reason }]);
  expect(rotations()).toHaveLength(1);

  // A job settles it every night. What it finds again is not recorded again.
  const settle = async () => {
    const { exit } = await place.tidemark(['playbook', 'ledger', '--settle']);
    return [exit, (await readFile(join(place.folder, 'data', 'ledger.ndjson'), 'utf8')).split('\n').length] as const;
  };
  const [exit, lines] = await settle();
  expect([exit, await settle()]).toEqual([1, [1, lines]]);
  const mistyped = await place.tidemark(['playbook', 'ledger', '--settle', '--plan', 'p-2026']);
  expect(mistyped).toMatchObject({ exit: 0, stdout: 'the ledger has no action of plan p-2026\n' });

  const { versions } = place.sandbox.services.secrets.state.keys.get(name)!;
  versions.push({ creationTime: place.sandbox.now.toISOString() });
  expect((await place.tidemark(['playbook', 'ledger', '--settle'])).exit).toBe(0);
  await place.tidemark(['playbook', 'apply', second]);
  expect(rotations()).toHaveLength(1);
});

test('a change that Vault lays before a control group is unconfirmed, and its reason says why', async () => {
  const wrapped = {
    data: null,
    wrap_info: { token: 'hvs.CAESIJ-secret', ttl: 300, creation_path: 'keymgmt/key/a/rotate' },
  };
  const place = await playbookHarness({
    updatesTable: false,
    playbook: 'rotate-old-keys',
    faultHook: ({ method }) => (method === 'POST' ? { status: 200, body: JSON.stringify(wrapped) } : undefined),
  });
  await place.plan(['--max-percent', '100', '--limit', '1']);
  await place.approve();
  const { stderr, json } = await place.apply([], 1);
  const [row] = json<{ rows: Row[] }>().rows;
  expect([row?.status, row?.reason]).toEqual([
    'unconfirmed',
    'the service accepted it, and readings over 0.2 s do not show it: Vault wraps what this path answers: give the token a policy that has no `control_group` for it',
  ]);
  const ledger = await readFile(join(place.folder, 'data', 'ledger.ndjson'), 'utf8');
  expect(stderr + ledger).not.toContain('hvs.');
});

test('a change that the service accepted, whose subject someone else changes in the same moment, is unconfirmed, and its reason says what was read', async () => {
  const place = await playbookHarness({
    updatesTable: false,
    playbook: 'retire-old-key-versions',
    faultHook: ({ method, path }) => {
      const { versions } = place.sandbox.services.secrets.state.keys.get(path.split('/').at(-1)!) ?? {};
      if (method === 'POST') versions?.push({ creationTime: place.sandbox.now.toISOString() });
      return undefined;
    },
  });
  await place.plan(['--max-percent', '100', '--limit', '1']);
  await place.approve();
  const [row] = (await place.apply([], 1)).json<{ rows: Row[] }>().rows;
  const reason = /^the service accepted it, and readings over 0.2 s do not show it: its newest version is \d+$/u;
  expect(row).toMatchObject({ status: 'unconfirmed', reason: expect.stringMatching(reason) });
});

test('a view that may still be created is not created for another finding', async () => {
  const { place, plan, second } = await twoPlans('pin-drift-view', ['saved_views']);
  expect(plan.actions[0]?.finding_ids?.length).toBeGreaterThan(1);
  expect(await firstRow(place, place.planFile)).toMatchObject([1, { status: 'unconfirmed' }]);
  expect(await firstRow(place, second)).toMatchObject([1, { status: 'failed' }]);
  expect((await place.plan()).actions).toEqual([]);
  expect(listWrites(place.sandbox.log)).toHaveLength(1);
});

test('what was applied since the last pull is not planned again: apply would take a plan of it for a fault of the service', async () => {
  const place = await playbookHarness({ playbook: 'rotate-old-keys' });
  const initial = copyState(place);
  const words = ['--max-percent', '100'];
  const first = await place.plan(words);
  expect(first.actions.length).toBeGreaterThan(1);
  await place.approve();
  const later = (minutes: number) => ['--now', new Date(place.sandbox.now.getTime() + minutes * 60_000).toISOString()];
  const applied = await place.apply(later(1));
  const [row] = applied.json<{ rows: { finished_at: string }[] }>().rows;
  const second = await place.plan([...words, ...later(2)]);
  const done = `a1 of plan ${first.plan_id} was applied at ${row?.finished_at}, and no run has evaluated its rule since`;
  expect(second.actions).toEqual([]);
  expect(second.skipped[0]?.reason).toBe(`${done}: run a job`);
  expect(second.skipped).toHaveLength(first.actions.length);

  place.sandbox.tick();
  restoreState(place, initial);
  await place.runJob();
  const third = await place.plan(words);
  expect(third.actions.map(({ params }) => params)).toEqual(first.actions.map(({ params }) => params));
});
