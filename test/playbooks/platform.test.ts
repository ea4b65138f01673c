import { describe, expect, test } from 'vitest';
import { platform } from '../../src/services/platform/operations.ts';
import { listWrites, playbookHarness } from '../helpers/playbook-harness.ts';
import { expectResolved, sharePlaybooks } from './lifecycle.ts';

const ANY_SHARE = ['--max-percent', '100'];

describe('playbooks of one project', () => {
  const shared = sharePlaybooks({
    playbook: 'reap-dead-agents',
    others: ['remove-empty-pools', 'scope-unused-pools', 'pin-drift-view', 'drop-dead-views'],
    sources: ['saved_views'],
    snapshot: true,
    configure: (config) => {
      config.thresholds = { deadViewDays: 1 };
    },
  });
  const { step, lifecycle, plans } = shared;

  step('reap-dead-agents deletes the dead agents, and no other', async () => {
    await lifecycle('reap-dead-agents', {
      words: ANY_SHARE,
      actions: 3,
      expectedChange: (expected, _now, plan) => {
        const dead = new Set(plan.actions.map(({ params }) => params.id));
        const { agents } = expected.platform;
        agents.splice(0, agents.length, ...agents.filter(({ id }) => !dead.has(id)));
      },
    });
  });

  step('remove-empty-pools deletes the pool without agents and workspaces', async () => {
    await lifecycle('remove-empty-pools', {
      actions: 1,
      expectedChange: ({ platform: { pools } }) => {
        pools.splice(
          pools.findIndex(({ name }) => name === 'sandbox-empty'),
          1,
        );
      },
    });
    const [action] = plans.find(({ playbook }) => playbook === 'remove-empty-pools')?.actions ?? [];
    expect(action?.summary).toBe(
      'delete agent pool sandbox-empty; whether it is a default, or of a run task, is not shown',
    );
  });

  step('scope-unused-pools restricts pools to their workspaces, and keeps their names', async () => {
    await lifecycle('scope-unused-pools', {
      words: ANY_SHARE,
      actions: 2,
      expectedChange: ({ platform: { pools } }) => {
        for (const pool of pools.filter(({ name }) => name === 'audit' || name === 'legacy-dc1')) {
          Object.assign(pool, { organizationScoped: false, allowed: [...pool.attached].sort() });
        }
      },
    });
  });

  step(
    'pin-drift-view creates one view that lists the drifting workspaces, and restores it where someone changed it',
    async () => {
      await lifecycle('pin-drift-view', {
        actions: 1,
        expectedChange: ({ platform: { views } }, now) => {
          views.push(now.platform.views.at(-1)!);
        },
      });
      const pinned = shared.place.switchTo('pin-drift-view');
      const { state } = shared.place.sandbox.services.platform;
      const view = state.views.find(({ name }) => name === 'Drifting workspaces (Tidemark)')!;
      expect(view.query.filter).toEqual([{ field: 'drifted', operator: 'is', value: ['true'] }]);
      const drifting = state.workspaces.filter(({ drifted }) => drifted === true).map(({ name }) => name);
      const listed = await shared.place.tidemark(['api', platform.views.results.name, `view_id=${view.id}`, '--all']);
      expect([listed.exit, listed.stderr]).toEqual([0, '']);
      expect(
        listed
          .json<{ attributes: { 'workspace-name': string } }[]>()
          .map(({ attributes }) => attributes['workspace-name'])
          .sort(),
      ).toEqual(drifting.sort());

      expect((await pinned.plan()).actions).toEqual([]);

      const wanted = structuredClone(view);
      view.query = { ...view.query, filter: [] };
      const plan = await pinned.plan();
      expect(plan.actions.map(({ operation }) => operation)).toEqual(['platform.views.update']);
      await shared.place.approve();
      await shared.place.apply();
      expect(view).toEqual(wanted);
    },
  );

  step('the next run resolves the findings', async () => {
    await expectResolved(
      shared.place,
      plans.filter(({ playbook }) => playbook !== 'pin-drift-view'),
    );
  });

  step('drop-dead-views deletes the views that fail, or return nothing since an earlier run', async () => {
    await lifecycle('drop-dead-views', {
      words: ANY_SHARE,
      actions: 2,
      expectedChange: ({ platform: { views } }) => {
        const dead = ['By owner team (old)', 'Decommissioned'];
        views.splice(0, views.length, ...views.filter(({ name }) => !dead.includes(name)));
      },
    });
  });
});

test('scope-unused-pools treats a pool without the relationship allowed-workspaces as one that allows none', async () => {
  const place = await playbookHarness({
    updatesTable: false,
    playbook: 'scope-unused-pools',
    snapshot: false,
    faultHook: ({ method, path }, { state }) => {
      const { pools } = state as typeof place.sandbox.services.platform.state;
      const pool = pools.find(({ id }) => path.endsWith(`/agent-pools/${id}`));
      if (method !== 'GET' || !pool?.organizationScoped) return undefined;
      const workspaces = { data: pool.attached.map((id) => ({ id, type: 'workspaces' })) };
      const attributes = { name: pool.name, 'organization-scoped': true };
      const data = { id: pool.id, type: 'agent-pools', attributes, relationships: { workspaces } };
      return { status: 200, body: JSON.stringify({ data }) };
    },
  });
  await place.plan(ANY_SHARE);
  await place.approve();
  const { rows } = (await place.apply()).json<{ rows: { status: string; reason: string | null }[] }>();
  expect(rows.map(({ status, reason }) => [status, reason])).toEqual([
    ['applied', null],
    ['applied', null],
  ]);
});

test.each(['pin-drift-view', 'drop-dead-views'])(
  '%s leaves a view whose query has got a part that Tidemark does not know since the plan',
  async (playbook) => {
    const place = await playbookHarness({
      updatesTable: false,
      playbook,
      flavor: 'hashicorp',
      sources: ['saved_views'],
      prepare: ({ platform: { views } }) => {
        views.push({ ...structuredClone(views[0]!), id: 'sq-pinned', name: 'Drifting workspaces (Tidemark)' });
        views.at(-1)!.query = { ...views.at(-1)!.query, filter: [] };
      },
    });
    const { actions } = await place.plan(['--max-percent', '100']);
    const { views } = place.sandbox.services.platform.state;
    const view = views.find(({ id }) => id === actions[0]?.params.view_id)!;
    await place.approve();
    view.query = { ...view.query, grouping: ['project'] } as typeof view.query;
    const { rows } = (await place.apply()).json<{ rows: { status: string; reason: string | null }[] }>();
    expect(rows).toMatchObject([{ status: 'skipped', reason: expect.stringMatching(/was changed$/u) }]);
    expect(views).toContain(view);
    expect(listWrites(place.sandbox.log)).toEqual([]);
  },
);
