import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findTarget, testProject } from '../helpers/test-project.ts';

describe('doctor', () => {
  test('reports every check of a healthy project', async () => {
    const place = await testProject({ workspaces: 5 });
    const { exit, stdout } = await place.tidemark(['doctor', '--now', new Date().toISOString()]);
    expect(exit).toBe(0);
    expect(stdout).not.toContain('FAIL');
    for (const about of ['acme', 'vault', 'nomad', 'scaler', 'consul', 'registry', 'warehouse']) {
      expect(stdout).toMatch(new RegExp(`^ok +${about} `, 'mu'));
    }
    expect(stdout).toMatch(/acme +rate limit +1000 requests per second/u);
    expect(stdout).toMatch(/vault +mesh_roles +permitted/u);
  });

  test('a token that may list but not read is not permitted', async () => {
    const reads = [
      /^.v1.keymgmt.key.[^/]+$/u,
      /^.v1.mesh.roles.[^/]+$/u,
      /^.v1.volume.csi./u,
      /connect.authorize$/u,
      /volumes.external$/u,
    ];
    const place = await testProject({
      workspaces: 5,
      faultHook: ({ path, method }, service) =>
        method !== 'LIST' && reads.some((read) => read.test(path))
          ? service.error(403, 'permission denied')
          : undefined,
    });
    const { exit, stdout } = await place.tidemark(['doctor', '--json', '--now', new Date().toISOString()]);
    expect(exit).toBe(1);
    const checks = JSON.parse(stdout) as { ok: boolean; about: string; check: string }[];
    expect(checks.filter(({ ok }) => !ok).map(({ about, check }) => `${about} ${check}`)).toEqual([
      'vault keys',
      'vault mesh_roles',
      'nomad volumes',
      'nomad external_volumes',
      'consul leaf_certificates',
    ]);
  });

  test('names the problems of each target: token, host, permission, clock, mail', async () => {
    const place = await testProject({
      workspaces: 5,
      faultHook: ({ path }, service) =>
        path === '/v1/acl/policies' ? service.error(403, 'Permission denied') : undefined,
    });
    await place.configure((config) => {
      findTarget(config, 'acme').token = 'wrong-token';
      findTarget(config, 'consul').url = 'http://127.0.0.1:65000';
      config.mail = { smtp: 'smtp://127.0.0.1:9', from: 'a@acme.example' };
    });
    const { exit, stdout } = await place.tidemark(['doctor', '--json', '--now', '2020-01-01T00:00:00Z']);
    expect(exit).toBe(1);
    const checks = JSON.parse(stdout) as (Record<'about' | 'check' | 'detail', string> & {
      ok: boolean;
      repair?: string;
    })[];
    const failed = checks.filter(({ ok }) => !ok).map(({ about, check }) => `${about} ${check}`);
    expect(failed).toEqual(
      expect.arrayContaining(['acme token', 'consul reachable', 'nomad acl_policies', 'vault clock', 'mail reachable']),
    );
    expect(failed).not.toContain('nomad volumes');
    expect(checks.every(({ ok, repair }) => ok === (repair === undefined))).toBe(true);
    expect(stdout).not.toContain('wrong-token');
  });

  test('looks at the lake: not there yet, sound, damaged, in a bucket that nothing answers for', async () => {
    const place = await testProject({ workspaces: 5 });
    const useLake = (lake: string) => place.configure((config) => Object.assign(config, { lake }));
    const check = async (options = {}) => {
      const { stdout } = await place.tidemark(['doctor', '--json'], options);
      const checks = JSON.parse(stdout) as { ok: boolean; about: string; check: string; detail: string }[];
      const lines = checks.map(({ ok, about, check, detail }) => `${ok ? 'ok' : 'FAIL'} ${about} ${check}: ${detail}`);
      return lines.filter((line) => / lake /u.test(line));
    };
    const lake = join(place.folder, 'lake');
    await useLake(lake);
    expect(await check()).toEqual([`ok lake reachable: none yet at ${lake}: the next run creates it`]);
    await place.pull(['--target', 'consul']);
    expect(await check()).toEqual([
      expect.stringMatching(/^ok lake reachable: \d+ tables at /u),
      'ok lake writable: a second writer of one file is refused',
      expect.stringMatching(/^ok lake log: has the runs of this warehouse up to /u),
    ]);
    expect(await readdir(join(lake, '_staging'))).toEqual([]);
    place.sandbox.tick();
    await place.pull(['--target', 'consul']);
    const own = await testProject({ workspaces: 5 });
    await own.pull(['--target', 'consul']); // without a lake, and at the time of the first run of the other
    await own.configure((config) => Object.assign(config, { lake }));
    const { stdout } = await own.tidemark(['doctor']);
    expect(stdout, 'of another warehouse').toMatch(
      /FAIL +lake +log +.* has runs up to .*, and this warehouse does not/u,
    );
    await writeFile(join(lake, 'ca_roots_changes', '_delta_log', '00000000000000000000.json'), 'no commit');
    expect((await check()).at(-1)).toMatch(/^FAIL lake log: .*ca_roots_changes.*00000000000000000000\.json/u);
    await useLake('s3://estate/lake');
    const key = { AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE', AWS_SECRET_ACCESS_KEY: 'wJalrXUtnFEMI/K7MDENG' };
    const nowhere = {
      env: { ...key, AWS_ENDPOINT_URL: 'http://127.0.0.1:9' },
      timeouts: { backoffMs: 1, maxBackoffMs: 2 },
    };
    expect(await check(nowhere)).toEqual([expect.stringMatching(/^FAIL lake reachable: /u)]);
  });

  test('two services behind one balancer are told from the members of one cluster', async () => {
    let [asked, isBalanced] = [0, false];
    const other = {
      cluster_id: 'other',
      cluster_name: 'vault-cluster-2',
      initialized: true,
      sealed: false,
      version: '1.15.0',
    };
    const place = await testProject({
      workspaces: 5,
      flavor: 'hashicorp',
      faultHook: ({ path }) =>
        isBalanced && path === '/v1/sys/health' && asked++ % 2 === 0
          ? { status: 200, body: JSON.stringify(other) }
          : undefined,
    });
    const check = async () => {
      const { stdout } = await place.tidemark(['doctor', '--json']);
      const checks = JSON.parse(stdout) as { about: string; check: string; detail: string }[];
      return checks.filter(({ check }) => check === 'identity').map(({ about, detail }) => `${about}: ${detail}`);
    };
    expect(await check()).toEqual([]);
    isBalanced = true;
    expect(await check()).toEqual([
      expect.stringMatching(/^vault: two connections reached two services: .*cluster_id.* and .*cluster_id/u),
    ]);
  });

  test('a proxy that is down is what to repair, and not the service', async () => {
    const place = await testProject({ workspaces: 5 });
    const { exit, stdout } = await place.tidemark(['doctor'], {
      env: { HTTP_PROXY: 'http://tide:word-1234@127.0.0.1:9' },
    });
    expect(exit).toBe(1);
    expect(stdout.split('\nNext:\n')[1]).toMatch(/consul: check HTTPS_PROXY or HTTP_PROXY/u);
    expect(stdout).not.toContain('word-1234');
  });

  test('ends with what to do next: repairs in order, or how to go on', async () => {
    const place = await testProject({ workspaces: 5 });
    const now = new Date(place.sandbox.now).toISOString();
    const fresh = await place.tidemark(['doctor', '--now', new Date().toISOString()]);
    expect(fresh.stdout).toMatch(
      /\nNext:\n(?: {2}\d\. look at the warnings.*\n)? {2}\d\. run `tidemark run nightly`, the first pull with reports\n$/u,
    );
    await place.pull(['--target', 'scaler']);
    const pulled = await place.tidemark(['doctor', '--now', new Date().toISOString()]);
    expect(pulled.stdout).toMatch(/\nNext:\n(?:.*\n)* {2}\d\. look at `tidemark status`\n.*`tidemark schedule`.*\n$/u);
    await place.configure((config) => {
      findTarget(config, 'acme').token = 'wrong-token';
      findTarget(config, 'consul').url = 'http://127.0.0.1:65000';
    });
    const { stdout } = await place.tidemark(['doctor', '--now', now]);
    const [table = '', steps = ''] = stdout.split('\nNext:\n');
    // one bad token is one message
    expect(table.match(/^FAIL +acme .*/gmu)).toEqual([expect.stringMatching(/^FAIL +acme +token /u)]);
    expect(table).toMatch(/clock +\d+ days behind the service/u);
    expect(steps.split('\n')[0]).toBe(
      '  1. acme: set a valid token; `tidemark permissions --target acme` prints the rights that it needs',
    );
    expect(steps).toContain('consul: check `url` in tidemark.yaml');
    expect(steps).toMatch(/ {2}\d\. run `tidemark doctor` again\n$/u);
  });
});
