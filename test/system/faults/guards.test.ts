import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { volumeKey } from '../../../sandbox/scheduler/volumes.ts';
import type { Plan } from '../../../src/act/plan-file.ts';
import {
  copyState,
  listWrites,
  liveState,
  type PlaybookHarness,
  playbookHarness,
  type RemoteState,
  replaceLedger,
  restoreState,
} from '../../helpers/playbook-harness.ts';
import type { ConfigDocument } from '../../helpers/test-project.ts';

/** A change between plan and apply, and the reason with which the first action of the plan is then skipped. */
type Case = readonly [playbook: string, change: (state: RemoteState, plan: Plan) => void, reason: string | RegExp];

function guards(
  kind: string,
  playbook: string,
  sources: readonly string[],
  cases: readonly Case[],
  configure?: (config: ConfigDocument) => void,
): void {
  describe(`${kind}: an action whose subject changed between plan and apply is skipped`, () => {
    const ends: (() => Promise<void>)[] = [];
    let place: PlaybookHarness;
    let initial: RemoteState;
    const plans = new Map<string, Plan>();
    beforeAll(async () => {
      const cleanup = (end: () => Promise<void>) => ends.push(end);
      place = await playbookHarness({
        playbook,
        sources,
        cleanup,
        updatesTable: false,
        ...(configure && { configure }),
      });
      initial = copyState(place);
    });
    afterAll(async () => {
      for (const end of ends.reverse()) await end();
    });

    const named = cases.map(([name, change, reason]) => ({ name, change, reason, expected: String(reason) }));
    test.each(named)('$name: $expected', async ({ name, change, reason }) => {
      restoreState(place, initial);
      const file = join(place.folder, `${name}.json`);
      const plan = plans.get(name) ?? (await planAndApprove(place, name, file));
      plans.set(name, plan);
      await replaceLedger(place, '');
      change(liveState(place), plan);
      place.sandbox.log.length = 0;
      const applied = await place.tidemark(['playbook', 'apply', file, '--json', '--max-failures', '99']);
      const { rows } = applied.json<{ rows: { status: string; reason: string; params: unknown }[] }>();
      expect(rows[0]).toMatchObject({ status: 'skipped', params: plan.actions[0]?.params });
      expect(rows[0]?.reason).toMatch(reason);
      expect(listWrites(place.sandbox.log)).toHaveLength(rows.filter(({ status }) => status === 'applied').length);
    });
  });
}

async function planAndApprove(place: PlaybookHarness, name: string, file: string): Promise<Plan> {
  const words = ['playbook', 'plan', name, '-o', file, '--json', '--max-percent', '100'];
  const plan = (await place.tidemark(words)).json<Plan>();
  const approved = await place.tidemark(['playbook', 'approve', file, '--by', 'the operator', '--irreversible']);
  expect(approved.exit, approved.stderr).toBe(0);
  return plan;
}

const first = (plan: Plan, param: string) => String(plan.actions[0]?.params[param]);
const firstVolume = (plan: Plan) => volumeKey(first(plan, 'namespace'), first(plan, 'volume_id'));
const poolIn = ({ platform }: RemoteState, plan: Plan, param: string) =>
  platform.pools.find(({ id }) => id === first(plan, param))!;
const without = <T>(list: T[], gone: (item: T) => boolean) =>
  list.splice(0, list.length, ...list.filter((item) => !gone(item)));

guards(
  'platform',
  'remove-empty-pools',
  ['workspaces', 'saved_views', 'saved_view_rows'],
  [
    [
      'remove-empty-pools',
      ({ platform }, plan) => without(platform.pools, ({ id }) => id === first(plan, 'agent_pool_id')),
      'no change needed: the pool is gone',
    ],
    [
      'remove-empty-pools',
      (state, plan) => {
        poolIn(state, plan, 'agent_pool_id').name = 'keep';
      },
      'its name is keep now',
    ],
    [
      'remove-empty-pools',
      (state, plan) => poolIn(state, plan, 'agent_pool_id').attached.push(state.platform.workspaces[0]!.id),
      'it has 1 attached workspace',
    ],
    [
      'remove-empty-pools',
      ({ platform }, plan) =>
        platform.agents.push({ ...platform.agents[0]!, id: 'agent-new', poolId: first(plan, 'agent_pool_id') }),
      'it has 1 agent',
    ],
    [
      'reap-dead-agents',
      ({ platform }, plan) => {
        for (const agent of platform.agents) {
          if (agent.id === first(plan, 'id')) agent.lastPingAt = Date.parse(plan.created_at);
        }
      },
      /^it pinged at /u,
    ],
    [
      'scope-unused-pools',
      ({ platform }, plan) => without(platform.pools, ({ id }) => id === first(plan, 'id')),
      'the pool is gone',
    ],
    [
      'scope-unused-pools',
      (state, plan) => poolIn(state, plan, 'id').attached.push(state.platform.workspaces[0]!.id),
      'other workspaces are attached to it now',
    ],
    [
      'scope-unused-pools',
      (state, plan) => poolIn(state, plan, 'id').allowed.push(state.platform.workspaces[0]!.id),
      'other workspaces are allowed to use it now',
    ],
    [
      'scope-unused-pools',
      (state, plan) => {
        const pool = poolIn(state, plan, 'id');
        Object.assign(pool, { organizationScoped: false, allowed: [...pool.attached] });
      },
      'no change needed: it is scoped',
    ],
    [
      'scope-unused-pools',
      (state, plan) => Object.assign(poolIn(state, plan, 'id'), { organizationScoped: false, allowed: [] }),
      'it is scoped, and an attached workspace is not allowed to use it',
    ],
    [
      'pin-drift-view',
      ({ platform }) =>
        platform.views.push({ ...platform.views[0]!, id: 'sq-new', name: 'Drifting workspaces (Tidemark)' }),
      'a view of this name exists, with another query',
    ],
    [
      'pin-drift-view',
      ({ platform }) => {
        const query = {
          filter: [{ field: 'drifted', operator: 'is', value: ['true'] }],
          fields: ['workspace_name', 'project_name', 'resources_drifted', 'resources_undrifted', 'current_run_status'],
          sort: ['-resources_drifted'],
        };
        const name = 'Drifting workspaces (Tidemark)';
        platform.views.push({ ...platform.views[0]!, id: 'sq-new', name, queryType: 'workspaces', query });
      },
      'no change needed: the view exists',
    ],
    [
      'drop-dead-views',
      ({ platform }, plan) => without(platform.views, ({ id }) => id === first(plan, 'view_id')),
      'no change needed: the view is gone',
    ],
    [
      'drop-dead-views',
      ({ platform }, plan) => {
        platform.views.find(({ id }) => id === first(plan, 'view_id'))!.name = 'keep';
      },
      'its name is keep now',
    ],
    [
      'drop-dead-views',
      ({ platform }, plan) => {
        platform.views.find(({ id }) => id === first(plan, 'view_id'))!.query = { filter: [] };
      },
      'its query was changed',
    ],
  ],
);

const keyIn = ({ secrets }: RemoteState, plan: Plan) => secrets.keys.get(first(plan, 'name'))!;

guards(
  'secrets',
  'remove-retired-keys',
  ['kms_providers', 'mesh_roles'],
  [
    [
      'rotate-old-keys',
      (state, plan) => keyIn(state, plan).versions.push({ creationTime: '2026-10-01T02:15:00Z' }),
      'no change needed: it was rotated since',
    ],
    ['rotate-old-keys', ({ secrets }, plan) => secrets.keys.delete(first(plan, 'name')), 'the key is gone'],
    [
      'rotate-old-keys',
      (state, plan) => Object.assign(keyIn(state, plan).versions.at(-1)!, { creationTime: '2026-10-01T02:15:00Z' }),
      /its newest version is another one, which was created at 2026-10-01T02:15:00.000Z/u,
    ],
    [
      'retire-old-key-versions',
      (state, plan) => keyIn(state, plan).versions.push({ creationTime: '2026-10-01T02:15:00Z' }),
      /its newest version is \d/u,
    ],
    [
      'retire-old-key-versions',
      (state, plan) => Object.assign(keyIn(state, plan).versions.at(-1)!, { creationTime: '2026-10-01T02:15:00Z' }),
      'its newest version is another one, which was created at 2026-10-01T02:15:00.000Z',
    ],
    [
      'retire-old-key-versions',
      (state, plan) => Object.assign(keyIn(state, plan), { deletionAllowed: true }),
      'its `deletion_allowed` was changed',
    ],
    [
      'retire-old-key-versions',
      (state, plan) => Object.assign(keyIn(state, plan), { minEnabledVersion: keyIn(state, plan).versions.length }),
      /no change needed: its versions below \d are disabled/u,
    ],
    [
      'remove-retired-keys',
      (state, plan) => Object.assign(keyIn(state, plan), { deletionAllowed: false }),
      'the key may no longer be deleted',
    ],
    [
      'remove-retired-keys',
      (state, plan) => Object.assign(keyIn(state, plan).versions.at(-1)!, { creationTime: '2026-10-01T02:15:00Z' }),
      'its newest version is another one, which was created at 2026-10-01T02:15:00.000Z',
    ],
    [
      'remove-retired-keys',
      ({ secrets }, plan) => secrets.keys.delete(first(plan, 'name')),
      'no change needed: the key is gone',
    ],
    [
      'remove-retired-keys',
      ({ secrets }, plan) => {
        const held = { name: 'x-1', protection: 'hsm', purpose: ['sign'], versions: {} };
        secrets.providers.get('lab-empty')!.keys.set(first(plan, 'name'), held);
      },
      'it is distributed to lab-empty',
    ],
    [
      'remove-empty-providers',
      ({ secrets }, plan) => Object.assign(secrets.providers.get(first(plan, 'name'))!, { keyCollection: 'another' }),
      'it is another provider now: its `key_collection` is another',
    ],
    [
      'remove-empty-providers',
      ({ secrets }) => {
        const held = { name: 'x-1', protection: 'hsm', purpose: ['sign'], versions: {} };
        secrets.providers.get('lab-empty')!.keys.set('payments-signing', held);
      },
      'it has 1 key',
    ],
    [
      'remove-empty-providers',
      ({ secrets }) => secrets.providers.delete('lab-empty'),
      'no change needed: the provider is gone',
    ],
    [
      'downgrade-management-roles',
      ({ secrets }) => Object.assign(secrets.roles.get('legacy-admin')!, { ttlSeconds: 60 }),
      'the role was changed',
    ],
    [
      'downgrade-management-roles',
      ({ secrets }) => Object.assign(secrets.roles.get('legacy-admin')!, { tokenType: 'N/A' }),
      'the role was changed',
    ],
    [
      'downgrade-management-roles',
      ({ secrets }) => Object.assign(secrets.roles.get('legacy-admin')!, { tokenType: 'client' }),
      'no change needed: its tokens are client tokens',
    ],
    [
      'downgrade-management-roles',
      ({ secrets }) => Object.assign(secrets.roles.get('legacy-admin')!, { tokenType: 'client', ttlSeconds: 60 }),
      'no change needed: its tokens are client tokens',
    ],
    ['downgrade-management-roles', ({ secrets }) => secrets.roles.delete('legacy-admin'), 'the role is gone'],
  ],
  (config) => {
    config.thresholds = { keyVersionsKept: 3 };
  },
);

const CACHE = volumeKey('default', 'lost-cache');
const LEDGER = volumeKey('default', 'unprotected-ledger');
const pluginIn = ({ scheduler }: RemoteState, plan: Plan) =>
  scheduler.plugins.get(String(plan.actions[0]?.guard.inputs.plugin_id))!;
const externalId = (plan: Plan) => String(plan.actions[0]?.guard.inputs.external_id);

guards(
  'scheduler',
  'drop-stale-snapshots',
  ['acl_policies'],
  [
    [
      'trim-anonymous-policy',
      ({ scheduler }) => scheduler.policies.delete('anonymous'),
      'no change needed: the policy is gone',
    ],
    [
      'trim-anonymous-policy',
      ({ scheduler }) => Object.assign(scheduler.policies.get('anonymous')!, { rules: 'agent { policy = "write" }' }),
      'the policy was changed',
    ],
    [
      'trim-anonymous-policy',
      ({ scheduler }) => Object.assign(scheduler.policies.get('anonymous')!, { description: 'mine' }),
      'the policy was changed',
    ],
    [
      'trim-anonymous-policy',
      ({ scheduler }, plan) => {
        const rules = String(plan.actions[0]!.guard.inputs.wanted_rules).replaceAll('\n', '\r\n').trim();
        Object.assign(scheduler.policies.get('anonymous')!, { rules });
      },
      'no change needed: its rules grant only read access',
    ],
    [
      'detach-lost-claims',
      ({ scheduler }) => {
        const [claim] = scheduler.volumes.get(CACHE)!.claims;
        scheduler.allocations.get(claim!.allocationId)!.clientStatus = 'running';
      },
      /allocation .* whose status is running, claims it/u,
    ],
    [
      'detach-lost-claims',
      ({ scheduler }) => scheduler.volumes.get(CACHE)!.claims.push({ allocationId: 'forgotten', mode: 'read' }),
      'allocation forgotten, whose status is unknown, claims it',
    ],
    [
      'detach-lost-claims',
      ({ scheduler }) => Object.assign(scheduler.volumes.get(CACHE)!, { claims: [] }),
      'no change needed: nothing on the node claims it',
    ],
    ['detach-lost-claims', ({ scheduler }) => scheduler.volumes.delete(CACHE), 'no change needed: the volume is gone'],
    [
      'deregister-missing-volumes',
      (state, plan) => {
        const found = { id: externalId(plan), capacityBytes: 1n, snapshotId: '', abnormal: false, status: '' };
        pluginIn(state, plan).externals.set(found.id, found);
      },
      'it is in the provider again',
    ],
    [
      'deregister-missing-volumes',
      ({ scheduler }, plan) => Object.assign(scheduler.volumes.get(firstVolume(plan))!, { pluginId: 'another' }),
      'its plugin is another now',
    ],
    [
      'deregister-missing-volumes',
      ({ scheduler }, plan) =>
        scheduler.volumes.get(firstVolume(plan))!.claims.push({ allocationId: 'new', mode: 'write' }),
      'it is claimed',
    ],
    [
      'deregister-missing-volumes',
      ({ scheduler }, plan) => scheduler.volumes.delete(firstVolume(plan)),
      'no change needed: the volume is not registered',
    ],
    [
      'adopt-orphaned-volumes',
      (state, plan) => pluginIn(state, plan).externals.delete(externalId(plan)),
      'it is no longer in the provider',
    ],
    [
      'adopt-orphaned-volumes',
      ({ scheduler }, plan) => {
        const volume = {
          ...scheduler.volumes.get(LEDGER)!,
          id: 'mine',
          externalId: externalId(plan),
          pluginId: String(plan.actions[0]?.guard.inputs.plugin_id),
        };
        scheduler.volumes.set(volumeKey('default', 'mine'), volume);
      },
      'no change needed: it is registered as mine',
    ],
    [
      'adopt-orphaned-volumes',
      ({ scheduler }, plan) => {
        const id = first(plan, 'volume_id');
        scheduler.volumes.set(volumeKey('default', id), { ...scheduler.volumes.get(LEDGER)!, id });
      },
      'another volume has the ID',
    ],
    [
      'adopt-orphaned-volumes',
      ({ scheduler }, plan) => {
        const id = first(plan, 'volume_id');
        const volume = { ...scheduler.volumes.get(LEDGER)!, id, externalId: externalId(plan), pluginId: 'another' };
        scheduler.volumes.set(volumeKey('default', id), volume);
      },
      'another volume has the ID',
    ],
    [
      'snapshot-unprotected-volumes',
      ({ scheduler }) => Object.assign(scheduler.volumes.get(LEDGER)!, { pluginId: 'another' }),
      'its plugin is another now',
    ],
    [
      'snapshot-unprotected-volumes',
      (state, plan) => {
        const taken = {
          id: 'snap-1',
          sourceId: externalId(plan),
          sizeBytes: 1n,
          createdAt: new Date('2026-09-30T02:15:00Z'),
          ready: true,
          parameters: null,
        };
        pluginIn(state, plan).snapshots.set('snap-1', taken);
      },
      'no change needed: snapshot snap-1 of 2026-09-30T02:15:00.000Z protects it',
    ],
    [
      'snapshot-unprotected-volumes',
      (state, plan) => {
        const taken = {
          id: 'snap-1',
          sourceId: externalId(plan),
          sizeBytes: 1n,
          createdAt: new Date('2026-10-01T02:00:00Z'),
          ready: false,
          parameters: null,
        };
        pluginIn(state, plan).snapshots.set('snap-1', taken);
      },
      'snapshot snap-1 of 2026-10-01T02:00:00.000Z is not ready yet',
    ],
    [
      'snapshot-unprotected-volumes',
      ({ scheduler }) => scheduler.volumes.delete(LEDGER),
      'the volume is no longer registered',
    ],
    [
      'drop-stale-snapshots',
      (state, plan) => pluginIn(state, plan).snapshots.delete(first(plan, 'snapshot_id')),
      'no change needed: the snapshot is gone',
    ],
    [
      'drop-stale-snapshots',
      (state, plan) => {
        const { snapshots } = pluginIn(state, plan);
        const id = first(plan, 'snapshot_id');
        snapshots.set(id, { ...snapshots.get(id)!, createdAt: new Date('2026-09-30T02:15:00Z') });
      },
      'it was taken at 2026-09-30T02:15:00.000Z',
    ],
  ],
);
