import { beforeAll, describe, expect, test } from 'vitest';
import type { Plan } from '../../src/act/plan-file.ts';
import { findLongerPlugins, readRegisteredVolumes } from '../../src/act/playbooks/lib/csi.ts';
import { listWrites, type PlaybookHarness, playbookHarness } from '../helpers/playbook-harness.ts';
import { cleanAtEnd } from '../helpers/temp.ts';

/** A list that answers 404 just before the action, or is not supported, is unknown, and so is a subject: the action stays pending. */
const cases = [
  ['remove-empty-pools', /\/agents$/u, 404, 'platform.agents.list answers "not found", which proves nothing'],
  [
    'remove-retired-keys',
    /\/key\/[^/]+\/kms$/u,
    404,
    'secrets.keys.providers answers "not found", which proves nothing',
  ],
  ['pin-drift-view', /\/explorer\/views$/u, 404, 'platform.views.list answers "not found", which proves nothing'],
  [
    'adopt-orphaned-volumes',
    /\/v1\/volumes$/u,
    404,
    'scheduler.volumes.list answers "not found", which proves nothing',
  ],
  ['drop-stale-snapshots', /\/v1\/volumes$/u, 404, 'scheduler.volumes.list answers "not found", which proves nothing'],
  ['snapshot-unprotected-volumes', /\/volumes\/snapshot$/u, 500, 'its snapshots are not reported'],
  ['deregister-missing-volumes', /\/volume\/csi\/[^/]+$/u, 500, 'the subject could not be read'],
  ['remove-retired-keys', /\/kms\/[^/]+\/key\/[^/]+$/u, 501, 'the subject could not be read'],
] as const;

test.each(cases)(
  '%s leaves the action pending when a list is refused (%s, %i): %s',
  async (playbook, refused, status, reason) => {
    let isRefused = false;
    const place = await playbookHarness({
      updatesTable: false,
      playbook,
      sources: ['saved_views', 'external_volumes'],
      faultHook: ({ method, path }) =>
        isRefused && (method === 'GET' || method === 'LIST') && refused.test(path)
          ? { status, body: '{"errors":["it does not support that"]}' }
          : undefined,
    });
    await place.plan(['--max-percent', '100']);
    await place.approve();
    isRefused = true;
    const { stdout } = await place.tidemark(['playbook', 'apply', place.planFile, '--json']);
    const { rows } = JSON.parse(stdout) as { rows: { status: string; reason: string | null; operation: string }[] };
    const left = rows.filter((row) => row.reason !== null && new RegExp(reason).test(row.reason));
    expect(left.length, stdout).toBeGreaterThan(0);
    expect(new Set(left.map((row) => row.status))).toEqual(new Set(['failed']));
    expect(listWrites(place.sandbox.log)).toHaveLength(rows.filter((row) => row.status === 'applied').length);
  },
);

/** Agents, pools, views, keys, roles, policies and volumes, each by its ID, and the snapshots of a plugin. */
const SUBJECTS = /\/(?:(?:agents|agent-pools|views|key|roles|policy|csi)\/[^/]+|snapshot)$/u;

describe('a subject of which the service tells nothing', () => {
  const cleanup = cleanAtEnd();
  /** What it answers instead. */
  let told: string | undefined;
  let asked = SUBJECTS;
  let shared: PlaybookHarness;
  beforeAll(async () => {
    shared = await playbookHarness({
      updatesTable: false,
      playbook: 'reap-dead-agents',
      sources: ['external_volumes', 'saved_views'],
      cleanup,
      faultHook: ({ method, path }) =>
        told !== undefined && method === 'GET' && asked.test(path) ? { status: 200, body: told } : undefined,
    });
  });

  /** Plans and approves, and applies once the service answers otherwise. */
  async function applyTo(name: string, answer: (action: Plan['actions'][number]) => object, path = SUBJECTS) {
    const place = shared.switchTo(name);
    told = undefined;
    asked = path;
    const { actions } = await place.plan(['--max-percent', '100', '--limit', '1']);
    await place.approve();
    told = JSON.stringify(answer(actions[0]!));
    place.sandbox.log.length = 0;
    const { exit, json } = await place.tidemark(['playbook', 'apply', place.planFile, '--json']);
    const { rows } = json<{ rows: { status: string; reason: string }[] }>();
    expect(exit).toBe(rows[0]?.status === 'skipped' ? 0 : 1);
    expect(listWrites(place.sandbox.log)).toEqual([]);
    return rows[0];
  }

  test.each([
    'reap-dead-agents',
    'drop-dead-views',
    'scope-unused-pools',
    'remove-empty-pools',
    'rotate-old-keys',
    'retire-old-key-versions',
    'remove-retired-keys',
    'downgrade-management-roles',
    'trim-anonymous-policy',
    'detach-lost-claims',
    'deregister-missing-volumes',
    'snapshot-unprotected-volumes',
  ])('is unknown to %s: nothing is sent, and no outcome is final', async (name) => {
    expect(await applyTo(name, () => ({ data: {} }))).toMatchObject({
      status: 'failed',
      reason: expect.stringMatching(/not reported$|malformed: expected .* that has/u),
    });
  });

  test.each(['ExternalSourceVolumeID', 'CreateTime'])(
    'is unknown to drop-stale-snapshots without %s',
    async (field) => {
      const result = await applyTo('drop-stale-snapshots', ({ params, guard: { inputs } }) => {
        const { snapshot_id: ID, plugin_id: PluginID } = params;
        const snapshot = {
          ID,
          PluginID,
          ExternalSourceVolumeID: inputs.external_id,
          CreateTime: 1,
          [field]: undefined,
        };
        return { Snapshots: [snapshot] };
      });
      expect(result).toMatchObject({
        status: 'failed',
        reason: expect.stringMatching(/not reported$/u),
      });
    },
  );

  test('is unknown to drop-stale-snapshots where the list has it twice, and of two volumes', async () => {
    const result = await applyTo('drop-stale-snapshots', ({ params, guard: { inputs } }) => {
      const snapshot = {
        ID: params.snapshot_id,
        PluginID: params.plugin_id,
        ExternalSourceVolumeID: inputs.external_id,
        CreateTime: Date.parse(String(inputs.created_at)) / 1000,
      };
      return { Snapshots: [snapshot, { ...snapshot, ExternalSourceVolumeID: 'another' }] };
    });
    expect(result).toMatchObject({ status: 'failed', reason: expect.stringMatching(/not reported$/u) });
  });

  type Inputs = Plan['actions'][number]['guard']['inputs'];
  const held = ({ plugin_id }: Inputs) => shared.sandbox.services.scheduler.state.plugins.get(String(plugin_id))!;
  const registered = () =>
    [...shared.sandbox.services.scheduler.state.volumes.values()].map((one) => ({
      ID: one.id,
      ExternalID: one.externalId,
    }));
  test.each<[playbook: string, path: RegExp, answer: (inputs: Inputs) => object, result: object]>([
    [
      'deregister-missing-volumes',
      /\/volumes\/external$/u,
      (inputs) => ({ Volumes: [...[...held(inputs).externals.keys()].map((ExternalID) => ({ ExternalID })), {}] }),
      { status: 'failed', reason: expect.stringMatching(/^scheduler.external-volumes.list lacks it/u) },
    ],
    [
      'adopt-orphaned-volumes',
      /\/v1\/volumes$/u,
      ({ external_id }) => [{ ID: 'v1', ExternalID: external_id, PluginID: null }, ...registered()],
      { status: 'failed', reason: 'the registered volumes are not reported' },
    ],
    [
      'adopt-orphaned-volumes',
      /\/v1\/volumes$/u,
      ({ plugin_id }) => [{ ID: 'v1', ExternalID: null, PluginID: plugin_id }, ...registered()],
      { status: 'failed', reason: expect.stringMatching(/^scheduler.volumes.list lacks it/u) },
    ],
    [
      'snapshot-unprotected-volumes',
      /\/volumes\/snapshot$/u,
      ({ plugin_id, external_id }) => ({
        Snapshots: [
          { ID: 's1', PluginID: plugin_id, ExternalSourceVolumeID: external_id, CreateTime: 'soon', IsReady: true },
        ],
      }),
      { status: 'failed', reason: 'whether snapshot s1 protects it is not reported' },
    ],
    [
      'detach-lost-claims',
      SUBJECTS,
      ({ volume_id }) => ({
        ID: volume_id,
        ReadAllocs: {},
        WriteAllocs: { a1: { ID: 'a1', ClientStatus: 'complete', NodeID: null } },
      }),
      { status: 'skipped', reason: 'allocation a1, whose status is unknown, claims it' },
    ],
  ])('is unknown to %s where one item of the answer cannot be read', async (name, path, answer, result) => {
    expect(await applyTo(name, ({ guard: { inputs } }) => answer(inputs), path)).toMatchObject(result);
  });

  test('is in doubt for the volumes of its plugin alone where a registered volume does not tell its external one', () => {
    const volumes = [{ ExternalID: 'e1', PluginID: 'ab' }, { PluginID: 'ab' }, { ExternalID: '', PluginID: 'ef' }];
    const listIds = (plugin_id: string) => readRegisteredVolumes.absence?.listIds(volumes, { plugin_id });
    expect(['ab', 'ab12', 'ef', 'cd'].map(listIds)).toEqual([['e1', ''], ['e1', ''], ['e1', ''], ['e1']]);
  });

  test('may be of a plugin with a longer ID where its plugin cannot be read', () => {
    const snapshots = { found: true, value: [{ PluginID: 'ab' }, { PluginID: null }, {}, { PluginID: 7 }] } as const;
    const find = (plugin_match: 'exact' | 'prefix') => findLongerPlugins({ plugin_id: 'ab', plugin_match }, snapshots);
    expect([find('exact'), find('prefix')]).toEqual([[], ['ab…']]);
  });

  test('is unknown to reap-dead-agents without the ping that the plan has', async () => {
    const result = await applyTo('reap-dead-agents', ({ params: { id }, guard: { inputs } }) => {
      expect(inputs.last_ping_at).not.toBeNull();
      return { data: { id, attributes: { status: inputs.status } } };
    });
    expect(result).toMatchObject({ status: 'failed', reason: 'its last ping is not reported' });
  });

  test('is not planned by drop-dead-views without the query that would be compared', async () => {
    const place = shared.switchTo('drop-dead-views');
    told = '{"data":{}}';
    const { actions, skipped } = await place.plan(['--max-percent', '100']);
    expect(actions).toEqual([]);
    expect(new Set(skipped.map(({ reason }) => reason))).toEqual(new Set(['its query is not reported']));
  });

  test('is as unknown where the answer is about another one, which a proxy mixed up', async () => {
    const other = { id: 'agent-other', attributes: { status: 'exited', 'last-ping-at': '2001-01-01T00:00:00Z' } };
    expect(await applyTo('reap-dead-agents', () => ({ data: other }))).toMatchObject({
      status: 'failed',
      reason: expect.stringMatching(/the response for agent-\w+ describes another item/u),
    });
  });
});
