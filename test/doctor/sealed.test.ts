import { expect, test } from 'vitest';
import type { FaultHook } from '../../sandbox/router.ts';
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
  ['in maintenance', [503, 'maintenance'], undefined, /503 sealed: maintenance/u],
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

test.each([
  ['a cluster without a leader', { status: 500, body: 'No cluster leader' }, /500 server: No cluster leader/u],
  ['a login page', { status: 200, body: '<html><title>Sign in</title></html>' }, /an HTML page titled "Sign in"/u],
  ['a page that refuses', { status: 403, body: '<html><title>No entry</title></html>' }, /titled "No entry"/u],
])('doctor says of %s what it is, and nothing of the token', async (_, answer, words) => {
  const faultHook: FaultHook = ({ path }) => (path.startsWith('/v1/') ? answer : undefined);
  const place = await testProject({ workspaces: 2, flavor: 'hashicorp', faultHook });
  await place.configure((config) => {
    config.targets = [findTarget(config, 'nomad')];
  });
  const { exit, stdout } = await place.tidemark(['doctor']);
  expect(exit).toBe(1);
  expect(stdout).toMatch(/^FAIL +nomad +answers /mu);
  expect(stdout).toMatch(words);
  expect(stdout).not.toMatch(/valid token|FAIL +nomad +token/u);
});

test('doctor says where another server answers 404 in place of the platform', async () => {
  const faultHook: FaultHook = ({ path }) =>
    path.startsWith('/api/') ? { status: 404, body: '404 page not found' } : undefined;
  const place = await testProject({ workspaces: 2, flavor: 'hashicorp', faultHook });
  await place.configure((config) => {
    config.targets = [findTarget(config, 'acme')];
  });
  const { stdout } = await place.tidemark(['doctor']);
  expect(stdout).toMatch(/every source answers 404: check `url`/u);
});
