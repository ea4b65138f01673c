import { describe, expect, test } from 'vitest';
import { readEstate } from '../../sandbox/estate.ts';
import { volumeKey } from '../../sandbox/scheduler/volumes.ts';
import { playbookHarness } from '../helpers/playbook-harness.ts';
import { expectResolved, sharePlaybooks } from './lifecycle.ts';

const READ_ONLY = `namespace "default" {
  policy = "read"
}

node {
  policy = "read"
}
`;

describe('playbooks of one project', () => {
  const shared = sharePlaybooks({
    playbook: 'trim-anonymous-policy',
    others: [
      'detach-lost-claims',
      'deregister-missing-volumes',
      'adopt-orphaned-volumes',
      'snapshot-unprotected-volumes',
      'drop-stale-snapshots',
    ],
  });
  const { step, lifecycle, plans } = shared;

  step('trim-anonymous-policy reduces the policy to read access, and keeps its description', async () => {
    await lifecycle('trim-anonymous-policy', {
      actions: 1,
      expectedChange: ({ scheduler }) => {
        scheduler.index += 1;
        Object.assign(scheduler.policies.get('anonymous')!, { rules: READ_ONLY, modifyIndex: scheduler.index });
      },
    });
  });

  step('detach-lost-claims detaches volumes whose claims have all ended, node by node', async () => {
    await lifecycle('detach-lost-claims', {
      words: ['--max-percent', '100'],
      actions: 3,
      expectedChange: ({ scheduler }, now, plan) => {
        scheduler.index += plan.actions.length;
        for (const [namespace, id] of [
          ['default', 'lost-cache'],
          ['prod', 'lost-reports'],
        ] as const) {
          const key = volumeKey(namespace, id);
          const { modifyIndex } = now.scheduler.volumes.get(key)!;
          Object.assign(scheduler.volumes.get(key)!, { claims: [], modifyIndex });
        }
      },
    });
  });

  step('deregister-missing-volumes deregisters what the provider does not have, unless it is in use', async () => {
    await lifecycle('deregister-missing-volumes', {
      actions: 2,
      expectedChange: ({ scheduler }) => {
        scheduler.index += 2;
        scheduler.volumes.delete(volumeKey('default', 'missing-media'));
        scheduler.volumes.delete(volumeKey('prod', 'missing-logs'));
      },
    });
  });

  step('adopt-orphaned-volumes registers unregistered volumes with the capabilities of their siblings', async () => {
    await lifecycle('adopt-orphaned-volumes', {
      actions: 3,
      expectedChange: ({ scheduler }, now, plan) => {
        for (const { params, guard } of plan.actions) {
          const key = volumeKey('default', String(params.volume_id));
          const added = now.scheduler.volumes.get(key)!;
          expect(added).toMatchObject({
            externalId: guard.inputs.external_id,
            pluginId: guard.inputs.plugin_id,
            claims: [],
          });
          expect(added.capabilities).toEqual(guard.inputs.capabilities);
          scheduler.volumes.set(key, added);
        }
        scheduler.index = now.scheduler.index;
      },
    });
  });

  step('snapshot-unprotected-volumes creates one snapshot of each volume in the provider', async () => {
    await lifecycle('snapshot-unprotected-volumes', {
      actions: 2,
      expectedChange: ({ scheduler }, now, plan) => {
        scheduler.index = now.scheduler.index;
        for (const { guard } of plan.actions) {
          const id = String(guard.inputs.plugin_id);
          const known = scheduler.plugins.get(id)!.snapshots;
          const added = [...now.scheduler.plugins.get(id)!.snapshots.values()].filter(
            (snapshot) => !known.has(snapshot.id) && snapshot.sourceId === guard.inputs.external_id,
          );
          expect(added).toHaveLength(1);
          known.set(added[0]!.id, added[0]!);
        }
      },
    });
    const plan = await shared.place.switchTo('snapshot-unprotected-volumes').plan();
    expect(plan.skipped.map(({ reason }) => reason).join()).toContain('does not have');
  });

  step('drop-stale-snapshots deletes what is old or of a volume that is gone', async () => {
    await lifecycle('drop-stale-snapshots', {
      actions: 10,
      expectedChange: ({ scheduler }, _now, plan) => {
        for (const { params } of plan.actions) {
          scheduler.plugins.get(String(params.plugin_id))!.snapshots.delete(String(params.snapshot_id));
        }
      },
    });
  });

  step('the next run resolves the findings', async () => {
    const { policies } = shared.place.sandbox.services.scheduler.state;
    const inJson = readEstate('hostile').scheduler.anonymousRules[9]!;
    policies.get('anonymous')!.rules = inJson; // for the next test
    await expectResolved(
      shared.place,
      plans.filter(({ playbook }) => playbook !== 'trim-anonymous-policy'),
    );
  });

  step('trim-anonymous-policy keeps JSON rules in JSON', async () => {
    await lifecycle('trim-anonymous-policy', {
      actions: 1,
      expectedChange: ({ scheduler }) => {
        scheduler.index += 1;
        const rules =
          '{"namespace":{"default":{"policy":"read","capabilities":["list-jobs"]}},"agent":{"policy":"read"}}';
        Object.assign(scheduler.policies.get('anonymous')!, { rules, modifyIndex: scheduler.index });
      },
    });
  });
});

test('trim-anonymous-policy says what the rules that it read lose, and not what those of the finding would', async () => {
  const place = await playbookHarness({ updatesTable: false, playbook: 'trim-anonymous-policy' });
  const policy = place.sandbox.services.scheduler.state.policies.get('anonymous')!;
  policy.rules = 'namespace "default" { policy = "read" }\noperator { policy = "write" }';
  const { actions } = await place.plan();
  expect(actions.map(({ summary }) => summary)).toEqual([
    'reduce ACL policy anonymous to read access; it loses policy write',
  ]);
  policy.rules = '# as it should be\nnamespace "default" { policy = "read" }';
  const { skipped } = await place.plan();
  expect(skipped.map(({ reason }) => reason)).toEqual(['its rules grant only read access']);
});

test('drop-stale-snapshots keeps a snapshot whose volume exists again', async () => {
  const place = await playbookHarness({ updatesTable: false, playbook: 'drop-stale-snapshots' });
  const plan = await place.plan();
  await place.approve();
  const gone = plan.actions.filter(({ guard }) => guard.inputs.reason === 'volume gone');
  expect(gone).toHaveLength(3);
  for (const { guard } of gone) {
    const volume = {
      id: String(guard.inputs.external_id),
      capacityBytes: 1n,
      snapshotId: '',
      abnormal: false,
      status: '',
    };
    place.sandbox.services.scheduler.state.plugins
      .get(String(guard.inputs.plugin_id))!
      .externals.set(volume.id, volume);
  }
  const { rows } = (await place.apply()).json<{ rows: { action_id: string; reason: string | null }[] }>();
  const kept = rows.filter(({ reason }) => reason === 'its volume exists');
  expect(kept.map(({ action_id }) => action_id)).toEqual(gone.map(({ action_id }) => action_id));
});

test('snapshot-unprotected-volumes names a snapshot so that storage plugins can take its name, and no two volumes alike', async () => {
  const ids = ['a', 'b'].map((group) => `/subscriptions/${'0'.repeat(36)}/resourceGroups/${group}/disks/Data_1`);
  const place = await playbookHarness({
    updatesTable: false,
    playbook: 'snapshot-unprotected-volumes',
    prepare: ({ scheduler: { volumes, plugins } }) => {
      const unprotected = [...volumes.values()].filter(({ id }) => /^un(?:ready|protected)-/u.test(id));
      for (const [index, id] of ids.entries()) {
        const volume = unprotected[index]!;
        const { externals } = plugins.get(volume.pluginId)!;
        externals.set(id, { ...externals.get(volume.externalId)!, id });
        Object.assign(volume, { externalId: id });
      }
    },
  });
  const { actions } = await place.plan(['--max-percent', '100']);
  const own = actions.filter(({ guard }) => ids.includes(String(guard.inputs.external_id)));
  const names = own.map(({ guard }) => String(guard.inputs.snapshot_name));
  expect([names.length, new Set(names).size]).toEqual([2, 2]);
  for (const name of names) expect(name).toMatch(/^tidemark-[a-z0-9-]{1,54}$/u);
});
