import { beforeAll, describe, expect, test } from 'vitest';
import type { RunningSandbox } from '../../sandbox/index.ts';
import type { RunResult } from '../../src/run/run.ts';
import { byKey, expectTable, sourceTables, withoutComputed } from '../helpers/expect-table.ts';
import { expectedTables } from '../helpers/expected/index.ts';
import { cleanAtEnd } from '../helpers/temp.ts';
import { findTarget, pulledProject, type TestProject, testProject } from '../helpers/test-project.ts';

const atEnd = cleanAtEnd();

async function asOf(place: TestProject): Promise<string> {
  return (await place.pull()).json<RunResult>().as_of;
}

/** Texts that CSV, JSON, SQL, shells, terminals and spreadsheets read differently. */
const TEXTS = [
  'line one\nline two\r\nline three\rline four',
  `quotes " "" ' '' \` and commas, ,`,
  'tab\there, backslash \\ \\n, nothing \\N',
  '名前 🌊 naïve é (combining e\u0301) \u202Eright to left\u202C',
  "'; drop table workspaces; --",
  '=cmd|calc!A0',
  '<b onclick="x()">&amp;',
  '  spaces around  ',
  'null',
  'NULL',
  `{{template}} \${HOME} %s`,
  '-',
  '\u0000 and \u0007 and \u001B[31m',
];

test('half of a pair of surrogates in a name is U+FFFD, with a note', async () => {
  const place = await testProject({ workspaces: 5 });
  const { platform, scheduler } = place.sandbox.services;
  platform.state.pools[0]!.name = 'pool \uD800';
  scheduler.state.policies.set('planted', {
    name: 'planted',
    description: '\uDC00 first',
    rules: '\uD83D\uDE00 whole',
    jobAcl: null,
    createIndex: 1,
    modifyIndex: 1,
  });
  await place.pull(['--source', 'agent_pools', '--source', 'acl_policies']);
  expect(await place.rows("select name from agent_pools where name like 'pool %'")).toEqual([{ name: 'pool \uFFFD' }]);
  expect(await place.rows("select description, rules from acl_policies where name = 'planted'")).toEqual([
    { description: '\uFFFD first', rules: '\u{1F600} whole' },
  ]);
  const notes = await place.rows('select note from pulls order by source');
  expect(notes.map(({ note }) => note)).toEqual(Array(2).fill(expect.stringContaining('not valid in Unicode')));
});

/** Puts the texts, and the edges of numbers and times, wherever a person or a program can put them. */
function plant({ services }: RunningSandbox): void {
  const { platform, secrets, scheduler, mesh } = services;
  for (const [index, text] of TEXTS.entries()) {
    const workspace = platform.state.workspaces[index]!;
    workspace.name = `${index}${text}`;
    workspace.runStatus = text;
    workspace.repository = text.includes(',') ? null : text;
    workspace.drifted = [true, false, null][index % 3]!;
    workspace.updatedAt = Date.UTC(2024, 9, 27, 0, 59, 59) + index * 3_600_000;
    platform.state.pools[index % platform.state.pools.length]!.name = text;
    platform.state.agents[index]!.name = text;
    platform.state.agents[index]!.lastPingAt = index === 0 ? null : Date.UTC(2000, 0, 1, 0, 0, 0, index);
    platform.state.views[index % platform.state.views.length]!.name = text;
    scheduler.state.policies.set(`planted-${index}`, {
      name: `planted-${index}`,
      description: text,
      rules: text,
      jobAcl: { Namespace: text, JobID: text },
      createIndex: Number.MAX_SAFE_INTEGER,
      modifyIndex: index,
    });
    secrets.state.roles.set(`role-${index} ${text.replaceAll(/\p{Cc}|\//gu, '')}`, {
      tokenType: 'client',
      policy: Buffer.from(text).toString('base64'),
      policies: [text],
      lists: {},
      partition: '',
      namespace: '',
      local: index % 2 === 0,
      ttlSeconds: index * 3601,
      maxTtlSeconds: 0,
    });
  }
  const [plugin] = scheduler.state.plugins.values();
  plugin!.externals.set('big', {
    id: 'big',
    capacityBytes: 2n ** 61n - 1n,
    snapshotId: '',
    abnormal: true,
    status: TEXTS[0]!,
  });
  mesh.state.roots.push({ ...mesh.state.roots[0]!, ID: 'ff', SerialNumber: 2n ** 64n - 1n, Name: TEXTS[3]! });
}

/** The changes of these nights are compared as well. */
const NIGHTS = 5;

type Tables = Readonly<Record<string, readonly object[]>>;

async function present(place: TestProject): Promise<Tables> {
  const tables = await Promise.all(
    sourceTables.map(async (name) => [name, byKey(name, await place.rows(`select * from ${name}`))] as const),
  );
  return Object.fromEntries(tables);
}

describe.each(['spec', 'hashicorp'] as const)('with the flavor %s, after nights of changes', (flavor) => {
  let place: TestProject;
  let expected: ReturnType<typeof expectedTables>;
  const runs: { readonly at: string; readonly tables: Tables }[] = [];
  beforeAll(async () => {
    place = await pulledProject({ flavor, cleanup: atEnd });
    if (flavor === 'spec') {
      runs.push({ at: place.sandbox.now.toISOString(), tables: await present(place) });
      place.sandbox.tick();
      runs.push({ at: await asOf(place), tables: await present(place) });
    }
    for (let night = flavor === 'spec' ? 1 : 0; night < NIGHTS; night++) place.sandbox.tick();
    plant(place.sandbox);
    const at = await asOf(place);
    if (flavor === 'spec') runs.push({ at, tables: await present(place) });
    expected = expectedTables(place.sandbox, flavor);
  });

  test.each(sourceTables)('%s keeps every character, digit and null', (table) =>
    expectTable(place, table, flavor, expected),
  );

  if (flavor === 'spec') {
    test.each(sourceTables)('%s_at a time, until the next pull, is the table then', async (name) => {
      expect(runs).toHaveLength(3);
      for (const [index, { at, tables }] of runs.entries()) {
        const next = runs[index + 1]?.at;
        const lastInstant = next ? new Date(Date.parse(next) - 1).toISOString() : '9999-12-31';
        for (const time of [at, lastInstant]) {
          const rows = await place.rows(`select * from ${name}_at($time)`, { time });
          const then = withoutComputed(name, tables[name]);
          expect(withoutComputed(name, byKey(name, rows)), `run ${index} at ${time}`).toEqual(then);
        }
      }
      expect(await place.rows(`select * from ${name}_at('2026-09-30')`)).toEqual([]);
    });

    test.each(sourceTables)('%s_before a time is the table of the previous pull', async (name) => {
      for (const [index, { tables }] of runs.slice(0, -1).entries()) {
        const rows = await place.rows(`select * from ${name}_before($time)`, { time: runs[index + 1]!.at });
        const then = withoutComputed(name, tables[name]);
        expect(withoutComputed(name, byKey(name, rows)), `before run ${index + 1}`).toEqual(then);
      }
    });
  }

  test('the pull used the read token only, and called nothing that changes the remote service', () => {
    const { log, tokens } = place.sandbox;
    const written = new Set(Object.values(tokens).map(({ write }) => write));
    expect(log.length).toBeGreaterThan(100);
    for (const { method, path, headers } of log) {
      // Vault tells by a POST what a token may do.
      if (path !== '/v1/sys/capabilities-self') expect(['GET', 'LIST'], path).toContain(method);
      expect(path).not.toContain('/creds/');
      for (const value of Object.values(headers)) expect(written.has(value.replace('Bearer ', ''))).toBe(false);
    }
  });

  test('the explorer asked by JSON pages gives the same rows as by CSV, so nothing changes', async () => {
    await place.configure((config) => {
      findTarget(config, 'acme').explorer = 'json';
    });
    const views = ['workspaces', 'tf_versions', 'providers', 'modules'];
    const before = place.sandbox.log.length;
    const result = await place.pull(views.flatMap((view) => ['--source', view]));
    const asked = place.sandbox.log.slice(before).map(({ path }) => path);
    expect(asked.filter((path) => path.endsWith('/csv'))).toEqual([]);
    const { pulls } = result.json<{
      pulls: { source: string; inserted: number; changed: number; deleted: number }[];
    }>();
    expect(pulls.map(({ source, inserted, changed, deleted }) => [source, inserted, changed, deleted])).toEqual(
      views.map((view) => [view, 0, 0, 0]),
    );
    for (const view of views) await expectTable(place, view, flavor);
  });
});
