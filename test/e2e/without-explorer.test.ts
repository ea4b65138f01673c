import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { HTML, startServe } from '../helpers/served.ts';
import { share } from '../helpers/temp.ts';
import { testProject } from '../helpers/test-project.ts';

/** Two nights of an organization whose platform has no explorer. */
const nights = share(async (cleanup) => {
  const place = await testProject({ workspaces: 40, explorer: false, cleanup });
  await place.configure((config) => {
    config.targets = config.targets.slice(0, 1);
    config.mail = { smtp: 'smtp://127.0.0.1:9', from: 'a@acme.example' };
    config.pricing = { perResourceMonth: 0.1, currency: 'USD' };
  });
  const runs = [];
  const times: string[] = [];
  for (const _ of [1, 2]) {
    times.push(place.sandbox.now.toISOString());
    runs.push(await place.tidemark(['run', 'nightly']));
    if (times.length < 2) place.sandbox.tick();
  }
  return { place, runs, times };
});

async function report(name: string) {
  const { place } = await nights();
  return {
    data: JSON.parse(await readFile(join(place.folder, 'out', `${name}.json`), 'utf8')),
    text: await readFile(join(place.folder, 'out', `${name}.txt`), 'utf8'),
  };
}

test('the nights are complete, and no rule over what is unknown is assessed', async () => {
  const { place, runs } = await nights();
  for (const { exit, stderr } of runs) expect(exit, stderr).toBe(0);
  const [gaps] = await place.rows(
    'select list(rule order by rule) as rules, count(distinct reason)::int as reasons from unassessed_rules where ended_at is null',
  );
  expect(gaps).toMatchObject({
    rules: expect.arrayContaining([
      'checks-contradict',
      'dead-saved-view',
      'drifted-workspace',
      'errored-checks',
      'failing-checks',
      'idle-resources',
      'module-sprawl',
      'provider-sprawl',
      'resource-jump',
      'version-not-applied',
    ]),
    reasons: 1,
  });
  expect(gaps?.rules).not.toContain('outdated-version');
  const found = (await place.rows('select distinct rule from findings')).map(({ rule }) => rule);
  expect(found).toEqual(expect.arrayContaining(['workspace-without-vcs', 'outdated-version', 'dead-agent']));
  expect(found).not.toContain('stale-source');
});

test('no source is stale or failed', async () => {
  const { place } = await nights();
  const { sources } = (await place.tidemark(['status', '--json'])).json<{
    sources: { source: string; status: string; stale: boolean }[];
  }>();
  expect(sources.filter(({ stale }) => stale)).toEqual([]);
  expect(sources.filter(({ status }) => status !== 'complete').map(({ source, status }) => [source, status])).toEqual(
    ['modules', 'providers', 'saved_view_rows', 'saved_views'].map((source) => [source, 'unsupported']),
  );
});

test.each([
  ['drift', 'drifting', 'It is not known which of 41 workspaces drift'],
  ['check-failure', 'failing', 'It is not known which of 41 workspaces fail their checks'],
  ['cost', 'resources', 'The resources under management are not known'],
])(
  'the report %s says that its figures are unknown, and no table says that there is nothing',
  async (name, figure, headline) => {
    const { data, text } = await report(name);
    expect(data.state).toBe('unknown');
    expect(data.summary[figure]).toBe(null);
    expect(data.summary.headline.replace(/\d+ workspaces/u, '41 workspaces')).toContain(headline);
    expect(text).not.toMatch(/^(?:No workspace (?:drifts|fails|flaps|is idle|has grown)|Every )/mu);
  },
);

test('versions of the tool are known, and those of providers and modules are not', async () => {
  const { data } = await report('version-sprawl');
  expect(data.summary).toMatchObject({ providers: null, providers_spread: null, modules: null, modules_spread: null });
  expect(data.summary.versions).toBeGreaterThan(3);
  expect(data.summary.workspaces_behind).toBeGreaterThan(3);
});

test('the overview and the mail name no number of what is unknown, and say what is not assessed', async () => {
  const { place } = await nights();
  const { text } = await report('overview');
  expect(text).not.toMatch(/\d (?:workspaces )?(?:drifting|failing checks)/u);
  expect(text).toContain(' rules could not be assessed: more may be wrong');
  const { stdout } = await place.tidemark(['mail', 'nightly', '--to', 'a@acme.example', '--dry-run']);
  expect(stdout).not.toMatch(/workspaces drifting|workspaces failing checks|NOT PULLED/u);
  expect(stdout).toMatch(/^- acme: .*drifted-workspace.*: only the explorer tells it/mu);
  expect(stdout).toMatch(/workspaces behind the newest version in use: \d+/u);
});

test('the difference of two nights tells what changed, and what is not known', async () => {
  const { place, times } = await nights();
  const { stdout, stderr } = await place.tidemark(['diff', ...times]);
  expect(`${stdout}${stderr}`).toMatch(/modules.*not known/u);
  expect(stdout).toContain('current_run_external_id');
});

test('serve shows the tables, and what is unknown', async () => {
  const { place } = await nights();
  const { get } = await startServe(place.folder);
  const page = await get('/tables/source_state', HTML);
  expect([page.status, page.body]).toEqual([200, expect.stringContaining('only the explorer tells it')]);
  expect((await get('/tables/workspaces', HTML)).status).toBe(200);
  expect((await get('/', HTML)).body).not.toMatch(/0 (?:workspaces )?drifting/u);
});
