import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import pLimit from 'p-limit';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import type { Config } from '../../src/config/config.ts';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import type { ActivePull, RunContext } from '../../src/extract/run-context.ts';
import { sources } from '../../src/extract/sources/index.ts';
import { createRequestMetrics } from '../../src/http/response-body.ts';
import { type LandingFile, landingDirectory, type Manifest } from '../../src/landing/store.ts';
import { createLoadQueue } from '../../src/load/load-queue.ts';
import type { PullOutcome } from '../../src/load/record-pulls.ts';
import type { Database } from '../../src/warehouse/database.ts';
import { createSqlFiles } from '../../src/warehouse/sql-files.ts';
import { loadTables } from '../../src/warehouse/tables.ts';
import { quietContext } from '../helpers/context.ts';
import { openCopy } from '../helpers/prepared.ts';
import { tempFolder } from '../helpers/temp.ts';

let folder: string;
let database: Database;
let night = 0;
let run: RunContext;

beforeEach(async () => {
  folder = await tempFolder();
  database = await openCopy(join(folder, 'warehouse.duckdb'));
  onTestFinished(() => database.close());
  night = 0;
});

/** Begins the next night. */
async function begin(signal = new AbortController().signal): Promise<RunContext> {
  night++;
  const asOf = new Date(Date.UTC(2026, 10, night));
  const files = createSqlFiles([PACKAGE_ROOT]);
  const warehouse = { database, files, tables: await loadTables(files) } as RunContext['warehouse'];
  const config = { data: folder, shrinkPercent: 50, memoryLimit: '1GB' } as Config;
  run = {
    ...quietContext(folder),
    config,
    job: 'pull',
    runId: `run-${night}`,
    asOf,
    warehouse,
    writes: pLimit(1),
    signal,
  };
  return run;
}

interface Landing {
  readonly pull: ActivePull;
  readonly manifest: Manifest;
}

/** Loads landings together. @returns the outcome of each, or the message of its refusal */
async function load(landings: readonly Landing[]): Promise<readonly (PullOutcome | string)[]> {
  const queue = createLoadQueue(run);
  const ends = landings.map(({ pull, manifest }) =>
    queue(pull, manifest, false).catch((error: Error) => error.message),
  );
  return Promise.all(ends);
}

/** Lands keys with their types for a target. */
async function land(
  target: string,
  keys: Readonly<Record<string, string>> | string,
  over: Partial<Manifest> = {},
): Promise<Landing> {
  const directory = landingDirectory(run.config, run.runId, target);
  const path = join(directory, 'keys.ndjson');
  const lines = Object.entries(keys).map(([name, type]) => JSON.stringify({ name, body: { data: { name, type } } }));
  const text = typeof keys === 'string' ? keys : lines.map((line) => `${line}\n`).join('');
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
  const file: LandingFile = { file: 'keys.ndjson', format: 'ndjson', bytes: text.length, sha256: '' };
  const pull = {
    target: { name: target, mounts: { keymgmt: 'keymgmt', mesh: 'mesh' } } as ActivePull['target'],
    source: sources.find(({ name }) => name === 'keys') as ActivePull['source'],
    metrics: createRequestMetrics(),
    startedAt: run.asOf.toISOString(),
    expectedRows: null,
  };
  const as_of = run.asOf.toISOString();
  const manifest = {
    source: 'keys',
    target,
    service: '',
    run_id: run.runId,
    as_of,
    files: [file],
    expected_rows: null,
  };
  return { pull, manifest: { ...manifest, ...over } };
}

const FOUR = { a: 'aes', b: 'aes', c: 'rsa', d: 'rsa' };

/** Lands the versions of Terraform with the workspaces that use each. */
async function landVersions(target: string, versions: Readonly<Record<string, string>>): Promise<Landing> {
  const { pull, manifest } = await land(target, '');
  const directory = landingDirectory(run.config, run.runId, target);
  const columns = ['version', 'workspace_count', 'workspaces'];
  const rows = Object.entries(versions).map(([version, names]) => `${version},1,"${names}"`);
  const text = [columns.join(','), ...rows, ''].join('\n');
  await writeFile(join(directory, 'tf_versions.csv'), text);
  const file: LandingFile = { file: 'tf_versions.csv', format: 'csv', bytes: text.length, sha256: '', columns };
  return { pull, manifest: { ...manifest, source: 'tf_versions', files: [file] } };
}

async function current(): Promise<Record<string, Record<string, unknown>>> {
  const rows = await database.rows('select target, name, type from keys order by all');
  const targets: Record<string, Record<string, unknown>> = {};
  for (const { target, name, type } of rows)
    targets[String(target)] = { ...targets[String(target)], [String(name)]: type };
  return targets;
}

const pulled = () => database.rows('select run_id, target, rows::int as rows from pulls order by all');

test('of a secret in a note that is cut, no part stays', async () => {
  const { redactor } = await begin();
  redactor.add('token-of-the-user');
  const notes = [`${'x'.repeat(1990)}token-of-the-user`];
  const [outcome] = (await load([await land('v1', FOUR, { notes })])) as readonly PullOutcome[];
  expect(outcome?.note).toMatch(/^x+\*/u);
  expect(outcome?.note).not.toContain('token');
});

test('many targets are loaded at once, each with its own rows and pull; a row that did not change keeps its version', async () => {
  await begin();
  const first = await load([await land('v1', FOUR), await land("it's", { a: 'ecdsa' }), await land('v3', {})]);
  expect(first).toMatchObject([
    { target: 'v1', rows: 4, inserted: 4 },
    { target: "it's", rows: 1, inserted: 1 },
    { target: 'v3', rows: 0, inserted: 0 },
  ]);
  await begin();
  const second = await load([await land('v1', { ...FOUR, a: 'rsa', e: 'aes' }), await land("it's", { a: 'ecdsa' })]);
  expect(second).toMatchObject([
    { target: 'v1', rows: 5, inserted: 1, changed: 1, deleted: 0 },
    { target: "it's", rows: 1, inserted: 0, changed: 0, deleted: 0 },
  ]);
  expect(await current()).toEqual({ v1: { ...FOUR, a: 'rsa', e: 'aes' }, "it's": { a: 'ecdsa' } });
  expect(await database.rows('select count(*)::int as versions from keys_history')).toEqual([{ versions: 7 }]);
  expect(await pulled()).toEqual([
    { run_id: 'run-1', target: "it's", rows: 1 },
    { run_id: 'run-1', target: 'v1', rows: 4 },
    { run_id: 'run-1', target: 'v3', rows: 0 },
    { run_id: 'run-2', target: "it's", rows: 1 },
    { run_id: 'run-2', target: 'v1', rows: 5 },
  ]);
});

const twice = `${JSON.stringify({ name: 'a', body: { data: { type: 'aes' } } })}\n`.repeat(2);
const nameless = `${JSON.stringify({ body: { data: { type: 'aes' } } })}\n`;

test.each<[what: string, keys: Readonly<Record<string, string>> | string, over: Partial<Manifest>, why: RegExp]>([
  ['a mass disappearance of rows', { d: 'rsa' }, {}, /^keys: 3 of 4 rows \(75 %\) disappeared at once$/u],
  ['a file that cannot be read', 'not json\n', {}, /^keys: Malformed JSON /u],
  ['a repeated key', twice, {}, /^keys: 2 rows have the key name "a"$/u],
  ['a missing key', nameless, {}, /^keys: 1 row without name$/u],
  [
    'another number of rows than is reported',
    FOUR,
    { expected_rows: 5 },
    /^keys: got 4 rows, but the service reports 5$/u,
  ],
])('a target with %s is refused, and keeps its rows; the others are loaded', async (_what, keys, over, why) => {
  await begin();
  await load([await land('good', FOUR), await land('bad', FOUR)]);
  await begin();
  const landings = [await land('bad', keys, over), await land('good', { ...FOUR, a: 'rsa' })];
  const [refused, loaded] = await load(landings);
  expect(refused).toMatch(why);
  expect(loaded).toMatchObject({ target: 'good', rows: 4, changed: 1 });
  expect(await current()).toEqual({ good: { ...FOUR, a: 'rsa' }, bad: FOUR });
  expect((await pulled()).filter(({ run_id }) => run_id === 'run-2')).toEqual([
    { run_id: 'run-2', target: 'good', rows: 4 },
  ]);
  expect(await load([landings[0] as Landing])).toEqual([refused]);
});

test('a landing that is refused renews no column that a service computes', async () => {
  const landHealth = async (target: string, over: Partial<Manifest> = {}) => {
    const line = `${JSON.stringify({ status: 200, checked_at: run.asOf.toISOString() })}\n`;
    return land(target, line, { source: 'autoscaler_health', ...over });
  };
  await begin();
  await load([await landHealth('good'), await landHealth('bad')]);
  await begin();
  const [refused] = await load([await landHealth('bad', { expected_rows: 2 }), await landHealth('good')]);
  expect(refused).toMatch(/^autoscaler_health: got 1 row/u);
  expect(await database.rows('select target, checked_at from autoscaler_health order by all')).toEqual([
    { target: 'bad', checked_at: '2026-11-01T00:00:00Z' },
    { target: 'good', checked_at: '2026-11-02T00:00:00Z' },
  ]);
});

test('lists of many targets keep their order and their own members; a target that is left out keeps its lists', async () => {
  await begin();
  const old = { '1.5.7': 'net, api, web', '1.6.0': 'web', '1.7.0': 'x', '1.8.0': 'y' };
  await load([await landVersions('t1', old), await landVersions('t2', old), await landVersions('t3', old)]);
  await begin();
  const changed = { ...old, '1.5.7': 'net, new, web', '1.9.0': 'api' };
  const loads = [
    await landVersions('t1', changed),
    await landVersions('t2', { '1.5.7': 'web' }),
    await landVersions('t3', old),
  ];
  expect(await load(loads)).toMatchObject(
    [{ target: 't1' }, /3 of 4 rows/u, { target: 't3' }].map((end) =>
      end instanceof RegExp ? expect.stringMatching(end) : end,
    ),
  );
  const rows = await database.rows('select target, version, workspaces from tf_versions order by all');
  const lists = (target: string, versions: Readonly<Record<string, string>>) =>
    Object.entries(versions).map(([version, workspaces]) => ({ target, version, workspaces }));
  expect(rows).toEqual([...lists('t1', changed), ...lists('t2', old), ...lists('t3', old)]);
  const members = 'select count(*)::int as added from tf_versions_members where valid_from = $at::timestamptz';
  expect(await database.rows(members, { at: run.asOf.toISOString() })).toEqual([{ added: 2 }]);
});

test('a statement that fails because of one target refuses that one only; the others are loaded', async () => {
  await begin();
  await database.run('create unique index one_of_a_type on keys_history (type)');
  const [good, bad, other] = [{ a: 'aes' }, { b: 'rsa', c: 'rsa' }, { d: 'ecdsa' }];
  const landings = [await land('good', good), await land('bad', bad), await land('other', other)];
  expect(await load(landings)).toMatchObject([
    { target: 'good', rows: 1 },
    expect.stringMatching(/^keys cannot be loaded: Constraint Error: .*[dD]uplicate key/u),
    { target: 'other', rows: 1 },
  ]);
  expect(await current()).toEqual({ good, other });
  expect(await pulled()).toEqual(['good', 'other'].map((target) => ({ run_id: 'run-1', target, rows: 1 })));
});

test('the note of a pull names a few of many unknown parts, and `unknown_parts` has all of them', async () => {
  await begin();
  const unknown_parts = Array.from({ length: 200 }, (_, n) => ({
    column: 'name',
    value: `key-${n}`,
    reason: 'refused',
  }));
  const [outcome] = await load([await land('v1', FOUR, { unknown_parts, notes: ['another note'] })]);
  expect(outcome).toMatchObject({
    status: 'partial',
    note: expect.stringMatching(/^name key-0 is unknown: refused; (?:.*; ){4}195 more; another note$/u),
  });
  expect(await database.rows('select json_array_length(unknown_parts)::int as parts from pulls')).toEqual([
    { parts: 200 },
  ]);
});

test('a time of what has happened that is far in the future, or before the services, is unknown; one that is a little ahead is believed', async () => {
  await begin();
  const never = ['9999-12-31T00:00:00Z', '0001-01-01T00:00:00Z', '1970-01-01T00:00:00Z'];
  const times = ['2020-01-01T00:00:00Z', ...never, new Date(run.asOf.getTime() + 3_600_000)];
  const keys = Object.fromEntries(times.map((time, index) => [index + 1, { creation_time: time }]));
  await load([await land('v1', `${JSON.stringify({ name: 'a', body: { data: { type: 'aes', keys } } })}\n`)]);
  const rows = await database.rows('select version::int as version, creation_time from key_versions order by all');
  expect(rows).toEqual([
    { version: 1, creation_time: '2020-01-01T00:00:00Z' },
    ...never.map((_, index) => ({ version: index + 2, creation_time: null })),
    { version: 5, creation_time: expect.anything() },
  ]);
});

test('an aborted run loads nothing', async () => {
  const halt = new AbortController();
  await begin(halt.signal);
  const loads = [await land('v1', FOUR), await land('v2', FOUR)];
  const reason = new Error('stopped');
  const queue = createLoadQueue(run);
  const loading = Promise.all(loads.map(({ pull, manifest }) => queue(pull, manifest, false)));
  halt.abort(reason);
  await expect(loading).rejects.toBe(reason);
  expect(await current()).toEqual({});
  expect(await pulled()).toEqual([]);
});
