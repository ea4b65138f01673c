import { expect, test } from 'vitest';
import { startSandbox } from '../../sandbox/index.ts';

/** The sizes of the unit test are up to 10,000. */
test('200,000 workspaces of the company have names of their own', async () => {
  const sandbox = await startSandbox({ workspaces: 200_000 });
  sandbox.tick();
  const names = sandbox.services.platform.state.workspaces.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  const form = /^[a-z-]+-(?:prod|staging|dev)-[a-z]+-[a-z]+-\d(?:-c\d\d)?(?:-v\d)?$/u;
  expect(names.filter((name) => !form.test(name))).toEqual([]);
  await sandbox.close();
});
