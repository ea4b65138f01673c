import { describe, expect, test } from 'vitest';
import type { FaultHook } from '../../sandbox/router.ts';
import { formatPermissions } from '../../src/run/permissions.ts';
import { createTarget } from '../helpers/http-service.ts';
import { findTarget, testProject } from '../helpers/test-project.ts';

const SOURCE = ['--source', 'leaf_certificates'];
const ROWS = 'select service, namespace from leaf_certificates order by all';
const WEB = { service: 'web', namespace: 'default' };
const TEAM_WEB = { service: 'web', namespace: 'team' };

/** A mesh whose target names a service in a namespace, and the same without one. */
async function meshProject(flavor: 'spec' | 'hashicorp', faultHook: FaultHook = () => undefined) {
  const project = await testProject({ workspaces: 2, flavor, faultHook });
  await project.configure((config) => {
    const mesh = findTarget(config, 'consul');
    mesh.services = ['web', 'team/web'];
    config.targets = [mesh];
  });
  return project;
}

const json = (body: object) => ({
  status: 200,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});

/** Consul Enterprise, as far as the namespace `team` is concerned. @param answered the namespace of its leaf */
const enterprise =
  (answered: string, services: readonly string[] = ['web']): FaultHook =>
  ({ path, query }) => {
    if (query.get('ns') !== 'team') return undefined;
    if (path === '/v1/catalog/services') return json(Object.fromEntries(services.map((name) => [name, []])));
    if (path.endsWith('/authorize')) return json({ Authorized: true, Reason: '' });
    return json({
      Service: 'web',
      ServiceURI: `spiffe://x/ns/${answered}/dc/dc1/svc/web`,
      ValidBefore: '2030-01-01T00:00:00Z',
    });
  };

const notes = 'select status, note from pulls';

test('one name in two namespaces is two services', async () => {
  const spec = await meshProject('spec');
  await spec.pull(SOURCE);
  expect(await spec.rows(ROWS)).toEqual([WEB, TEAM_WEB]);
  const consul = await meshProject('hashicorp', enterprise('team'));
  await consul.pull(SOURCE);
  expect(await consul.rows(ROWS)).toEqual([WEB, TEAM_WEB]);
});

describe('what a namespace does not show is an unknown part', () => {
  const UNKNOWN: readonly [why: string, hook: FaultHook | undefined, reason: string][] = [
    ['the community edition, which refuses namespaces', undefined, 'Namespaces are a Consul Enterprise feature'],
    ['a service that ignores the parameter', enterprise('default'), 'the answer is of namespace default'],
    ['a catalog without the service', enterprise('team', ['other']), 'it is not shown whether it exists'],
  ];
  test.each(UNKNOWN)('%s', async (_, hook, reason) => {
    const project = await meshProject('hashicorp', hook);
    await project.pull(SOURCE, 1);
    expect(await project.rows(ROWS)).toEqual([WEB]);
    const note = expect.stringMatching(`^service web is unknown: in namespace team: .*${reason}`);
    expect(await project.rows(notes)).toEqual([{ status: 'partial', note }]);
  });

  test('shows in doctor as partial', async () => {
    const project = await meshProject('hashicorp');
    const { stdout } = await project.tidemark(['doctor']);
    expect(stdout).toMatch(
      /consul +leaf_certificates +partial: service web is unknown: in namespace team: .*Enterprise feature/u,
    );
  });

  test('fails the pull where no leaf is left', async () => {
    const project = await meshProject('hashicorp');
    await project.configure((config) => {
      findTarget(config, 'consul').services = ['team/web'];
    });
    const { stderr } = await project.pull(SOURCE, 3);
    expect(stderr).toContain('Namespaces are a Consul Enterprise feature');
  });
});

test('a leaf of another namespace than that of the target fails the pull', async () => {
  const project = await meshProject('spec', ({ path }) =>
    path.endsWith('/leaf/web')
      ? json({ Service: 'web', Namespace: 'default', ValidBefore: '2030-01-01T00:00:00Z' })
      : undefined,
  );
  await project.configure((config) => {
    Object.assign(findTarget(config, 'consul'), { namespace: 'team', services: ['web'] });
  });
  const { stderr } = await project.pull(SOURCE, 3);
  expect(stderr).toContain('the answer is of namespace default');
  expect(await project.rows(ROWS)).toEqual([]);
});

test.each(['/web', 'team/', 'a/b/c'])('%s names no service', async (name) => {
  const project = await meshProject('spec');
  await project.configure((config) => {
    findTarget(config, 'consul').services = [name];
  });
  const { stderr } = await project.pull(SOURCE, 2);
  expect(stderr).toContain('must be `service` or `namespace/service`');
});

test('the rules of permissions are in the namespace of the service', () => {
  const target = { ...createTarget('mesh', 'http://127.0.0.1'), services: ['web', 'team/web'] };
  const right = { scope: 'service', policy: 'write' } as const;
  const { text } = formatPermissions({ target, token: 'token', rights: [{ right, neededBy: ['x'] }], unknown: [] });
  expect(text).toBe(
    '# x\nservice "web" {\n  policy = "write"\n}\nnamespace "team" {\n  service "web" {\n    policy = "write"\n  }\n}\n',
  );
});
