import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Plan } from '../../src/act/plan-file.ts';
import { builtInPlaybooks } from '../../src/act/playbooks/index.ts';
import { isReversible } from '../../src/act/registry.ts';
import {
  copyState,
  listWrites,
  liveState,
  playbookHarness,
  type RemoteState,
  replaceLedger,
} from '../helpers/playbook-harness.ts';
import { expectUndo, REVERSIBLE, type Rows } from './expect-undo.ts';

const IRREVERSIBLE = [
  'reap-dead-agents',
  'rotate-old-keys',
  'remove-empty-providers',
  'remove-empty-pools',
  'drop-dead-views',
  'deregister-missing-volumes',
  'detach-lost-claims',
  'downgrade-management-roles',
  'remove-retired-keys',
  'drop-stale-snapshots',
];

test('each playbook declares whether it can be undone', () => {
  const names = (reversible: boolean) =>
    builtInPlaybooks.filter((playbook) => isReversible(playbook) === reversible).map(({ name }) => name);
  expect(names(true).sort()).toEqual(Object.keys(REVERSIBLE).sort());
  expect(names(false).sort()).toEqual([...IRREVERSIBLE].sort());
});

/** Each playbook with one flavor, and each flavor with half of them; test/long has all. */
const CASES = Object.keys(REVERSIBLE).map((playbook, index) => ({
  playbook,
  flavor: index % 2 === 0 ? ('hashicorp' as const) : ('spec' as const),
}));

test.each(CASES)(
  '$playbook ($flavor): undo, once it is approved, restores every field that was changed, and only once',
  ({ playbook, flavor }) => expectUndo(playbook, flavor),
);

test('pin-drift-view: undo of an update restores the query that someone had given the view, with all of its fields', async () => {
  const isEmpty = { field: 'modules', operator: 'is_empty', value: null as never };
  const isNot = { field: 'project_name', operator: 'is_not', value: ['a'] };
  const restored = { grouping: ['project'], filter: [isNot, isEmpty] };
  const withoutFields = ({ fields: _, ...query }: typeof view.query) => ({ ...query, ...restored });
  const place = await playbookHarness({
    updatesTable: false,
    playbook: 'pin-drift-view',
    sources: ['saved_views'],
    flavor: 'hashicorp',
    faultHook: ({ method, body }) => {
      // The sandbox accepts no part of a query that it does not know.
      if (method !== 'PATCH' || !body.includes('grouping')) return undefined;
      const filter = [{ project_name: { is_not: ['a'] } }, { modules: { is_empty: [] } }];
      const { query } = JSON.parse(body).data.attributes;
      expect(query).toMatchObject({ ...restored, filter });
      // An empty list may mean none of them.
      expect(query).not.toHaveProperty('fields');
      view.query = withoutFields(view.query);
      return { status: 200, body: JSON.stringify({ data: { id: view.id } }) };
    },
  });
  const run = async () => {
    const plan = await place.plan(['--max-percent', '100']);
    await place.approve();
    await place.apply();
    return plan;
  };
  await run();
  const view = place.sandbox.services.platform.state.views.find(({ name }) => name.includes('Tidemark'))!;
  view.query = withoutFields(view.query);
  const changed = copyState(place);
  const plan = await run();
  expect(plan.actions.map(({ operation }) => operation)).toEqual(['platform.views.update']);
  const undo = (await place.tidemark(['playbook', 'undo', plan.plan_id, '--json'])).json<Plan>();
  expect(undo.actions.map(({ why }) => why)).toEqual([expect.stringMatching(/^\d+ findings, the oldest: Workspace/u)]);
  await place.tidemark(['playbook', 'approve', undo.plan_id, '--by', 'the operator']);
  expect((await place.tidemark(['playbook', 'apply', undo.plan_id])).exit).toBe(0);
  expect(copyState(place)).toEqual(changed);
});

test('undo skips what the ledger does not tell, refuses what was changed since, and restores the rest', async () => {
  const place = await playbookHarness({ updatesTable: false, playbook: 'scope-unused-pools' });
  const plan = await place.plan(['--max-percent', '100']);
  await place.approve();
  await place.apply();
  const ledger = join(place.folder, 'data', 'ledger.ndjson');
  const complete = await readFile(ledger, 'utf8');
  await replaceLedger(place, complete.replaceAll(/"organization_scoped":\w+,?/gu, ''));
  const { exit, stderr } = await place.tidemark(['playbook', 'undo', plan.plan_id]);
  expect([exit, stderr]).toEqual([6, expect.stringContaining('the ledger lacks before.organization_scoped')]);
  await replaceLedger(place, complete.replaceAll(/("before":\{"organization_scoped":)\w+/gu, '$1"no"'));
  const unusable = await place.tidemark(['playbook', 'undo', plan.plan_id]);
  expect([unusable.exit, unusable.stderr]).toEqual([6, expect.stringContaining('before.organization_scoped')]);
  await replaceLedger(place, complete);

  const { pools } = place.sandbox.services.platform.state;
  pools.find(({ id }) => id === plan.actions[0]!.params.id)!.allowed.push('ws-new');
  const made = await place.tidemark(['playbook', 'undo', plan.plan_id, '--json']);
  expect(made.exit).toBe(1);
  const undo = made.json<Plan>();
  expect(undo.actions.map(({ params }) => params.id)).toEqual([plan.actions[1]!.params.id]);
  expect(undo.skipped.map(({ reason }) => reason)).toEqual([
    expect.stringContaining('the pool was changed since the action'),
  ]);

  // A change after the undo plan was made is found by its guard.
  await place.tidemark(['playbook', 'approve', undo.plan_id, '--by', 'the operator']);
  pools.find(({ id }) => id === plan.actions[1]!.params.id)!.allowed.push('ws-new');
  const { rows } = (await place.tidemark(['playbook', 'apply', undo.plan_id, '--json'])).json<Rows>();
  expect(rows).toMatchObject([{ status: 'skipped', reason: 'the pool was changed since the action' }]);
});

test('undo restores what a late call changed, also if the apply before could not read the subject', async () => {
  let failing: { readonly method: string; readonly status: number } | undefined;
  const place = await playbookHarness({
    updatesTable: false,
    playbook: 'scope-unused-pools',
    faultHook: ({ method, path }) =>
      failing && method === failing.method && path.endsWith(id) ? { status: failing.status, body: '{}' } : undefined,
  });
  const plan = await place.plan(['--max-percent', '100', '--limit', '1']);
  const id = String(plan.actions[0]!.params.id);
  await place.approve();
  failing = { method: 'PATCH', status: 504 };
  expect((await place.apply([], 1)).json<Rows>().rows[0]?.status).toBe('failed');
  failing = { method: 'GET', status: 401 };
  expect((await place.apply([], 1)).json<Rows>().rows[0]?.reason).toContain('the subject could not be read');
  failing = undefined;
  const none = await place.tidemark(['playbook', 'undo', plan.plan_id]);
  expect([none.exit, none.stderr]).toEqual([6, expect.stringContaining('the ledger has no applied action')]);
  const pool = place.sandbox.services.platform.state.pools.find((one) => one.id === id)!;
  Object.assign(pool, {
    organizationScoped: false,
    allowed: [...(plan.actions[0]!.guard.inputs.workspace_ids as string[])],
  });
  const late = (await place.tidemark(['playbook', 'undo', plan.plan_id, '--json'])).json<Plan>();
  expect(late.actions.map(({ params }) => params.id)).toEqual([id]);
  pool.allowed.push('ws-other');
  const changed = await place.tidemark(['playbook', 'undo', plan.plan_id]);
  expect([changed.exit, changed.stderr]).toEqual([
    6,
    expect.stringContaining('the pool was changed by someone else before the action was confirmed'),
  ]);
  pool.allowed.pop();
  expect((await place.apply()).json<Rows>().rows[0]?.reason).toBe('confirmed late: it is scoped');

  const undo = (await place.tidemark(['playbook', 'undo', plan.plan_id, '--json'])).json<Plan>();
  await place.tidemark(['playbook', 'approve', undo.plan_id, '--by', 'the operator']);
  expect((await place.tidemark(['playbook', 'apply', undo.plan_id])).exit).toBe(0);
  expect(pool.organizationScoped).toBe(true);
});

test.each(['accepted', 'changed'])(
  'undo restores what a late call changed, also if its action was skipped before because its finding was %s',
  async (what) => {
    let isBroken = true;
    const place = await playbookHarness({
      updatesTable: false,
      playbook: 'scope-unused-pools',
      faultHook: ({ method }) => (isBroken && method === 'PATCH' ? { status: 504, body: '' } : undefined),
    });
    const plan = await place.plan(['--max-percent', '100', '--limit', '1']);
    const { id, workspace_ids: attached } = { ...plan.actions[0]!.params, ...plan.actions[0]!.guard.inputs };
    const pool = place.sandbox.services.platform.state.pools.find((one) => one.id === id)!;
    await place.approve();
    expect((await place.apply([], 1)).json<Rows>().rows[0]?.status).toBe('failed');
    isBroken = false;
    const words = ['--reason', 'kept', '--owner', 'ops', '--until', '2027-01-01'];
    if (what === 'accepted') await place.tidemark(['findings', 'accept', plan.actions[0]!.finding_id, ...words]);
    else pool.allowed.push('ws-other');
    expect((await place.apply()).json<Rows>().rows[0]?.status).toBe('skipped');
    const none = await place.tidemark(['playbook', 'undo', plan.plan_id]);
    expect([none.exit, none.stderr]).toEqual(
      what === 'accepted'
        ? [6, expect.stringContaining('the ledger has no applied action')]
        : [1, expect.stringContaining('may be done since (other workspaces are allowed to use it now)')],
    );

    Object.assign(pool, { organizationScoped: false, allowed: attached });
    const undo = (await place.tidemark(['playbook', 'undo', plan.plan_id, '--json'])).json<Plan>();
    await place.tidemark(['playbook', 'approve', undo.plan_id, '--by', 'the operator']);
    expect((await place.tidemark(['playbook', 'apply', undo.plan_id])).exit).toBe(0);
    expect([pool.organizationScoped, pool.allowed]).toEqual([
      true,
      plan.actions[0]!.guard.inputs.allowed_workspace_ids,
    ]);
  },
);

test('a refusal is followed by a reading, and a redirect is not sent again: what was done all the same can be undone, what has changed is not overwritten', async () => {
  const answers: (readonly [status: number, change: object])[] = [];
  const place = await playbookHarness({
    updatesTable: false,
    playbook: 'scope-unused-pools',
    faultHook: ({ method }) => {
      const answer = method === 'PATCH' ? answers.shift() : undefined;
      if (!answer) return undefined;
      Object.assign(pool, answer[1]);
      return { status: answer[0], body: '{}' };
    },
  });
  const plan = await place.plan(['--max-percent', '100', '--limit', '1']);
  const { id, workspace_ids: attached } = { ...plan.actions[0]!.params, ...plan.actions[0]!.guard.inputs };
  const pool = place.sandbox.services.platform.state.pools.find((one) => one.id === id)!;
  const { allowed } = pool;
  await place.approve();
  const apply = async (exit: number, given: typeof answers) => {
    answers.push(...given);
    const [row] = (await place.apply([], exit)).json<Rows>().rows;
    return [row?.status, row?.reason, answers.splice(0).length];
  };

  const redirected = await apply(1, [
    [307, {}],
    [500, {}],
  ]);
  expect(redirected).toEqual(['failed', expect.stringContaining('307'), 1]);
  const changed = { allowed: ['ws-new'] };
  expect(
    await apply(1, [
      [429, {}],
      [429, changed],
      [500, {}],
    ]),
  ).toEqual(['failed', expect.stringContaining('429'), 1]);
  Object.assign(pool, { allowed });
  const done = { organizationScoped: false, allowed: [...(attached as string[])] };
  const applied = ['applied', expect.stringMatching(/429 rate-limited: .*; a reading shows that it was applied$/u), 1];
  expect(
    await apply(0, [
      [429, {}],
      [429, done],
      [500, {}],
    ]),
  ).toEqual(applied);

  const undo = (await place.tidemark(['playbook', 'undo', plan.plan_id, '--json'])).json<Plan>();
  await place.tidemark(['playbook', 'approve', undo.plan_id, '--by', 'the operator']);
  expect((await place.tidemark(['playbook', 'apply', undo.plan_id])).exit).toBe(0);
  expect(pool).toMatchObject({ organizationScoped: true, allowed });
});

test('undo does not change a key that was created again under its name, or is not reported as a whole', async () => {
  let answer: { readonly status: number; readonly body: string } | undefined;
  const place = await playbookHarness({
    updatesTable: false,
    playbook: 'retire-old-key-versions',
    faultHook: () => answer,
  });
  const plan = await place.plan(['--max-percent', '100', '--limit', '1']);
  await place.approve();
  await place.apply();
  const key = place.sandbox.services.secrets.state.keys.get(String(plan.actions[0]!.params.name))!;
  const refused = async () => {
    const { exit, stderr } = await place.tidemark(['playbook', 'undo', plan.plan_id]);
    return [exit, stderr];
  };
  answer = {
    status: 200,
    body: JSON.stringify({ data: { keys: {}, latest_version: key.versions.length } }),
  };
  expect(await refused()).toEqual([1, expect.stringContaining('its `min_enabled_version` is not reported')]);
  for (const status of [401, 403, 404, 500]) {
    answer = { status, body: '{"errors":[]}' };
    const unknown = `what of plan ${plan.plan_id} can be undone is not known`;
    expect(await refused(), String(status)).toEqual([1, expect.stringContaining(unknown)]);
  }
  answer = undefined;
  Object.assign(key.versions.at(-1)!, { creationTime: '2026-10-01T03:00:00.000000000Z' });
  expect(await refused()).toEqual([6, expect.stringContaining('the key was changed since the action')]);
});

type Change = (state: RemoteState & { readonly now: Date }, action: Plan['actions'][number], body: string) => void;

const CHANGED = (subject: string) => `${subject} was changed by someone else before the action was confirmed`;

/** What someone else does while the service has no answer for the call, so that the subject is as the playbook wants it. */
const DONE_BY_OTHERS: readonly (readonly [playbook: string, what: string, change: Change, refusal: string])[] = [
  [
    'trim-anonymous-policy',
    'deletes it',
    ({ scheduler }) => scheduler.policies.delete('anonymous'),
    CHANGED('the policy'),
  ],
  [
    'trim-anonymous-policy',
    'reduces it, with another description',
    ({ scheduler }, _, body) => {
      const rules = (JSON.parse(body) as { Rules: string }).Rules;
      Object.assign(scheduler.policies.get('anonymous')!, { rules, description: 'by hand' });
    },
    CHANGED('the policy'),
  ],
  [
    'scope-unused-pools',
    'lets other workspaces use it',
    ({ platform }, { params, guard }) => {
      const allowed = [...(guard.inputs.workspace_ids as string[]), 'ws-new'];
      Object.assign(platform.pools.find(({ id }) => id === params.id)!, { organizationScoped: false, allowed });
    },
    CHANGED('the pool'),
  ],
  [
    'retire-old-key-versions',
    'disables more versions',
    ({ secrets }, { params, guard }) => {
      const key = secrets.keys.get(String(params.name))!;
      key.minEnabledVersion = Number(guard.inputs.wanted_min_enabled_version) + 1;
    },
    CHANGED('the key'),
  ],
  [
    'pin-drift-view',
    'creates it',
    ({ platform }, _, body) => {
      const { name, query_type: queryType, query } = (JSON.parse(body) as { data: Record<string, never> }).data;
      platform.views.push({
        ...platform.views[0]!,
        id: 'sq-theirs',
        name: name!,
        queryType: queryType!,
        query: query!,
      });
    },
    'the ledger does not show which view was created',
  ],
  [
    'snapshot-unprotected-volumes',
    'takes one',
    ({ scheduler, now }, { guard: { inputs } }) => {
      const { snapshots } = scheduler.plugins.get(String(inputs.plugin_id))!;
      const theirs = { id: 'snap-theirs', sourceId: String(inputs.external_id), createdAt: now, ready: true };
      snapshots.set(theirs.id, { sizeBytes: 1n, parameters: null, ...theirs });
    },
    'the ledger does not show which snapshot was created',
  ],
  [
    'adopt-orphaned-volumes',
    'registers it',
    ({ scheduler }, { guard: { inputs } }) => {
      const [key, sibling] = [...scheduler.volumes].find(([, { pluginId }]) => pluginId === inputs.plugin_id)!;
      const [id, namespace] = [String(inputs.volume_id), String(inputs.namespace)];
      const theirs = { ...sibling, id, name: id, namespace, externalId: String(inputs.external_id), claims: [] };
      scheduler.volumes.set(key.replace(sibling.namespace, namespace).replace(sibling.id, id), theirs);
    },
    'the ledger does not show who registered the volume',
  ],
];

test.each(DONE_BY_OTHERS)(
  '%s: undo leaves what someone else has done, who %s',
  async (playbook, _, change, refusal) => {
    let action: Plan['actions'][number] | undefined;
    const place = await playbookHarness({
      playbook,
      sources: REVERSIBLE[playbook]!,
      faultHook: ({ method, body, now }) => {
        if (['GET', 'LIST'].includes(method) || !action) return undefined;
        change({ ...liveState(place), now }, action, body);
        action = undefined;
        return { status: 504, body: '{}' };
      },
    });
    const plan = await place.plan(['--max-percent', '100', '--limit', '1']);
    await place.approve();
    [action] = plan.actions;
    expect((await place.apply()).json<Rows>().rows).toMatchObject([{ status: 'applied' }]);
    const undo = await place.tidemark(['playbook', 'undo', plan.plan_id]);
    expect([undo.exit, undo.stderr]).toEqual([6, expect.stringContaining(refusal)]);
  },
);

test('pin-drift-view: undo leaves a part of the query that someone else has added before the update was confirmed', async () => {
  const place = await playbookHarness({
    updatesTable: false,
    playbook: 'pin-drift-view',
    sources: ['saved_views'],
    flavor: 'hashicorp',
    faultHook: ({ method }) => {
      if (method !== 'PATCH') return undefined;
      Object.assign(view, { query: { ...wanted, grouping: ['project'] } });
      return { status: 504, body: '{}' };
    },
  });
  const run = async () => {
    const plan = await place.plan(['--max-percent', '100']);
    await place.approve();
    expect((await place.apply()).json<Rows>().rows).toMatchObject([{ status: 'applied' }]);
    return plan;
  };
  await run();
  const view = place.sandbox.services.platform.state.views.find(({ name }) => name.includes('Tidemark'))!;
  const wanted = view.query;
  view.query = { ...wanted, filter: [] };
  const plan = await run();
  const undo = await place.tidemark(['playbook', 'undo', plan.plan_id]);
  expect([undo.exit, undo.stderr]).toEqual([6, expect.stringContaining(CHANGED('the view'))]);
});

test('pin-drift-view leaves a view whose filter has a form that an undo could not restore', async () => {
  let told: string | undefined;
  const place = await playbookHarness({
    playbook: 'pin-drift-view',
    sources: ['saved_views'],
    faultHook: ({ method, path }) =>
      told !== undefined && method === 'GET' && path.endsWith('/views') ? { status: 200, body: told } : undefined,
  });
  const query = { type: 'workspaces', filter: [{ or: [{ drifted: { is: ['true'] } }] }] };
  const attributes = { name: 'Drifting workspaces (Tidemark)', 'query-type': 'workspaces', query };
  told = JSON.stringify({ data: [{ id: 'sq-1', type: 'explorer-saved-queries', attributes }] });
  const { actions, skipped } = await place.plan(['--max-percent', '100']);
  expect(actions).toEqual([]);
  expect(skipped[0]?.reason).toMatch(/^the saved view .* has its filter in a form that an undo could not restore$/u);
});

test('a view of the same name, which someone else creates in the same moment, does not confirm a view', async () => {
  let isCreated = false;
  const place = await playbookHarness({
    playbook: 'pin-drift-view',
    sources: ['saved_views'],
    faultHook: ({ method, body }) => {
      if (method !== 'POST' || isCreated) return undefined;
      isCreated = true;
      const { views } = place.sandbox.services.platform.state;
      const { name, query } = (JSON.parse(body) as { data: Record<string, never> }).data;
      views.push({ ...views[0]!, id: 'sq-theirs', name: name!, queryType: 'workspaces', query: query! });
      return { status: 201, body: '{"data":{"id":"sq-ours","type":"explorer-saved-queries"}}' };
    },
  });
  const plan = await place.plan(['--max-percent', '100']);
  await place.approve();
  const { rows } = (await place.apply([], 1)).json<Rows>();
  expect(rows).toMatchObject([{ status: 'unconfirmed', reason: expect.stringContaining('readings over') }]);
  expect((await place.tidemark(['playbook', 'ledger', '--settle'])).exit).toBe(0);
  const undo = await place.tidemark(['playbook', 'undo', plan.plan_id]);
  expect([undo.exit, undo.stderr]).toEqual([6, expect.stringContaining('does not show which view was created')]);
});

test('undo leaves what someone else has done after a kill, however often what the kill left open was read before', async () => {
  const place = await playbookHarness({ playbook: 'pin-drift-view', sources: ['saved_views'] });
  const plan = await place.plan(['--max-percent', '100']);
  await place.approve();
  await place.apply();
  const [intent] = (await readFile(join(place.folder, 'data', 'ledger.ndjson'), 'utf8')).split('\n');
  await replaceLedger(place, `${intent}\n`);
  const { views } = place.sandbox.services.platform.state;
  const ours = views.pop()!;
  expect((await place.apply([], 1)).json<Rows>().rows).toMatchObject([{ status: 'unconfirmed' }]);
  views.push({ ...ours, id: 'sq-theirs' });
  expect((await place.apply()).json<Rows>().rows).toMatchObject([{ status: 'applied' }]);
  const undo = await place.tidemark(['playbook', 'undo', plan.plan_id]);
  expect([undo.exit, undo.stderr]).toEqual([6, expect.stringContaining('does not show which view was created')]);
});

test('what was undone is not undone again, after someone else has done the same', async () => {
  const place = await playbookHarness({ playbook: 'scope-unused-pools' });
  const plan = await place.plan(['--max-percent', '100', '--limit', '1']);
  const pool = place.sandbox.services.platform.state.pools.find(({ id }) => id === plan.actions[0]!.params.id)!;
  await place.approve();
  await place.apply();
  const done = { organizationScoped: pool.organizationScoped, allowed: [...pool.allowed] };
  const undo = (await place.tidemark(['playbook', 'undo', plan.plan_id, '--json'])).json<Plan>();
  await place.tidemark(['playbook', 'approve', undo.plan_id, '--by', 'the operator']);
  expect((await place.tidemark(['playbook', 'apply', undo.plan_id])).exit).toBe(0);
  Object.assign(pool, done);
  const again = await place.tidemark(['playbook', 'undo', plan.plan_id]);
  expect([again.exit, again.stderr]).toEqual([6, expect.stringContaining(`plan ${undo.plan_id} has changed it since`)]);
});

test('of two plans that changed a subject, the one that did it last is undone, also if it was begun first', async () => {
  let isBroken = true;
  const place = await playbookHarness({
    updatesTable: false,
    playbook: 'scope-unused-pools',
    faultHook: ({ method }) =>
      isBroken && method === 'PATCH' ? { status: 403, body: '{"errors": ["forbidden"]}' } : undefined,
  });
  const { tidemark, sandbox } = place;
  const words = ['--max-percent', '100', '--limit', '1'];
  const [first, second] = [await place.plan(words), await place.plan(words)];
  const pool = sandbox.services.platform.state.pools.find(({ id }) => id === first.actions[0]!.params.id)!;
  const before = { organizationScoped: pool.organizationScoped, allowed: [...pool.allowed] };
  const apply = async ({ plan_id }: Plan, minutes: number, exit: number) => {
    const now = new Date(sandbox.now.getTime() + minutes * 60_000).toISOString();
    const applied = await tidemark(['playbook', 'apply', plan_id, '--now', now]);
    expect(applied.exit, applied.stderr).toBe(exit);
  };
  for (const { plan_id } of [first, second]) await tidemark(['playbook', 'approve', plan_id, '--by', 'the operator']);
  await apply(first, 1, 1);
  isBroken = false;
  await apply(second, 2, 0);
  Object.assign(pool, before);
  await apply(first, 3, 0);

  const undo = async ({ plan_id }: Plan) => {
    const now = new Date(sandbox.now.getTime() + 4 * 60_000).toISOString();
    return tidemark(['playbook', 'undo', plan_id, '--json', '--now', now]);
  };
  const refused = await undo(second);
  expect([refused.exit, refused.stderr]).toEqual([
    6,
    expect.stringContaining(`plan ${first.plan_id} has changed it since`),
  ]);
  expect((await undo(first)).json<Plan>().actions).toHaveLength(1);
});

test('an undo leaves what another plan has done again since it was planned', async () => {
  const place = await playbookHarness({ updatesTable: false, playbook: 'scope-unused-pools' });
  const words = ['--max-percent', '100', '--limit', '1'];
  const [first, second] = [await place.plan(words), await place.plan(words)];
  const pool = place.sandbox.services.platform.state.pools.find(({ id }) => id === first.actions[0]!.params.id)!;
  const before = { organizationScoped: pool.organizationScoped, allowed: [...pool.allowed] };
  const apply = async ({ plan_id }: Plan) => {
    await place.tidemark(['playbook', 'approve', plan_id, '--by', 'the operator']);
    return place.tidemark(['playbook', 'apply', plan_id, '--json']);
  };
  expect((await apply(first)).exit).toBe(0);
  const undo = (await place.tidemark(['playbook', 'undo', first.plan_id, '--json'])).json<Plan>();
  Object.assign(pool, before);
  expect((await apply(second)).exit).toBe(0);
  place.sandbox.log.length = 0;
  const undone = await apply(undo);
  expect(undone.json<Rows>().rows).toMatchObject([
    { status: 'skipped', reason: `plan ${second.plan_id} has changed it since` },
  ]);
  expect(undone.exit).toBe(1);
  expect(listWrites(place.sandbox.log)).toEqual([]);
});

test('adopt-orphaned-volumes: what another plan has registered again, after someone removed it, is left to the undo of that plan', async () => {
  const place = await playbookHarness({
    updatesTable: false,
    playbook: 'adopt-orphaned-volumes',
    sources: ['external_volumes'],
  });
  const words = ['--max-percent', '100', '--limit', '1'];
  const plans = [await place.plan(words), await place.plan(words)] as const;
  const { volumes } = place.sandbox.services.scheduler.state;
  const known = [...volumes.keys()];
  for (const { plan_id } of plans) {
    for (const key of [...volumes.keys()].filter((one) => !known.includes(one))) volumes.delete(key);
    await place.tidemark(['playbook', 'approve', plan_id, '--by', 'the operator']);
    expect((await place.tidemark(['playbook', 'apply', plan_id])).exit).toBe(0);
  }
  const undo = ({ plan_id }: Plan) => place.tidemark(['playbook', 'undo', plan_id, '--json']);
  const refused = await undo(plans[0]);
  const changed = `plan ${plans[1].plan_id} has changed it since`;
  expect([refused.exit, refused.stderr]).toEqual([6, expect.stringContaining(changed)]);
  expect((await undo(plans[1])).json<Plan>().actions).toHaveLength(1);
});

test('snapshot-unprotected-volumes: a snapshot is deleted although another plan has created another one of the volume', async () => {
  const place = await playbookHarness({ updatesTable: false, playbook: 'snapshot-unprotected-volumes' });
  const words = ['--max-percent', '100', '--limit', '1'];
  const plans = [await place.plan(words), await place.plan(words)] as const;
  const volumeId = plans[0].actions[0]?.params.volume_id;
  const pluginId = [...place.sandbox.services.scheduler.state.volumes.values()].find(
    ({ id }) => id === volumeId,
  )?.pluginId;
  const { snapshots } = place.sandbox.services.scheduler.state.plugins.get(pluginId ?? '')!;
  const known = [...snapshots.keys()];
  const takeCreated = () => {
    const created = [...snapshots].filter(([id]) => !known.includes(id));
    for (const [id] of created) snapshots.delete(id);
    return created;
  };
  const taken = [];
  for (const { plan_id } of plans) {
    taken.push(...takeCreated());
    await place.tidemark(['playbook', 'approve', plan_id, '--by', 'the operator']);
    expect((await place.tidemark(['playbook', 'apply', plan_id])).exit).toBe(0);
  }
  expect(taken).toHaveLength(1);
  for (const [id, snapshot] of taken) snapshots.set(id, snapshot);
  const undo = (await place.tidemark(['playbook', 'undo', plans[0].plan_id, '--json'])).json<Plan>();
  expect(undo.actions.map(({ params }) => params.snapshot_id)).toEqual(taken.map(([id]) => id));
});

test('what another plan did after a call without a clear answer is left to its undo, also if the first one was applied again and sent nothing', async () => {
  let failing: { readonly method: string; readonly status: number } | undefined;
  const place = await playbookHarness({
    updatesTable: false,
    playbook: 'scope-unused-pools',
    faultHook: ({ method, path }) =>
      method === failing?.method && path.endsWith(id) ? { status: failing.status, body: '{}' } : undefined,
  });
  const { tidemark, sandbox } = place;
  const words = ['--max-percent', '100', '--limit', '1'];
  const [first, second] = [await place.plan(words), await place.plan(words)];
  const id = String(first.actions[0]!.params.id);
  const later = (minutes: number) => ['--now', new Date(sandbox.now.getTime() + minutes * 60_000).toISOString()];
  const apply = async ({ plan_id }: Plan, minutes: number, exit: number) => {
    const applied = await tidemark(['playbook', 'apply', plan_id, ...later(minutes)]);
    expect(applied.exit, applied.stderr).toBe(exit);
  };
  for (const { plan_id } of [first, second]) await tidemark(['playbook', 'approve', plan_id, '--by', 'the operator']);
  failing = { method: 'PATCH', status: 504 };
  await apply(first, 1, 1);
  failing = undefined;
  await apply(second, 2, 0);
  failing = { method: 'GET', status: 401 };
  await apply(first, 3, 1);
  failing = undefined;
  const undo = ({ plan_id }: Plan) => tidemark(['playbook', 'undo', plan_id, '--json', ...later(5)]);
  const changed = [6, expect.stringContaining(`plan ${second.plan_id} has changed it since`)];
  const refused = await undo(first);
  expect([refused.exit, refused.stderr]).toEqual(changed);
  await apply(first, 4, 0);
  const confirmed = await undo(first);
  expect([confirmed.exit, confirmed.stderr]).toEqual(changed);
  expect((await undo(second)).json<Plan>().actions).toHaveLength(1);
});

test('undo leaves out an action that is unconfirmed, and says so; without a ledger it makes no plan', async () => {
  let isBroken = true;
  const place = await playbookHarness({
    playbook: 'scope-unused-pools',
    faultHook: ({ method }) => {
      if (method !== 'PATCH' || !isBroken) return undefined;
      isBroken = false;
      return { status: 200, body: '{"data": {}}' };
    },
  });
  const plan = await place.plan(['--max-percent', '100']);
  await place.approve();
  await place.apply([], 1);
  const made = await place.tidemark(['playbook', 'undo', plan.plan_id, '--json']);
  expect(made.exit).toBe(1);
  const { actions, skipped } = made.json<Plan>();
  expect(actions.map(({ params }) => params.id)).toEqual([plan.actions[1]!.params.id]);
  expect(skipped.map(({ reason }) => reason)).toEqual([
    `${plan.actions[0]!.summary}: a1 of plan ${plan.plan_id} is unconfirmed: run \`tidemark playbook ledger --settle\``,
  ]);

  await rm(join(place.folder, 'data', 'ledger.ndjson'));
  const refused = await place.tidemark(['playbook', 'undo', plan.plan_id]);
  expect([refused.exit, refused.stderr]).toEqual([4, expect.stringContaining('ledger.ndjson is missing')]);
});

test('undo of an irreversible playbook is refused', async () => {
  const place = await playbookHarness({ updatesTable: false, playbook: 'reap-dead-agents' });
  const plan = await place.plan(['--max-percent', '100']);
  const refused = await place.tidemark(['playbook', 'undo', plan.plan_id]);
  expect([refused.exit, refused.stderr]).toEqual([
    6,
    expect.stringContaining('what reap-dead-agents does cannot be undone'),
  ]);
});
