import { expect, test } from 'vitest';
import { testProject } from '../helpers/test-project.ts';

test('a run while another holds the lock exits with 6 and names the owner', async () => {
  let inner: Promise<{ exit: number; stderr: string }> | undefined;
  const place = await testProject({
    workspaces: 5,
    faultHook: ({ path }) => {
      if (path.includes('/keymgmt/key')) inner ??= place.tidemark(['pull', '--target', 'scaler']);
      return undefined;
    },
  });
  await place.pull(['--source', 'keys']);
  expect(await inner).toMatchObject({
    exit: 6,
    stderr: expect.stringMatching(/the warehouse is locked by pull \(process \d+/u),
  });
});

test('--quiet prints only warnings to stderr, and does not change stdout', async () => {
  const place = await testProject({
    workspaces: 5,
    faultHook: ({ path }, service) => (path.includes('/mesh/roles') ? service.error(403, 'not today') : undefined),
  });
  const two = ['--source', 'kms_providers', '--source', 'mesh_roles'];
  const loud = await place.tidemark(['pull', ...two]);
  const quiet = await place.tidemark(['--quiet', 'pull', ...two]);
  expect(loud.stderr).toMatch(/^vault: kms_providers: \d+ rows/mu);
  expect(quiet.stderr).toMatch(/^warning: vault: mesh_roles: failed: /u);
  expect(quiet.stderr.trim().split('\n').length).toBe(1);
  expect(quiet.stdout).toMatch(/^run \S+: incomplete, 1 of 2 sources complete\n$/u);
});

test.each([
  ['sends half of a character', 'not \ud83d', 'not \ufffd'],
  ['is cut in a character', `${'x'.repeat(399 - '1 error occurred: * '.length)}😀`, 'x…'],
])('an error that %s fails its source alone', async (_, message, shown) => {
  const place = await testProject({
    workspaces: 5,
    faultHook: ({ path }, service) => (path.includes('/mesh/roles') ? service.error(403, message) : undefined),
  });
  const { exit, stderr } = await place.tidemark(['pull', '--source', 'kms_providers', '--source', 'mesh_roles']);
  expect(exit).toBe(1);
  expect(stderr).toContain(shown);
  expect(await place.rows('select source, status from pulls order by source')).toEqual([
    { source: 'kms_providers', status: 'complete' },
    { source: 'mesh_roles', status: 'failed' },
  ]);
});

test('unknown targets and sources are reported with the closest match, and a table selects its source', async () => {
  const place = await testProject({ workspaces: 5 });
  expect(await place.tidemark(['pull', '--target', 'acne'])).toMatchObject({
    exit: 2,
    stderr: expect.stringMatching(/unknown target acne\n {2}did you mean acme\?/),
  });
  expect(await place.tidemark(['pull', '--source', 'workspace'])).toMatchObject({
    exit: 2,
    stderr: expect.stringMatching(/unknown source workspace\n {2}did you mean workspaces\?/),
  });
  expect(await place.tidemark(['pull', '--target', 'vault', '--source', 'workspaces'])).toMatchObject({
    exit: 2,
    stderr: expect.stringContaining('the selected targets have none of the selected sources'),
  });
  const { pulls } = (await place.pull(['--source', 'key_versions'])).json<{ pulls: { source: string }[] }>();
  expect(pulls.map(({ source }) => source)).toEqual(['keys']);
});
