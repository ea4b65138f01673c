import { expect, test } from 'vitest';
import { startTestSandbox } from '../helpers/test-sandbox.ts';
import { runApi } from './api-harness.ts';

test.each(['spec', 'hashicorp'] as const)(
  'with the flavor %s, --create lets an update create a key',
  async (flavor) => {
    const sandbox = await startTestSandbox({ workspaces: 20, flavor });
    const { keys } = sandbox.services.secrets.state;
    const config = sandbox.config();
    const words = ['secrets.keys.update', 'name=typo', '--yes', '--body', '{"min_enabled_version": 0}'];
    try {
      const refused = await runApi(words, { config });
      expect(refused.stderr).toContain('typo does not exist, and the update would create it');
      expect([refused.exit, keys.has('typo')]).toEqual([6, false]);
      expect((await runApi([...words, '--create'], { config })).exit).toBe(0);
      expect(keys.has('typo')).toBe(true);
    } finally {
      await sandbox.close();
    }
  },
);

test('--create applies to such updates only', async () => {
  const sandbox = await startTestSandbox({ workspaces: 20 });
  const { exit, stderr } = await runApi(['secrets.keys.list', '--create'], { config: sandbox.config() });
  await sandbox.close();
  expect([exit, stderr]).toEqual([2, expect.stringContaining('--create does not apply')]);
});
