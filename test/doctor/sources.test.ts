import { describe, expect, test } from 'vitest';
import type { FaultHook } from '../../sandbox/router.ts';
import type { Check } from '../../src/run/doctor/checks.ts';
import { type ConfigDocument, findTarget, testProject } from '../helpers/test-project.ts';

async function askDoctor(
  name: string,
  faultHook: FaultHook,
  edit: (target: Record<string, unknown>) => void = () => {},
) {
  const place = await testProject({ workspaces: 5, flavor: 'hashicorp', start: new Date(), faultHook });
  const configure = (change: (target: Record<string, unknown>) => void) =>
    place.configure((config: ConfigDocument) => {
      config.targets = [findTarget(config, name)];
      change(findTarget(config, name));
    });
  await configure(edit);
  const run = async () => {
    const { exit, stdout } = await place.tidemark(['doctor', '--json']);
    const checks = JSON.parse(stdout) as Check[];
    return { exit, checks, find: (check: string) => checks.find((one) => one.about === name && one.check === check) };
  };
  return { ...(await run()), again: run, configure, place };
}

const noKeyManagement: FaultHook = ({ path }, service) =>
  path.startsWith('/v1/keymgmt/') ? service.error(404, `no handler for route '${path.slice(4)}/'`) : undefined;

describe('a source that the service does not have', () => {
  test('is absent without key management; the printed line makes doctor and pull succeed', async () => {
    const { exit, checks, find, again, configure, place } = await askDoctor('vault', noKeyManagement);
    expect(exit).toBe(1);
    expect(find('keys')).toMatchObject({
      ok: false,
      detail:
        'absent: this service has no key management engine at `keymgmt`, nor anywhere else that the token can see',
    });
    const line = /^add to this target: without: \[(.+)\]$/u.exec(find('sources')?.detail ?? '')?.[1];
    expect(line).toBe('keys, kms_providers, key_distributions');
    expect(checks.flatMap(({ repair }) => (repair?.startsWith('vault') ? [repair] : []))).toEqual(
      Array(4).fill(`vault: add to this target: without: [${line}]`),
    );
    await configure((target) => {
      target.without = line?.split(', ');
    });
    const repaired = await again();
    expect(repaired.exit).toBe(0);
    expect(repaired.find('without')?.detail).toBe(line);
    await place.pull([], 0);
  });

  test('is not absent where the server does not have the namespace, which one check says', async () => {
    const { checks, find } = await askDoctor(
      'vault',
      ({ path }, service) => (path === '/v1/sys/health' ? undefined : service.error(404, 'namespace not found')),
      (target) => {
        target.namespace = 'taem';
      },
    );
    expect(find('namespace')).toMatchObject({
      ok: false,
      detail: 'the server does not have `taem`',
      repair: 'vault: check `namespace` in tidemark.yaml',
    });
    const failed = checks.filter(({ ok }) => !ok);
    expect(failed.map(({ check }) => check)).toEqual(['namespace', 'write token']);
    expect(new Set(failed.map(({ repair }) => repair)).size).toBe(1);
  });

  test('is absent where ACLs are disabled', async () => {
    const { find } = await askDoctor('nomad', ({ path }, service) =>
      path.startsWith('/v1/acl/') ? service.error(400, 'ACL support disabled') : undefined,
    );
    expect(find('token')).toMatchObject({ ok: true, detail: 'not checked: ACLs are disabled at this service' });
    expect(find('acl_policies')?.detail).toBe('absent: ACLs are disabled at this service');
    expect(find('sources')?.detail).toBe('add to this target: without: [acl_policies]');
  });

  test('is absent where the platform has no such path', async () => {
    const { find } = await askDoctor('acme', ({ path }) =>
      path.includes('/explorer') ? { status: 404, body: '404 page not found' } : undefined,
    );
    expect(find('workspaces')?.detail).toBe('absent: this service does not have the endpoint');
    expect(find('sources'), 'the list of workspaces answers').toBeUndefined();
    expect(find('agent_pools')).toMatchObject({ ok: true });
  });

  test('without the explorer, the list of workspaces is proposed, and then said to be used', async () => {
    const { exit, find, again, configure, place } = await askDoctor('acme', ({ path }, service) =>
      path.includes('/explorer') ? service.error(404, '') : undefined,
    );
    expect([exit, find('explorer')?.detail]).toEqual([
      1,
      'it answers 404, and the list of workspaces answers: add `explorer: workspaces` to this target, or give the token the right to read the explorer',
    ]);
    await configure((target) => {
      target.explorer = 'workspaces';
    });
    const repaired = await again();
    expect([repaired.exit, repaired.find('explorer')?.detail]).toEqual([
      0,
      'not used: the list of workspaces is read, which does not tell drift, checks, resources, providers, modules, saved_views, saved_view_rows',
    ]);
    expect(repaired.find('without')).toBeUndefined();
    await place.pull([], 0);
  });

  for (const info of ['a user', 'nobody']) {
    test(`a wrong organization is one line, also where the service says that the token is of ${info}`, async () => {
      const { exit, checks, find } = await askDoctor('acme', ({ path }, service) =>
        path.includes('/organizations/') || (info === 'nobody' && path.includes('/account/'))
          ? service.error(404, 'not found')
          : undefined,
      );
      const failed = checks.filter(({ ok, about, check }) => !ok && about === 'acme' && check !== 'write token');
      expect([exit, failed.map(({ check }) => check)]).toEqual([1, ['organization']]);
      expect(find('organization')?.detail).toContain('check `organization` (');
      expect(find('workspaces')).toBeUndefined();
    });
  }

  test('the explorer is said to be used where it answers', async () => {
    const { find } = await askDoctor('acme', () => undefined);
    expect(find('explorer')).toMatchObject({ ok: true, detail: 'used, as CSV exports' });
  });

  test('is absent where the plan has no agents', async () => {
    const { find } = await askDoctor('acme', ({ path }, service) => {
      if (path.includes('agent-pools')) return service.error(404, '');
      if (!path.endsWith('/entitlement-set')) return undefined;
      return { status: 200, body: '{"data":{"id":"org-1","type":"entitlement-sets","attributes":{"agents":false}}}' };
    });
    expect(find('agents')?.detail).toBe('absent: the plan of the organization acme includes no agents');
  });

  test('is left out of an explicit list of sources', async () => {
    const { find } = await askDoctor('vault', noKeyManagement, (target) => {
      target.sources = ['keys', 'mesh_roles'];
    });
    expect(find('sources')?.detail).toBe('add to this target: sources: [mesh_roles]');
  });
});

test('a wrong mount is not absence: the right one is named', async () => {
  const { find } = await askDoctor(
    'vault',
    () => undefined,
    (target) => {
      target.mounts = { mesh: 'mesh-eu' };
    },
  );
  expect(find('mesh_roles')?.detail).toBe(
    'wrong mount: the mesh credentials engine is at `consul`; add `mounts: { mesh: consul }` to the target',
  );
  expect(find('sources')).toBeUndefined();
});

test('an engine whose path would be a secret or another path is reported and not named, beside one that is named', async () => {
  const paths = ['consul', 'null', '$' + '{TFE_TOKEN}', '../sys'];
  const secret = Object.fromEntries(paths.map((path) => [`${path}/`, { type: 'consul' }]));
  const { find } = await askDoctor('vault', ({ path }) =>
    path === '/v1/sys/internal/ui/mounts' ? { status: 200, body: JSON.stringify({ data: { secret } }) } : undefined,
  );
  const detail = find('mesh_roles')?.detail ?? '';
  expect(detail).toContain(
    'other mesh credentials engines are not read: `mounts: { mesh: [consul, "null"] }` adds them',
  );
  expect(detail).toContain('another mesh credentials engine is not read: it is at a path with one of');
  expect(detail).not.toMatch(/TFE_TOKEN|sys/u);
});

test('a denial is not absence', async () => {
  const { find } = await askDoctor('vault', ({ path }, service) =>
    path.startsWith('/v1/keymgmt/') ? service.error(403, 'permission denied') : undefined,
  );
  expect(find('keys')).toMatchObject({ ok: false });
  expect(find('keys')?.detail).not.toContain('absent');
  expect(find('keys')?.detail).toContain('list on keymgmt/key');
  expect(find('sources')).toBeUndefined();
});

test('an item without an ID is a failure of its sources, and hides no other check', async () => {
  const { exit, checks, find } = await askDoctor('nomad', ({ path }) =>
    path.startsWith('/v1/volumes') ? { status: 200, body: '[null]' } : undefined,
  );
  expect(exit).toBe(1);
  for (const source of ['volumes', 'external_volumes', 'volume_snapshots'])
    expect(find(source)).toMatchObject({ ok: false, detail: 'volumes: row 1 has no ID' });
  expect(find('acl_policies')).toMatchObject({ ok: true });
  expect(find('token')).toMatchObject({ ok: true });
  expect(checks.some(({ about }) => about === 'warehouse')).toBe(true);
});

test('unknown sources of a target are errors that name the nearest one', async () => {
  const place = await testProject({ workspaces: 5 });
  await place.configure((config) => {
    findTarget(config, 'vault').without = ['key'];
    findTarget(config, 'nomad').sources = ['volume', 'keys'];
    findTarget(config, 'acme').sees = { workspace: 'partial' };
  });
  const { exit, stderr } = await place.tidemark(['pull']);
  expect(exit).toBe(2);
  expect(stderr).toContain(
    'targets[0].sees: a target of kind platform has no source workspace; did you mean workspaces?',
  );
  expect(stderr).toContain('targets[1].without: a target of kind secrets has no source key; did you mean keys?');
  expect(stderr).toContain(
    'targets[2].sources: a target of kind scheduler has no source volume; did you mean volumes?',
  );
  expect(stderr).toContain('targets[2].sources: a target of kind scheduler has no source keys;');
});

test('a source that the service throttles, or fails to answer, is not for want of rights', async () => {
  for (const status of [429, 500]) {
    const { find } = await askDoctor('acme', ({ path }, service) =>
      path.endsWith('/agents') ? service.error(status, 'not now') : undefined,
    );
    const repair = 'acme: see why a source cannot be checked, or try again later';
    expect(find('agents')).toMatchObject({ ok: false, detail: expect.stringContaining(`${status}`), repair });
  }
});
