import { expect, test } from 'vitest';
import { playbookHarness } from '../helpers/playbook-harness.ts';
import { testPlaybookLifecycle } from './lifecycle.ts';

test('rotate-old-keys creates one new version of each old key', async () => {
  await testPlaybookLifecycle({
    playbook: 'rotate-old-keys',
    actions: 5,
    expectedChange: (expected, now, plan) => {
      for (const { params } of plan.actions) {
        const name = String(params.name);
        const version = now.secrets.keys.get(name)!.versions.at(-1)!;
        expected.secrets.keys.get(name)!.versions.push(version);
      }
      // The copy of a distributed key gets the new version too, under an identifier that the provider generates.
      for (const [name, provider] of now.secrets.providers) {
        for (const [key, { versions }] of provider.keys) {
          Object.assign(expected.secrets.providers.get(name)!.keys.get(key)!, { versions });
        }
      }
    },
  });
});

test('retire-old-key-versions leaves three versions enabled, and deletion_allowed unchanged', async () => {
  await testPlaybookLifecycle({
    playbook: 'retire-old-key-versions',
    resolves: false,
    actions: 5,
    expectedChange: ({ secrets: { keys } }, _now, plan) => {
      for (const { params } of plan.actions) {
        const key = keys.get(String(params.name))!;
        key.minEnabledVersion = key.versions.length - 2;
      }
      expect(keys.get('retired-2024-batch')?.deletionAllowed).toBe(true);
      expect(keys.get('payments-signing')?.deletionAllowed).toBe(false);
    },
  });
});

test('remove-retired-keys removes a key from its provider, then deletes it', async () => {
  await testPlaybookLifecycle({
    playbook: 'remove-retired-keys',
    resolves: false,
    actions: 3,
    expectedChange: ({ secrets: { keys, providers } }) => {
      keys.delete('retired-2023-export');
      keys.delete('retired-2024-batch');
      providers.get('azure-eu')!.keys.delete('retired-2024-batch');
    },
  });
});

test('remove-empty-providers deletes the provider without keys', async () => {
  await testPlaybookLifecycle({
    playbook: 'remove-empty-providers',
    actions: 1,
    expectedChange: ({ secrets: { providers } }) => {
      providers.delete('lab-empty');
    },
  });
});

test('downgrade-management-roles keeps policy and ttl, and skips a role without a policy', async () => {
  const place = await testPlaybookLifecycle({
    playbook: 'downgrade-management-roles',
    actions: 1,
    expectedChange: ({ secrets: { roles } }, _now, plan) => {
      const role = roles.get('legacy-admin')!;
      role.tokenType = 'client';
      expect(plan.actions[0]?.body).toEqual({ token_type: 'client', policy: role.policy, ttl: '24h0m0s' });
      expect(plan.skipped.map(({ reason }) => reason)).toEqual([expect.stringContaining('the role names no policy')]);
    },
  });
  expect(place.sandbox.services.secrets.state.roles.get('terraform')?.tokenType).toBe('management');
});

test('downgrade-management-roles sends the whole role to the real product, which replaces it', async () => {
  await testPlaybookLifecycle({
    playbook: 'downgrade-management-roles',
    resolves: false,
    flavor: 'hashicorp',
    actions: 1,
    expectedChange: ({ secrets: { roles } }) => {
      roles.get('legacy-admin')!.tokenType = 'client';
    },
  });
});

test('a key with a slash in its name is addressed as one', async () => {
  const place = await playbookHarness({
    playbook: 'rotate-old-keys',
    configure: (config) => {
      config.thresholds = { keyRotationDays: 30 };
    },
  });
  const key = place.sandbox.services.secrets.state.keys.get('batch/2019 100%')!;
  const plan = await place.plan(['--max-percent', '100']);
  expect(plan.actions.map(({ params }) => params.name)).toContain('batch/2019 100%');
  await place.approve();
  await place.apply();
  expect(key.versions).toHaveLength(2);
});
