import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { FaultHook } from '../../sandbox/router.ts';
import type { Response } from '../../sandbox/types.ts';
import { HOUR_MS } from '../../src/core/clock.ts';
import type { RunResult } from '../../src/run/run.ts';
import { expectTable } from '../helpers/expect-table.ts';
import { share } from '../helpers/temp.ts';
import { type TestProject, testProject } from '../helpers/test-project.ts';

const SOURCE = ['--source', 'workspaces'];

interface Changes {
  /** Renames a column of the CSV export. */
  readonly column?: readonly [from: string, to: string];
  /** Renames an attribute of the JSON rows, or removes it. */
  readonly attribute?: readonly [from: string, to: string | undefined];
  readonly hasNoPages?: boolean;
}

/** What the platform changes now. */
let changes: Changes = {};

/** A platform that changes the names of the columns of workspaces after the first pull. */
const pulled = share(async (cleanup) => {
  const faultHook: FaultHook = (request, service) => {
    const { column, attribute, hasNoPages = false } = changes;
    const { path, query } = request;
    if (query.get('type') !== 'workspaces') return undefined;
    const isExport = path.endsWith('/export/csv');
    const isPage = path.endsWith('/explorer') && query.get('page[size]') !== '1';
    if (isPage && hasNoPages) return service.error(422, 'no pages today');
    const route = service.routes.find((one) => one.path.endsWith(isExport ? '/export/csv' : '/explorer'));
    const respond = () => route?.handle({ ...request, params: { organization: 'acme' } }) as Response;
    if (isExport && column) return renameColumn(respond(), ...column);
    return isPage && attribute ? renameAttribute(respond(), ...attribute) : undefined;
  };
  changes = {};
  const place = await testProject({ workspaces: 10, faultHook, cleanup });
  await place.pull(SOURCE);
  return place;
});

async function changed(now: Changes): Promise<TestProject> {
  const { folder: from, sandbox } = await pulled();
  changes = now;
  return testProject({ sandbox, from });
}

function renameColumn(response: Response, from: string, to: string): Response {
  const [header = '', ...lines] = [...(response.body ?? [])].join('').split('\n');
  const names = header.split(',').map((name) => (name === from ? to : name));
  return { ...response, body: [names.join(','), ...lines].join('\n') };
}

function renameAttribute(response: Response, from: string, to: string | undefined): Response {
  const document = JSON.parse([...(response.body ?? [])].join(''));
  for (const { attributes } of document.data) {
    if (to !== undefined) attributes[to] = attributes[from];
    delete attributes[from];
  }
  return { ...response, body: JSON.stringify(document) };
}

async function pullOnce(place: TestProject, exit: number) {
  const result = await place.pull(SOURCE, exit);
  return { stderr: result.stderr, pull: result.json<RunResult>().pulls[0] };
}

async function versions(place: TestProject): Promise<unknown> {
  const [row] = await place.rows('select count(*) as n from workspaces_history');
  return row?.n;
}

const RENAMES = ['drift', 'Drifted', ' drifted', 'drifted '];

test.each(RENAMES)('a CSV with %j for `drifted` is rejected, and JSON pages are read instead', async (to) => {
  const place = await changed({ column: ['drifted', to] });
  const { pull, stderr } = await pullOnce(place, 0);
  expect(pull).toMatchObject({ status: 'complete', changed: 0 });
  expect(stderr).toContain(`the CSV header has no column drifted (the nearest new name is ${JSON.stringify(to)})`);
  await expectTable(place, 'workspaces', 'spec');
});

test.each(RENAMES.slice(0, 2))(
  'without JSON pages, a CSV with %j for `drifted` is quarantined, and no row changes',
  async (to) => {
    const place = await changed({ column: ['drifted', to], hasNoPages: true });
    const { pull } = await pullOnce(place, 1);
    expect(pull).toMatchObject({ status: 'quarantined', rows: null });
    expect(pull?.error).toContain(`no column drifted (the nearest new name is ${JSON.stringify(to)})`);
    await expectTable(place, 'workspaces', 'spec');
    expect(await versions(place)).toBe(10);
  },
);

test.each([
  ['renamed', 'drift', 'drifted (the nearest new name is "drift")'],
  ['in another case', 'Drifted', 'drifted (the nearest new name is "Drifted")'],
  ['gone', undefined, 'no row has the attribute drifted'],
] as const)('JSON rows whose attribute is %s are quarantined', async (_what, to, message) => {
  const place = await changed({ attribute: ['drifted', to] });
  await place.configure(({ targets }) => Object.assign(targets[0] ?? {}, { explorer: 'json' }));
  const { pull } = await pullOnce(place, 1);
  expect(pull).toMatchObject({ status: 'quarantined' });
  expect(pull?.error).toContain(message);
  await expectTable(place, 'workspaces', 'spec');
});

test('a column that the configuration names may be missing; the hint shows how', async () => {
  const place = await changed({ column: ['drifted', 'drift'], hasNoPages: true });
  const { stderr } = await pullOnce(place, 1);
  expect(stderr).toContain('add `missingColumns: [drifted]` to the target acme');
  await place.configure(({ targets }) => Object.assign(targets[0] ?? {}, { missingColumns: ['drifted'] }));
  expect((await pullOnce(place, 0)).pull).toMatchObject({ status: 'complete' });
  expect(await place.rows('select distinct drifted from workspaces')).toEqual([{ drifted: null }]);
});

test.each([
  ['spec', 'csv', 'vcs_repo_identifier', 'workspace-without-vcs'],
  ['spec', 'json', 'current_run_status', 'run-waiting'],
  ['hashicorp', 'csv', 'tags', undefined],
] as const)(
  'a column that a %s service ceases to have is unknown, by %s: no rule concludes from %s, and nothing counts as changed',
  async (flavor, explorer, column, rule) => {
    let isGone = false;
    const place = await testProject({
      workspaces: 20,
      flavor,
      faultHook: (request, service) => {
        if (!isGone || request.query.get('type') !== 'workspaces') return undefined;
        const isExport = request.path.endsWith('/export/csv');
        const route = service.routes.find((one) => one.path.endsWith(isExport ? '/export/csv' : '/explorer'));
        const response = route?.handle({ ...request, params: { organization: 'acme' } }) as Response;
        if (isExport) return renameColumn(response, column, `former_${column}`);
        return renameAttribute(response, column.replaceAll('_', '-'), undefined);
      },
    });
    await mkdir(join(place.folder, 'jobs'));
    await writeFile(join(place.folder, 'jobs', 'evaluate.yaml'), 'pull: all\nreports: []\n');
    await place.configure((config) => {
      config.targets = config.targets.slice(0, 1);
      Object.assign(config.targets[0] ?? {}, { explorer, sources: ['workspaces'] });
    });
    const night = async (hours: number) => {
      const now = new Date(place.sandbox.now.getTime() + hours * HOUR_MS).toISOString();
      const { exit, stderr } = await place.tidemark(['run', 'evaluate', '--now', now]);
      expect(exit, stderr).toBe(0);
    };
    const findings = () => place.rows("select rule, subject_id from findings where state <> 'resolved' order by all");
    await night(0);
    const before = await findings();
    isGone = true;
    const missingColumns = rule === undefined ? [] : [column];
    await place.configure(({ targets }) => Object.assign(targets[0] ?? {}, { missingColumns }));
    await night(1);
    expect(await findings()).toEqual(before);
    expect(await place.rows(`select 1 as x from changes where "column" = '${column}'`)).toEqual([]);
    const [state] = await place.rows("select unknown_columns from source_state where source = 'workspaces'");
    expect(state?.unknown_columns).toEqual({ [column]: 'the service does not tell it' });
    const rules = await place.rows('select rule from unassessed_rules where ended_at is null');
    expect(rules.map((row) => row.rule)).toEqual(rule === undefined ? [] : expect.arrayContaining([rule]));
  },
);

test('the column that identifies the rows cannot be left out', async () => {
  const place = await changed({ column: ['external_id', 'id'], hasNoPages: true });
  await place.configure(({ targets }) => Object.assign(targets[0] ?? {}, { missingColumns: ['external_id'] }));
  const { stderr } = await pullOnce(place, 3);
  expect(stderr).toContain('has no column external_id');
});

test('the names of the real product are no missing columns', async () => {
  const place = await testProject({ workspaces: 10, flavor: 'hashicorp' });
  await place.pull(SOURCE);
  await place.configure(({ targets }) => Object.assign(targets[0] ?? {}, { explorer: 'json' }));
  expect((await pullOnce(place, 0)).pull).toMatchObject({ status: 'complete', changed: 0 });
});
