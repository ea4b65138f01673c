import { expect, test } from 'vitest';
import type { FaultHook } from '../../sandbox/router.ts';
import type { Check } from '../../src/run/doctor/checks.ts';
import { findTarget, testProject } from '../helpers/test-project.ts';

const SEALED = [503, 'Vault is sealed'] as const;

test.each([
  ['sealed', SEALED, { initialized: true, sealed: true, standby: true }, /sealed: unseal it/u],
  ['not initialized', SEALED, { initialized: false, sealed: true, standby: true }, /not initialized: initialize it/u],
  ['not initialized, with 501', [501, ''], { initialized: false, sealed: true }, /not initialized: initialize it/u],
  [
    'a standby without an active node',
    [500, 'local node not active but active cluster node not found'],
    { initialized: true, sealed: false, standby: true },
    /a standby that knows no active node/u,
  ],
  [
    'in maintenance',
    [503, 'maintenance'],
    undefined,
    /vault is out of service: \S+ at vault: 503 sealed: maintenance/u,
  ],
] as const)(
  'doctor says of a server that is %s what it is, and nothing of the token',
  async (_, refusal, health, words) => {
    const [status, message] = refusal;
    const place = await testProject({
      workspaces: 2,
      flavor: 'hashicorp',
      faultHook: ({ path }, service) => {
        if (path !== '/v1/sys/health') return path.startsWith('/v1/') ? service.error(status, message) : undefined;
        return health ? { status: 200, body: JSON.stringify(health) } : service.error(status, message);
      },
    });
    await place.configure((config) => {
      config.targets = [findTarget(config, 'vault')];
    });
    const { exit, stdout, stderr } = await place.tidemark(['doctor']);
    expect(exit).toBe(1);
    expect(stdout).toMatch(words);
    expect(stdout).toMatch(/^FAIL +vault +state /mu);
    expect(`${stdout}${stderr}`).not.toMatch(/valid token|missing rights|FAIL +vault +(?:token|keys)/u);
  },
);

test('doctor says of a source that the server cannot answer no right that the token lacks', async () => {
  const place = await testProject({
    workspaces: 2,
    flavor: 'hashicorp',
    faultHook: ({ path }, service) =>
      path.startsWith('/v1/keymgmt/kms') ? service.error(503, 'Vault is sealed') : undefined,
  });
  const { stdout } = await place.tidemark(['doctor']);
  expect(stdout).toMatch(/^FAIL +vault +kms_providers +\S+ at vault: 503 sealed/mu);
  expect(stdout).toContain('vault: see why a source cannot be checked, or try again later');
  expect(stdout).not.toContain('missing rights');
});

test.each([
  [
    'a cluster without a leader',
    { status: 500, body: 'No cluster leader' },
    /500 (?:server|sealed): No cluster leader/u,
  ],
  ['a login page', { status: 200, body: '<html><title>Sign in</title></html>' }, /an HTML page titled "Sign in"/u],
  ['a page that refuses', { status: 403, body: '<html><title>No entry</title></html>' }, /titled "No entry"/u],
  ['a pause of an hour', { status: 429, headers: { 'retry-after': '3600' }, body: '{}' }, /asked to wait 3600 s/u],
  ['a gateway that refuses methods', { status: 405, body: '' }, /405 invalid/u],
  [
    'another server',
    { status: 404, body: '404 page not found' },
    /404 not-found: 404 page not found: check `url` of this target/u,
  ],
])('doctor says of %s what it is, and nothing of the token', async (_, answer, words) => {
  const faultHook: FaultHook = ({ path }) => (path.startsWith('/v1/') ? answer : undefined);
  const place = await testProject({ workspaces: 2, flavor: 'hashicorp', faultHook });
  const names = ['nomad', 'vault', 'consul'];
  await place.configure((config) => {
    config.targets = names.map((name) => findTarget(config, name));
  });
  const { exit, stdout } = await place.tidemark(['doctor', '--json']);
  expect(exit).toBe(1);
  const failed = (JSON.parse(stdout) as Check[]).filter(({ ok }) => !ok);
  expect(failed.map(({ about, check }) => [about, check])).toEqual(names.map((name) => [name, 'answers']));
  for (const { detail } of failed) expect(detail).toMatch(words);
});

test('doctor says where another server answers 404 in place of the platform', async () => {
  const faultHook: FaultHook = ({ path }) =>
    path.startsWith('/api/') ? { status: 404, body: '404 page not found' } : undefined;
  const place = await testProject({ workspaces: 2, flavor: 'hashicorp', faultHook });
  await place.configure((config) => {
    config.targets = [findTarget(config, 'acme')];
  });
  const { stdout } = await place.tidemark(['doctor']);
  expect(stdout).toMatch(/^FAIL +acme +answers .*404 not-found: 404 page not found: check `url`/mu);
});
