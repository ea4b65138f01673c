import { expect, test } from 'vitest';
import { volumeKey } from '../../sandbox/scheduler/volumes.ts';
import { listWrites, playbookHarness } from '../helpers/playbook-harness.ts';
import { applyHarness } from './apply-harness.ts';

interface Row {
  readonly action_id: string;
  readonly status: string;
  readonly reason: string | null;
}

const harness = applyHarness({ playbook: 'reap-dead-agents' });

test('the service refuses to delete an agent that comes back after the guard was read: 412', async () => {
  const plan = await harness.useApprovedPlan();
  const back = harness.findAgent(plan, 1);
  harness.faultHook = ({ method, path }) => {
    if (method === 'DELETE' && path.endsWith(back.id)) back.status = 'busy';
    return undefined;
  };
  const applied = await harness.apply([], 1);
  expect(harness.statuses(applied)).toEqual([
    ['applied', null],
    [
      'failed',
      expect.stringMatching(/^platform\.agents\.delete at acme: 412 precondition: .*unknown, errored or exited/u),
    ],
    ['applied', null],
  ]);
  expect(applied.rows[1]).toMatchObject({ before: { status: expect.any(String) }, after: { status: 'busy' } });
  expect(harness.agents()).toContain(back.id);
});

test.each([
  ['that someone else deletes needs no change', undefined, ['skipped', 'no change needed: the agent is gone']],
  ['whose deletion conflicts with that of someone else', 409, ['skipped', 'no change needed: the agent is gone']],
  ['whose deletion is refused all the same is deleted', 403, ['applied', expect.stringContaining('403 forbidden')]],
])('an agent %s, after the guard was read', async (_name, status, result) => {
  const plan = await harness.useApprovedPlan();
  const gone = harness.findAgent(plan, 1).id;
  harness.faultHook = ({ method, path }) => {
    const { agents } = harness.place.sandbox.services.platform.state;
    const index = agents.findIndex(({ id }) => id === gone);
    if (method !== 'DELETE' || !path.endsWith(gone) || index < 0) return undefined;
    agents.splice(index, 1);
    return status === undefined ? undefined : { status, body: '{"errors": []}' };
  };
  expect(harness.statuses(await harness.apply())).toEqual([['applied', null], result, ['applied', null]]);
});

test.each([403, 422, 426])(
  'what a gateway refuses with %d in words of its own, and a reading shows late, is applied',
  async (status) => {
    const plan = await harness.useApprovedPlan();
    const { id } = harness.findAgent(plan, 1);
    let readings = -1;
    harness.faultHook = ({ method, path }) => {
      if (!path.endsWith(id)) return undefined;
      if (method === 'DELETE') readings = 0;
      if (method === 'DELETE') return { status, body: '{"message": "Forbidden"}' };
      const { agents } = harness.place.sandbox.services.platform.state;
      if (readings >= 0 && readings++ === 1) agents.splice(0, agents.length, ...agents.filter((one) => one.id !== id));
      return undefined;
    };
    const late = [
      'applied',
      expect.stringMatching(/^platform\.agents\.delete .* readings show that it was applied: the agent is gone$/u),
    ];
    expect(harness.statuses(await harness.apply())).toEqual([['applied', null], late, ['applied', null]]);
    expect(harness.writes().filter((write) => write.endsWith(id))).toHaveLength(1);
  },
);

test('a rotation that a gateway refuses in words of its own is not sent again', async () => {
  const place = await playbookHarness({
    updatesTable: false,
    playbook: 'rotate-old-keys',
    faultHook: ({ method }) => (method === 'PUT' || method === 'POST' ? { status: 403, body: '' } : undefined),
  });
  const { actions } = await place.plan(['--max-percent', '100']);
  await place.approve();
  for (let time = 0; time < 2; time++) {
    const { rows } = (await place.apply(['--max-failures', '99'], 1)).json<{ rows: Row[] }>();
    expect(rows.map((row) => row.status)).toEqual(actions.map(() => 'unconfirmed'));
    expect(listWrites(place.sandbox.log)).toHaveLength(actions.length);
  }
});

test('the service refuses to detach a volume that is used again: 500 in use; dependent actions wait, the others continue', async () => {
  const key = volumeKey('prod', 'lost-reports');
  const place = await playbookHarness({
    playbook: 'detach-lost-claims',
    faultHook: ({ method, path }, { state }) => {
      if (method !== 'DELETE' || !path.includes('lost-reports')) return undefined;
      const { volumes, allocations } = state as typeof place.sandbox.services.scheduler.state;
      for (const { allocationId } of volumes.get(key)!.claims) allocations.get(allocationId)!.clientStatus = 'running';
      return undefined;
    },
  });
  await place.plan(['--max-percent', '100']);
  await place.approve();
  const { rows } = (await place.apply([], 1)).json<{ rows: Row[] }>();
  expect(rows.map(({ status, reason }) => [status, reason])).toEqual([
    ['applied', null],
    ['failed', expect.stringContaining('500 in-use: volume in use: lost-reports')],
    ['skipped', 'a2, which must come first, was not applied'],
  ]);
  expect(listWrites(place.sandbox.log)).toHaveLength(2);
  expect((await place.ledger()).map(({ action_id, status }) => [action_id, status])).toEqual([
    ['a1', 'applied'],
    ['a2', 'failed'],
  ]);
});

test('a read-only write token changes nothing, and the reason is 403', async () => {
  const place = await playbookHarness({
    playbook: 'remove-retired-keys',
    snapshot: true, // the token matters to the apply only
    configure: (config) => {
      for (const target of config.targets) if (target.kind === 'secrets') target.writeToken = target.token;
    },
  });
  await place.plan();
  await place.approve();
  const { rows } = (await place.apply([], 1)).json<{ rows: Row[] }>();
  expect(rows.map(({ status }) => status)).toEqual(['failed', 'failed', 'skipped']);
  expect(rows[0]?.reason).toContain('403 forbidden');
  expect(place.sandbox.services.secrets.state.keys.has('retired-2024-batch')).toBe(true);
});

test.each([
  [404, '{"errors": ["no such key"]}'],
  [429, '{"errors": ["too many requests"]}'],
  [307, ''],
])(
  'the removal of the last key of a provider that is done and answered with %d has not failed',
  async (status, body) => {
    const place = await playbookHarness({
      updatesTable: false,
      playbook: 'remove-retired-keys',
      prepare: ({ secrets }) => {
        for (const { keys } of secrets.providers.values())
          for (const name of keys.has('retired-2024-batch') ? keys.keys() : [])
            if (name !== 'retired-2024-batch') keys.delete(name);
      },
      faultHook: ({ method, path }, { state }) => {
        const { providers } = state as typeof place.sandbox.services.secrets.state;
        const [, provider = '', key = ''] = /\/kms\/([^/]+)\/key\/([^/]+)$/u.exec(path) ?? [];
        if (method !== 'DELETE' || !providers.get(provider)?.keys.delete(key)) return undefined;
        return { status, body, headers: { location: 'https://login.example/' } };
      },
    });
    const { actions } = await place.plan(['--max-percent', '100']);
    await place.approve();
    const { rows } = (await place.apply([], 1)).json<{ rows: Row[] }>();
    const first = actions.findIndex(({ operation }) => operation === 'secrets.kms-keys.remove');
    expect(rows[first]).toMatchObject({
      status: 'unconfirmed',
      reason: expect.stringMatching(/^secrets\.kms-keys\.remove .* lacks it, and no other item is known/u),
    });
    expect(listWrites(place.sandbox.log).filter(({ path }) => path.includes('/kms/'))).toHaveLength(1);
  },
);

test('the removal of the last key of a provider that takes effect after readings did not show it has not failed', async () => {
  const place = await playbookHarness({
    updatesTable: false,
    playbook: 'remove-retired-keys',
    prepare: ({ secrets }) => {
      for (const { keys } of secrets.providers.values())
        for (const name of keys.has('retired-2024-batch') ? [...keys.keys()] : [])
          if (name !== 'retired-2024-batch') keys.delete(name);
    },
    faultHook: ({ method }) => (method === 'DELETE' ? { status: 502, body: '' } : undefined),
  });
  const { actions } = await place.plan(['--max-percent', '100']);
  await place.approve();
  const first = actions.findIndex(({ operation }) => operation === 'secrets.kms-keys.remove');
  const statuses = [];
  for (const _ of [1, 2, 3]) {
    const { rows } = (await place.apply([], 1)).json<{ rows: Row[] }>();
    statuses.push(rows[first]?.status);
    for (const { keys } of place.sandbox.services.secrets.state.providers.values()) keys.delete('retired-2024-batch');
  }
  expect(statuses).toEqual(['failed', 'unconfirmed', 'unconfirmed']);
});

test('no secret of the configuration or of a service is in a plan, the ledger or the table', async () => {
  const place = await playbookHarness({
    playbook: 'adopt-orphaned-volumes',
    prepare: ({ scheduler }) => {
      for (const volume of scheduler.volumes.values()) volume.secrets = { password: 'planted-secret-value' };
    },
  });
  const plan = await place.plan();
  await place.approve();
  await place.apply();
  const stored = JSON.stringify([plan, await place.ledger(), await place.rows('select * from actions')]);
  const tokens = Object.values(place.sandbox.tokens).flatMap(({ read, write }) => [read, write]);
  for (const secret of [...tokens, 'planted-secret-value']) expect(stored).not.toContain(secret);
});
