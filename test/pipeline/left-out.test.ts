import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { FaultHook } from '../../sandbox/router.ts';
import { HOUR_MS } from '../../src/core/clock.ts';
import { type ConfigDocument, findTarget, type TestProject, testProject } from '../helpers/test-project.ts';

const noKeyManagement: FaultHook = ({ path }, service) =>
  path.startsWith('/v1/keymgmt/') ? service.error(404, `no handler for route '${path.slice(4)}/'`) : undefined;

test('findings of stale sources end, and nothing waits for them, once the target does not have the sources', async () => {
  const place = await testProject({ workspaces: 5, faultHook: noKeyManagement });
  await mkdir(join(place.folder, 'jobs'));
  await writeFile(join(place.folder, 'jobs', 'pull.yaml'), 'pull: all\nreports: []\n');
  await place.configure((config) => {
    config.targets = [findTarget(config, 'vault')];
  });
  const at = (hours: number) => new Date(place.sandbox.now.getTime() + hours * HOUR_MS).toISOString();
  const stale = () =>
    place.rows("select subject_id from findings where rule = 'stale-source' and state <> 'resolved' order by 1");

  expect((await place.tidemark(['run', 'pull', '--now', at(0)])).exit).toBe(1);
  expect((await stale()).map(({ subject_id }) => subject_id)).toEqual(['key_distributions', 'keys', 'kms_providers']);

  await place.configure((config) => {
    findTarget(config, 'vault').without = ['keys', 'kms_providers', 'key_distributions'];
  });
  const { exit, stderr } = await place.tidemark(['run', 'pull', '--now', at(24)]);
  expect(exit, stderr).toBe(0);
  expect(await stale()).toEqual([]);
  const { stdout } = await place.tidemark(['status', '--json', '--now', at(25)]);
  expect(stdout).not.toContain('kms_providers');
  expect(await place.rows("select count(*)::int as n from pulls where status = 'left-out'")).toEqual([{ n: 3 }]);

  await place.pull(['--now', at(48)]);
  expect(await place.rows("select count(*)::int as n from pulls where status = 'left-out'")).toEqual([{ n: 3 }]);
});

const withoutPlugin = (config: ConfigDocument) => {
  config.plugins = [];
  delete findTarget(config, 'vault').sources;
  findTarget(config, 'vault').without = ['keys', 'kms_providers', 'key_distributions'];
};

const OWN_TABLE = `-- grain: one row per thing
-- key: name
-- source: own
create table if not exists own_history (
  target varchar not null, -- target
  name varchar, -- name
  extra json, -- others
  valid_from timestamptz not null, -- from
  valid_to timestamptz -- to
);
`;

type Left = readonly { readonly status: string }[];

test.each<[what: string, leaveOut: (config: ConfigDocument) => void, table: string | undefined, left: Left]>([
  [
    'that the target does not have any more, has no state',
    (config) => {
      findTarget(config, 'vault').sources = ['mesh_roles'];
    },
    undefined,
    [],
  ],
  ['that is not under `plugins:` any more, has no state', withoutPlugin, undefined, []],
  [
    'whose table stays has its state: a program may pull it with the library',
    withoutPlugin,
    OWN_TABLE,
    [{ status: 'failed' }],
  ],
])('a source of a plugin %s', async (_, leaveOut, table, left) => {
  const place = await testProject({ workspaces: 5 });
  if (table !== undefined) {
    await mkdir(join(place.folder, 'queries', 'tables'), { recursive: true });
    await mkdir(join(place.folder, 'queries', 'load'), { recursive: true });
    await writeFile(join(place.folder, 'queries', 'tables', 'own.sql'), table);
    await writeFile(join(place.folder, 'queries', 'load', 'own.sql'), "select 'a' as name, null as extra\n");
  }
  const source = "{ name: 'own', kind: 'secrets', extract: async () => { throw new Error('no') }, checkAccess() {} }";
  await writeFile(join(place.folder, 'plugin.mjs'), `export default { sources: [${source}] };\n`);
  const at = (hours: number) => new Date(place.sandbox.now.getTime() + hours * HOUR_MS).toISOString();
  const own = () => place.rows("select status from source_state where source = 'own'");
  await place.configure((config) => {
    config.plugins = ['plugin.mjs'];
    config.targets = [findTarget(config, 'vault')];
    findTarget(config, 'vault').sources = ['mesh_roles', 'own'];
  });
  const { exit, stderr } = await place.tidemark(['pull', '--now', at(0)]);
  expect(exit, stderr).toBe(1);
  expect(await own()).toEqual([{ status: 'failed' }]);
  await place.configure(leaveOut);
  await place.pull(['--now', at(1)]);
  expect(await own()).toEqual(left);
});

test('a source of the kind that a target had by mistake has no state once the kind is right', async () => {
  const place = await testProject({ workspaces: 5 });
  const at = (hours: number) => new Date(place.sandbox.now.getTime() + hours * HOUR_MS).toISOString();
  const configure = (more: Readonly<Record<string, unknown>>) =>
    place.configure((config) => {
      const { services: _, ...vault } = findTarget(config, 'vault');
      config.targets = [{ ...vault, ...more }];
    });
  await configure({ kind: 'mesh', services: ['web'] });
  expect((await place.tidemark(['pull', '--now', at(0)])).exit).not.toBe(0);
  await configure({ kind: 'secrets' });
  await place.pull(['--now', at(1)]);
  expect(await place.rows("select source from source_state where status <> 'complete'")).toEqual([]);
});

test('a source that comes back has its state and its rows again, without a new version', async () => {
  const place = await testProject({ workspaces: 5 });
  const at = (hours: number) => new Date(place.sandbox.now.getTime() + hours * HOUR_MS).toISOString();
  const keys = async () => [
    ...(await place.rows("select status from source_state where source = 'keys'")),
    ...(await place.rows(
      'select count(*) > 0 as has_rows, has_rows and count(distinct valid_from) = 1 as once from keys left join keys_history using (target, name)',
    )),
  ];
  await place.configure((config) => {
    config.targets = [findTarget(config, 'vault')];
    findTarget(config, 'vault').sources = ['keys', 'mesh_roles'];
  });
  await place.pull(['--now', at(0)]);
  expect(await keys()).toEqual([{ status: 'complete' }, { has_rows: true, once: true }]);
  await place.configure((config) => {
    findTarget(config, 'vault').sources = ['mesh_roles'];
  });
  await place.pull(['--now', at(1)]);
  expect(await keys()).toEqual([{ has_rows: false, once: false }]);
  await place.configure((config) => {
    findTarget(config, 'vault').sources = ['keys', 'mesh_roles'];
  });
  await place.pull(['--now', at(2)]);
  expect(await keys()).toEqual([{ status: 'complete' }, { has_rows: true, once: true }]);
});

test('a shard leaves out what the configuration has no more, and not what another shard has', async () => {
  const place = await testProject({ workspaces: 5 });
  const at = (hours: number) => new Date(place.sandbox.now.getTime() + hours * HOUR_MS).toISOString();
  const pull = async (targets: Record<string, string>, shard: string, hours: number) => {
    await place.configure((config) => {
      config.targets = Object.entries(targets).map(([name, credential]) => ({
        ...documents.get(name),
        credential,
        sources: [name === 'vault' ? 'mesh_roles' : 'volumes'],
      }));
    });
    await place.pull(['--shard', shard, '--now', at(hours)]);
    const { stdout } = await place.tidemark(['status', '--json', '--exit-code', '--shard', shard, '--now', at(hours)]);
    shown.push([...new Set(JSON.parse(stdout).sources.map(({ target }: { target: string }) => target))].join());
    const sql = 'select distinct target from source_state order by 1';
    return JSON.parse((await place.tidemark(['sql', sql, '--json', '--shard', shard])).stdout).map(
      ({ target }: { target: string }) => target,
    );
  };
  const documents = new Map<string, Record<string, unknown>>();
  const shown: string[] = [];
  await place.configure((config) => {
    for (const name of ['nomad', 'vault']) documents.set(name, findTarget(config, name));
  });
  expect(await pull({ nomad: 'c', vault: 'a' }, '1/1', 0)).toEqual(['nomad', 'vault']);
  expect(await pull({ nomad: 'c', vault: 'a' }, '1/2', 1)).toEqual(['nomad', 'vault']);
  expect(await pull({ nomad: 'c' }, '1/2', 2)).toEqual(['nomad']);
  expect(shown, 'the status has what the shard has').toEqual(['nomad,vault', 'nomad', 'nomad']);
});

test('reports, the overview and the index show only areas that some target has', async () => {
  const place = await testProject({ workspaces: 5 });
  await place.configure((config) => {
    config.targets = ['nomad', 'vault'].map((name) => findTarget(config, name));
    findTarget(config, 'vault').sources = ['mesh_roles'];
    findTarget(config, 'nomad').sources = ['volumes'];
    config.subjectPages = 0;
  });
  const { exit, stdout, stderr } = await place.tidemark(['run', 'nightly', '--json']);
  expect(exit, stderr).toBe(0);
  expect(JSON.parse(stdout).reports).toEqual(['overview', 'keys', 'storage']);
  const read = (name: string) => readFile(join(place.folder, 'out', name), 'utf8');
  const overview = await read('overview.txt');
  expect(overview).toContain('Storage');
  expect(overview).not.toMatch(/drifting|failing checks|Certificates|Versions|overdue/u);
  const keys = await read('keys.txt');
  expect(keys).toContain('roles for management tokens');
  expect(keys).not.toMatch(/NEVER PULLED|KMS providers|overdue/u);
  expect(await read('index.html')).not.toMatch(/drift\.html|certificates\.html/u);
});

test('the mail shows no number of sources that no target has any more', async () => {
  const place = await testProject({ workspaces: 5 });
  const at = (hours: number) => new Date(place.sandbox.now.getTime() + hours * HOUR_MS).toISOString();
  const mail = async (hours: number) => {
    const words = ['mail', 'nightly', '--to', 'a@acme.example', '--dry-run', '--json', '--now', at(hours)];
    const { stdout } = await place.tidemark(words);
    const [file = ''] = (JSON.parse(stdout) as { files: string[] }).files;
    return (await readFile(file, 'utf8')).replaceAll(/=\r?\n/gu, '');
  };
  await place.configure((config) => {
    config.mail = { smtp: 'smtp://127.0.0.1:9', from: 'a@acme.example' };
    config.subjectPages = 0;
    config.targets = [findTarget(config, 'vault')];
    findTarget(config, 'vault').sources = ['keys', 'kms_providers', 'mesh_roles'];
  });
  await mkdir(join(place.folder, 'jobs'));
  await writeFile(join(place.folder, 'jobs', 'nightly.yaml'), 'pull: all\nreports: [keys]\n');
  await place.tidemark(['run', 'nightly', '--now', at(0)]);
  expect(await mail(0)).toMatch(/keys overdue for rotation/u);
  await place.configure((config) => {
    findTarget(config, 'vault').sources = ['mesh_roles'];
  });
  await place.tidemark(['run', 'nightly', '--now', at(24)]);
  const second = await mail(24);
  expect(second).not.toMatch(/keys overdue for rotation|NOT PULLED|kms_providers/u);
});

const LEAVE_OUT: Readonly<Record<string, (config: ConfigDocument) => void>> = {
  'a source is switched off': (config) => {
    findTarget(config, 'vault').sources = ['keys'];
  },
  'a target is removed': (config) => {
    config.targets = [findTarget(config, 'consul')];
  },
};

describe.each(Object.entries(LEAVE_OUT))('%s after a night that could not read it', (_, leaveOut) => {
  /** A night with findings, one that fails, and one after the change of the configuration. */
  async function runNights(place: TestProject, fail: (isDown: boolean) => void) {
    const at = (hours: number) => new Date(place.sandbox.now.getTime() + hours * HOUR_MS).toISOString();
    await mkdir(join(place.folder, 'jobs'));
    await writeFile(join(place.folder, 'jobs', 'nightly.yaml'), 'pull: all\nreports: [overview]\n');
    await place.configure((config) => {
      config.mail = { smtp: 'smtp://127.0.0.1:9', from: 'a@acme.example' };
      config.subjectPages = 0;
      config.targets = ['vault', 'consul'].map((name) => findTarget(config, name));
      findTarget(config, 'vault').sources = ['keys', 'mesh_roles'];
    });
    await place.tidemark(['run', 'nightly', '--now', at(0)]);
    fail(true);
    await place.tidemark(['run', 'nightly', '--now', at(24)]);
    const before = await showAll(place, at(25));
    await place.configure(leaveOut);
    const last = await place.tidemark(['run', 'nightly', '--now', at(48)]);
    expect(last.exit, last.stderr).toBe(0);
    return { before, after: await showAll(place, at(49)) };
  }

  async function showAll(place: TestProject, now: string) {
    const findings = await place.tidemark(['findings', '--now', now]);
    const status = await place.tidemark(['status', '--now', now]);
    const words = ['mail', 'nightly', '--to', 'a@acme.example', '--dry-run', '--now', now];
    const mail = await place.tidemark(words);
    return {
      findings: `${findings.stdout}${findings.stderr}`,
      overview: await readFile(join(place.folder, 'out', 'overview.txt'), 'utf8'),
      mail: mail.stdout,
      status: status.stdout,
    };
  }

  test('ends what it left unassessed, without calling it resolved', async () => {
    let isDown = false;
    const place = await testProject({
      workspaces: 2,
      faultHook: ({ path }, service) =>
        isDown && path.includes('/mesh/roles') ? service.error(403, 'not today') : undefined,
    });
    const { before, after } = await runNights(place, (down) => {
      isDown = down;
    });
    expect(before.findings).toMatch(/not assessed since .*management-role/u);
    expect(before.overview).toMatch(/not assessed/iu);
    expect(before.mail).toMatch(/^Subject: .*stale source/mu);
    for (const text of Object.values(after))
      expect(text).not.toMatch(/not assessed(?! now)|stale source|management-role|mesh_roles/iu);
    const ended = "select distinct state, unassessed_since from findings where rule = 'management-role'";
    expect(await place.rows(ended)).toEqual([{ state: 'resolved', unassessed_since: null }]);
    expect(await place.rows('select * from unassessed_rules where ended_at is null')).toEqual([]);
    const reasons = await place.rows("select distinct reason from finding_events where state = 'resolved' order by 1");
    expect(reasons).toContainEqual({ reason: 'left out' });
    expect(after.mail).not.toMatch(/issues management tokens/u);
  });
});
