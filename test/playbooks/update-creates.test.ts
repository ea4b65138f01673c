import { expect, test } from 'vitest';
import type { FaultHook } from '../../sandbox/router.ts';
import { playbookHarness } from '../helpers/playbook-harness.ts';

/** An apply reads a key to check the precondition, and the client reads it once more before it updates it. */
test.each([1, 2, 3])('retire-old-key-versions never creates a key that disappears before read %i', async (last) => {
  let reads: number | undefined;
  let victim = '';
  const faultHook: FaultHook = ({ method, path }, service) => {
    if (reads === undefined || method !== 'GET' || !decodeURIComponent(path).endsWith(`/keymgmt/key/${victim}`))
      return undefined;
    if (++reads === last) (service.state as { keys: Map<string, unknown> }).keys.delete(victim);
    return undefined;
  };
  const harness = await playbookHarness({ updatesTable: false, playbook: 'retire-old-key-versions', faultHook });
  const { actions } = await harness.plan();
  victim = String(actions[0]?.params.name);
  await harness.approve();
  reads = 0;
  await harness.tidemark(['playbook', 'apply', harness.planFile, '--json']);
  expect(reads).toBeGreaterThanOrEqual(last);
  expect(harness.sandbox.services.secrets.state.keys.has(victim)).toBe(false);
});
