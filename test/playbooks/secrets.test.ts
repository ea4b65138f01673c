import { describe, expect, test } from 'vitest';
import { playbookHarness } from '../helpers/playbook-harness.ts';
import { expectInTable, expectResolved, sharePlaybooks, testPlaybookLifecycle } from './lifecycle.ts';

describe('playbooks of one project', () => {
  const shared = sharePlaybooks({
    playbook: 'retire-old-key-versions',
    others: ['rotate-old-keys', 'remove-retired-keys', 'remove-empty-providers', 'downgrade-management-roles'],
  });
  const { step, lifecycle, plans } = shared;

  step('retire-old-key-versions leaves three versions enabled, and deletion_allowed unchanged', async () => {
    await lifecycle('retire-old-key-versions', {
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

  step('rotate-old-keys creates one new version of each old key', async () => {
    await lifecycle('rotate-old-keys', {
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

  step('remove-retired-keys removes a key from its provider, then deletes it', async () => {
    await lifecycle('remove-retired-keys', {
      actions: 3,
      expectedChange: ({ secrets: { keys, providers } }) => {
        keys.delete('retired-2023-export');
        keys.delete('retired-2024-batch');
        providers.get('azure-eu')!.keys.delete('retired-2024-batch');
      },
    });
  });

  step('remove-empty-providers deletes the provider without keys', async () => {
    await lifecycle('remove-empty-providers', {
      actions: 1,
      expectedChange: ({ secrets: { providers } }) => {
        providers.delete('lab-empty');
      },
    });
  });

  step('downgrade-management-roles keeps policy and ttl, and skips a role without a policy', async () => {
    await lifecycle('downgrade-management-roles', {
      actions: 1,
      expectedChange: ({ secrets: { roles } }, _now, plan) => {
        const role = roles.get('legacy-admin')!;
        role.tokenType = 'client';
        expect(plan.actions[0]?.body).toEqual({ token_type: 'client', policy: role.policy, ttl: '24h0m0s' });
        expect(plan.skipped.map(({ reason }) => reason)).toEqual([expect.stringContaining('the role names no policy')]);
      },
    });
    expect(shared.place.sandbox.services.secrets.state.roles.get('terraform')?.tokenType).toBe('management');
  });

  step('the next run resolves the findings', async () => {
    await shared.place.configure((config) => {
      config.thresholds = { keyRotationDays: 30 }; // for the next test
    });
    // A key that was rotated since has one more old version.
    await expectResolved(
      shared.place,
      plans.filter(({ playbook }) => playbook !== 'retire-old-key-versions'),
    );
  });

  step('a key with a slash in its name is addressed as one', async () => {
    const rotation = shared.place.switchTo('rotate-old-keys');
    const key = shared.place.sandbox.services.secrets.state.keys.get('batch/2019 100%')!;
    const plan = await rotation.plan(['--max-percent', '100']);
    expect(plan.actions.map(({ params }) => params.name)).toContain('batch/2019 100%');
    await rotation.approve();
    await rotation.apply();
    expect(key.versions).toHaveLength(2);
  });
});

test('downgrade-management-roles sends the whole role to the real product, which replaces it', async () => {
  const real = await playbookHarness({ playbook: 'downgrade-management-roles', flavor: 'hashicorp' });
  const plan = await testPlaybookLifecycle(real, {
    actions: 1,
    expectedChange: ({ secrets: { roles } }) => {
      roles.get('legacy-admin')!.tokenType = 'client';
    },
  });
  await expectInTable(real, plan); // without another run
});
