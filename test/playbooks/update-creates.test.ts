import { expect, test } from 'vitest';
import type { FaultHook } from '../../src/sandbox/router.ts';
import { playbookHarness } from '../helpers/playbook-harness.ts';

test('retire-old-key-versions never creates a key that disappears after its precondition was checked', async () => {
  let reads: number | undefined;
  let victim = '';
  const faultHook: FaultHook = ({ method, path }, service) => {
    if (reads === undefined || method !== 'GET' || !path.endsWith(`/keymgmt/key/${victim}`)) return undefined;
    reads++;
    // The first read checks the precondition.
    if (reads === 2) (service.state as { keys: Map<string, unknown> }).keys.delete(victim);
    return undefined;
  };
  const harness = await playbookHarness({ playbook: 'retire-old-key-versions', faultHook });
  const { actions } = await harness.plan(['--limit', '1']);
  victim = String(actions[0]?.params.name);
  await harness.approve();
  reads = 0;
  const { stdout } = await harness.apply([], 1);
  expect(reads).toBeGreaterThanOrEqual(2);
  expect(harness.sandbox.services.secrets.state.keys.has(victim)).toBe(false);
  expect(stdout).toContain(`${victim} does not exist, and the update would create it`);
  expect(harness.sandbox.log.filter(({ kind, method }) => kind === 'secrets' && method === 'POST')).toEqual([]);
});
