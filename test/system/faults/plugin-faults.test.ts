import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { runPlugin, type ThreadPlugin } from '../../../src/run/plugins/remote.ts';
import type { ServiceClient } from '../../../src/services/client.ts';
import { buildCommand, startCommand } from '../../helpers/built-command.ts';
import { tempFolder } from '../../helpers/temp.ts';
import { type TestProject, testProject } from '../../helpers/test-project.ts';

const LIBRARY = pathToFileURL(join(await buildCommand(), '..', '..', 'dist', 'index.js')).href;

const source = (name: string, extract: string) =>
  `{ name: '${name}', kind: 'scheduler', extract: async ({ client, landing }) => { ${extract} }, checkAccess: async () => undefined }`;
const GOOD = `const page = await client.call(scheduler.policies.list); landing.expectRows(page.json().length);
  for (const { Name } of page.json()) await landing.writeJson({ name: Name });`;

/** A project with a plugin: what stands before its export, and its sources. */
async function projectWith(
  sources: readonly string[],
  before = '',
  names: readonly string[] = [],
): Promise<TestProject> {
  const place = await testProject({ workspaces: 5 });
  await writeFile(
    join(place.folder, 'plugin.mjs'),
    `import { scheduler } from ${JSON.stringify(LIBRARY)};\n${before}\nexport default { sources: [${sources.join(', ')}] };\n`,
  );
  for (const name of names) await writeTable(place.folder, name);
  await place.configure((config) => Object.assign(config, { plugins: ['./plugin.mjs'] }));
  return place;
}

async function writeTable(folder: string, name: string): Promise<void> {
  for (const part of ['tables', 'load']) await mkdir(join(folder, 'queries', part), { recursive: true });
  const head = `-- grain: one row per policy\n-- key: name\n-- source: ${name}\n`;
  const columns = `target varchar not null, -- name of the target in tidemark.yaml
  name varchar, -- name
  valid_from timestamptz not null, -- time of the pull that first saw this version of the row
  valid_to timestamptz -- time of the pull that first saw another version, or none; null for the current version`;
  const table = `${head}create table if not exists ${name}_history (\n  ${columns}\n);\n`;
  await writeFile(join(folder, 'queries', 'tables', `${name}.sql`), table);
  const load = `-- grain: one row per policy\nselect name, from read_json($files, format = 'newline_delimited', columns = {name: 'VARCHAR'}, maximum_object_size = $longest_line)\n`;
  await writeFile(join(folder, 'queries', 'load', `${name}.sql`), load);
}

const FAULTS: Readonly<Record<string, readonly [extract: string, message: RegExp]>> = {
  'process.exit(0)': ['process.exit(0)', /the plugin ended its thread with code 0/u],
  'a timer that throws': [
    `setTimeout(() => { throw new Error('of a timer') }, 1); await new Promise(() => {})`,
    /the plugin failed outside of its calls: of a timer/u,
  ],
  'an unhandled rejection': [
    `Promise.reject(new Error('of nobody')); await new Promise(() => {})`,
    /the plugin failed outside of its calls: of nobody/u,
  ],
  'throw null': ['throw null', /the plugin failed: null/u],
  'an error whose message throws': [`throw { get name() { throw new Error('x') } }`, /an error that cannot be read/u],
  'a check of a request, which would not be asked': [
    'await client.call(scheduler.policies.list, {}, { beforeRequest() { throw new Error() } })',
    /a request of a plugin cannot have the function beforeRequest/u,
  ],
  'an operation with functions': [
    `await client.call({ ...scheduler.policies.list, name: 'own', hashicorp: (draft) => draft })`,
    /a request of a plugin cannot have the function hashicorp/u,
  ],
  'too much memory': [`const all = []; for (;;) all.push(new Array(1e6).fill({}))`, /memory limit/iu],
  'an error of its own': [`throw new TypeError('of the plugin')`, /the plugin failed: of the plugin/u],
};

test('a fault of a plugin fails its source, and nothing else', async () => {
  const faults = Object.entries(FAULTS).map(([name, [extract, message]], at) => ({
    name,
    extract,
    message,
    source: `bad_${at}`,
  }));
  const sources = [...faults.map((fault) => source(fault.source, fault.extract)), source('good', GOOD)];
  const names = [...faults.map((fault) => fault.source), 'good'];
  const place = await projectWith(sources, '', names);
  const asked = [...names, 'acl_policies'].flatMap((name) => ['--source', name]);
  const { exit, stdout, stderr } = await place.tidemark(['pull', '--json', '--target', 'nomad', ...asked]);
  expect(exit, stderr).toBe(1);
  const { pulls } = JSON.parse(stdout) as {
    pulls: { source: string; status: string; rows: number; error: string | null }[];
  };
  const find = (name: string) => pulls.find((pull) => pull.source === name);
  for (const { name, message, source: bad } of faults) {
    expect([name, find(bad)?.status], find(bad)?.error ?? '').toEqual([name, 'failed']);
    expect(find(bad)?.error, name).toMatch(message);
  }
  expect([find('good')?.status, find('acl_policies')?.status]).toEqual(['complete', 'complete']);
  expect(find('good')?.rows).toBeGreaterThan(0);
});

test('a check that throws is the result of its source, and hides no other', async () => {
  const broken = `{ name: 'bad', kind: 'scheduler', extract: async () => {}, checkAccess: async () => { throw new Error('of the check') } }`;
  const place = await projectWith([broken], '', ['bad']);
  const { exit, stdout } = await place.tidemark(['doctor', '--json']);
  const checks = JSON.parse(stdout) as { about: string; check: string; ok: boolean; detail: string }[];
  expect(exit).toBe(1);
  expect(checks.find(({ check }) => check === 'bad')).toMatchObject({
    ok: false,
    detail: 'the plugin failed: of the check',
  });
  const failed = checks.filter(({ ok, check }) => !ok && check !== 'clock'); // the sandbox has a time of its own
  expect(failed.map(({ check }) => check)).toEqual(['bad']);
});

test('what a plugin prints is not in the result of the command', async () => {
  const place = await projectWith([source('bad', `console.log('of the extraction');`)], `console.log('of the file');`, [
    'bad',
  ]);
  const words = ['pull', '--json', '--source', 'bad'];
  const { stdout, stderr } = await startCommand(await buildCommand(), words, place.folder).ended;
  expect(JSON.parse(stdout)).toMatchObject({ pulls: [{ source: 'bad', status: 'complete' }] });
  expect(stderr).toContain('of the file');
  expect(stderr).toContain('of the extraction');
});

test('what a playbook of a plugin prints is not in the result either', async () => {
  const place = await projectWith([], `console.log('of the file');`);
  const { stdout, stderr } = await startCommand(await buildCommand(), ['playbook', 'list', '--json'], place.folder)
    .ended;
  expect(JSON.parse(stdout)).toBeInstanceOf(Array);
  expect(stderr).toContain('of the file');
});

test('a plugin that ends the process does not end a command as done', async () => {
  const place = await projectWith([]);
  await writeFile(
    join(place.folder, 'plugin.mjs'),
    `import { isMainThread } from 'node:worker_threads';
    if (isMainThread) process.exit(0);
    export default { playbooks: [{ name: 'own', actions: [], plan() {} }] };`,
  );
  const { exit, stderr } = await startCommand(await buildCommand(), ['playbook', 'list'], place.folder).ended;
  expect([exit, stderr]).toEqual([1, expect.stringContaining('was ended before the command was done')]);
});

describe('a plugin that cannot be loaded is refused by field and file', () => {
  test.each([
    [
      'process.exit(0)',
      ['process.exit(0);'],
      [],
      /plugins\[0\]: .*plugin\.mjs cannot be loaded: the plugin ended its thread with code 0/u,
    ],
    ['throw null', ['throw null;'], [], /plugins\[0\]: .*plugin\.mjs cannot be loaded: null/u],
    [
      'a rejection that nobody handles',
      [`Promise.reject(new Error('early')); await new Promise(() => {});`],
      [],
      /cannot be loaded: the plugin failed outside of its calls: early/u,
    ],
    ['null for a source', [''], ['null'], /plugins\[0\]: .*plugin\.mjs sources\[0\] is not a source/u],
    [
      'a kind that no target has',
      [''],
      [`{ name: 'own', kind: 'nomad', extract() {}, checkAccess() {} }`],
      /is not a source: it needs name, kind \(platform, /u,
    ],
    [
      'no kind',
      [''],
      [`{ name: 'own', kind: [], extract() {}, checkAccess() {} }`],
      /is not a source: it needs name, kind/u,
    ],
    ['a getter that throws', [''], [`{ get name() { throw new Error('no name') } }`], /cannot be loaded: .*no name/u],
  ] as const)('%s', async (_, [before], sources, message) => {
    const place = await projectWith(sources, before);
    for (const command of before.startsWith('process') ? [['pull'], ['run', 'nightly'], ['doctor']] : [['pull']]) {
      const { exit, stderr } = await place.tidemark(command);
      expect([exit, stderr]).toEqual([2, expect.stringMatching(message)]);
    }
  });
});

test('a source that computes without an end is stopped at its bound of time', async () => {
  const place = await projectWith([source('bad', 'for (;;);')], '', ['bad']);
  await place.configure((config) => {
    for (const target of config.targets) Object.assign(target, { limits: { maxSeconds: 2 } });
  });
  const { exit, stdout } = await place.tidemark(['pull', '--json', '--source', 'bad']);
  expect(exit).toBe(3); // no source is complete
  expect(stdout).toContain('bad takes longer than 2.0 s');
});

test('a thread that computes without a pause is stopped, also without a bound', async () => {
  const file = join(await tempFolder(), 'plugin.mjs');
  await writeFile(
    file,
    `export default { sources: [{ name: 'bad', kind: 'mesh', extract() {}, checkAccess() { for (;;); } }] };`,
  );
  const client = { target: {} } as ServiceClient;
  const compute = async (plugin: ThreadPlugin) => plugin.sources?.[0]?.checkAccess(client, () => {});
  const limitMs = 5_000; // of which a busy machine takes a part to load the file
  await expect(runPlugin(file, compute, undefined, limitMs)).rejects.toThrow('computes for 5.0 s without a pause');
});

test.each(['for (;;);', 'await new Promise(() => {});'])(
  'a file that does not end to load is refused: %s',
  async (text) => {
    const file = join(await tempFolder(), 'plugin.mjs');
    await writeFile(file, text);
    await expect(runPlugin(file, async (plugin) => plugin, undefined, 1_500)).rejects.toThrow(
      'is not loaded after 1.5 s',
    );
  },
);

test('a signal stops a source that computes without an end', async () => {
  const place = await projectWith([source('bad', 'landing.log; for (;;);')], '', ['bad']);
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(new Error('stopped by SIGTERM')), 3_000);
  onTestFinished(() => clearTimeout(timer));
  const { exit } = await place.tidemark(['pull', '--source', 'bad'], { signal: stop.signal });
  expect(exit).not.toBe(0);
});
