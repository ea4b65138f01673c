import { describe, expect, test } from 'vitest';
import { findTarget, testProject } from '../helpers/test-project.ts';

/** The warnings of `doctor` about what listings prove. */
async function listingWarnings(flavor: 'spec' | 'hashicorp', changes: Readonly<Record<string, unknown>> = {}) {
  const place = await testProject({ workspaces: 5, flavor, warehouse: 'none' });
  await place.configure((config) => {
    config.targets = [Object.assign(findTarget(config, 'nomad'), changes)];
  });
  const { stdout } = await place.tidemark(['doctor', '--json', '--now', new Date().toISOString()]);
  const checks = JSON.parse(stdout) as { about: string; check: string; detail: string; warning?: true }[];
  return checks.filter(({ check }) => check === 'sees').map(({ about, detail }) => `${about} ${detail}`);
}

describe('doctor says which listings may be partial, and what stays unknown', () => {
  test('policies, where nothing tells what the token is', async () => {
    expect(await listingWarnings('spec')).toEqual([
      'nomad acl_policies: a token that is not a management token sees only its own policies, and nothing tells what the token is (declare it as `sees` of the target); anonymous-write may stay unknown',
    ]);
  });

  test('nothing, where the target declares that it sees all', async () => {
    expect(await listingWarnings('spec', { sees: 'all' })).toEqual([]);
  });

  test('nothing, where the service says that the token may do everything', async () => {
    expect(await listingWarnings('hashicorp')).toEqual([]);
  });

  test('volumes, where one namespace is configured', async () => {
    expect(await listingWarnings('hashicorp', { namespace: 'default' })).toEqual([
      'nomad volumes: only the volumes of the namespace default are listed; orphaned-external-volume may stay unknown',
    ]);
  });
});
