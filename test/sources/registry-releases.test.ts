import { beforeAll, describe, expect, test } from 'vitest';
import type { FaultHook } from '../../sandbox/router.ts';
import type { Response } from '../../sandbox/types.ts';
import { expectTable } from '../helpers/expect-table.ts';
import { startServer } from '../helpers/http-service.ts';
import { cleanAtEnd } from '../helpers/temp.ts';
import { findTarget, type TestProject, type TestProjectOptions, testProject } from '../helpers/test-project.ts';
import { pullAt } from '../pipeline/pull-again.ts';

const SOURCES = ['providers', 'modules', 'registry_releases'].flatMap((source) => ['--source', source]);
const REGISTRY = ['--source', 'registry_releases'];
const AWS = 'registry.terraform.io/hashicorp/aws';
const KUBERNETES = 'registry.terraform.io/hashicorp/kubernetes';

const json = (value: unknown, status = 200, headers = {}): Response => ({
  status,
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(value),
});
const text = (status: number, body: string): Response => ({ status, headers: { 'content-type': 'text/plain' }, body });
const PAGE: Response = {
  status: 404,
  headers: { 'content-type': 'text/html' },
  body: '<html><title>404</title></html>',
};

/** A project in which a registry answers as `answers` says, by the end of the path. */
async function registryProject(answers: Readonly<Record<string, Response>> = {}, options: TestProjectOptions = {}) {
  const current: Record<string, Response> = { ...answers };
  const faultHook: FaultHook = ({ path }, { kind }) =>
    kind === 'registry' ? Object.entries(current).find(([end]) => path.endsWith(end))?.[1] : undefined;
  const place = await testProject({ workspaces: 60, faultHook, ...options });
  await place.configure((config) => {
    config.targets = ['acme', 'registry'].map((name) => findTarget(config, name));
  });
  return { place, answers: current };
}

const asked = (place: TestProject) => place.sandbox.log.filter(({ kind }) => kind === 'registry');
const releases = (place: TestProject, source: string) =>
  place.rows('select version, unlisted, published_at from registry_releases where source = $source', { source });

describe('after a night', () => {
  const atEnd = cleanAtEnd();
  let place: TestProject;
  beforeAll(async () => {
    ({ place } = await registryProject({}, { cleanup: atEnd }));
    await pullAt(place, '01T02:15:00', SOURCES);
  });

  test('the first one already has the releases of what is in use, field by field', () =>
    expectTable(place, 'registry_releases', 'spec'));

  test('more than 500 versions are listed, of which the newest 500 have a date', async () => {
    const rows = await releases(place, AWS);
    const dated = rows.filter(({ published_at }) => published_at !== null);
    expect(rows.length).toBeGreaterThan(520);
    expect([dated.length, rows.filter(({ unlisted }) => unlisted).length]).toEqual([500, 0]);
  });

  test('a version that is in use, has a date and is not in the list, is unlisted', async () => {
    const rows = await releases(place, KUBERNETES);
    expect(rows.filter(({ unlisted }) => unlisted)).toEqual([
      { version: '2.35.1', unlisted: true, published_at: expect.any(String) },
    ]);
  });

  test('nothing was asked for that is private, of another host, or not in use', async () => {
    const paths = asked(place).map(({ path }) => path);
    expect(paths.filter((path) => path.includes('/acme/'))).toEqual([]);
    const used = await place.rows(
      `select distinct source from providers where starts_with(source, 'registry.terraform.io/')
       union select distinct source from modules where registry_type = 'public'`,
    );
    const lists = new Set(paths.filter((path) => path.endsWith('/versions')));
    expect(lists.size).toBe(used.length);
  });

  test('the next one sends what it knows, and 304 takes every answer from the last pull', async () => {
    const first = asked(place).length;
    const { reused } = await pullAt(place, '02T02:15:00', SOURCES);
    const objects = asked(place)
      .slice(first)
      .filter(({ path }) => path.startsWith('/v'));
    expect(new Set(objects.map(({ status }) => status))).toEqual(new Set([304]));
    expect(reused).toMatchObject({ registry_releases: objects.length });
    await expectTable(place, 'registry_releases', 'spec');
    expect(
      await place.rows('select count(*)::int as n from registry_releases_history where valid_to is not null'),
    ).toEqual([{ n: 0 }]);
  });

  test('a changed list is read, and a version that it lacks is withdrawn', async () => {
    place.sandbox.services.registry.state.providers.get('hashicorp/aws')!.withdrawn.add('6.2.0');
    const { reused } = await pullAt(place, '03T02:15:00', SOURCES);
    expect(reused.registry_releases).toBeGreaterThan(0);
    expect((await releases(place, AWS)).filter(({ unlisted }) => unlisted).map(({ version }) => version)).toEqual([
      '6.2.0',
    ]);
  });
});

const LIST = '/hashicorp/aws/versions';
const DATES = '/v2/providers/hashicorp/aws';
const MODULE = '/terraform-aws-modules/vpc/aws/versions';

/** Answers that say nothing of what they are asked about: the source is failed, and its rows stay. */
const BROKEN: Readonly<Record<string, readonly [Readonly<Record<string, Response>>, RegExp]>> = {
  'a list that is refused': [{ [LIST]: json({ errors: ['Forbidden'] }, 403) }, /403 forbidden/u],
  'a list that is a page': [{ [LIST]: PAGE }, /404 malformed/u],
  'a list that is gone behind a page': [{ [LIST]: { ...PAGE, status: 410 } }, /410 malformed/u],
  'a list that is gone without errors': [{ [LIST]: json({ errors: [] }, 410) }, /410 malformed/u],
  'a list that is not found in plain text': [{ [LIST]: text(404, '404 page not found') }, /404 malformed/u],
  'a list that is not found without errors': [{ [LIST]: json({ errors: [] }, 404) }, /404 malformed/u],
  'a list that fails': [{ [LIST]: json({ errors: ['oops'] }, 500) }, /500 server/u],
  'an empty list': [{ [LIST]: json({ versions: [] }) }, /aws: the registry lists no version/u],
  'a list of null': [{ [LIST]: json({ versions: null }) }, /aws: the registry lists no version/u],
  'no list': [{ [LIST]: json({}) }, /expected a JSON object with a list in `versions`/u],
  'a list of another type': [{ [LIST]: json({ versions: { '5.84.0': {} } }) }, /expected a JSON object with a list/u],
  'a list of texts': [{ [LIST]: json({ versions: ['5.84.0'] }) }, /aws: row 1 has no version/u],
  'a list with an empty version': [
    { [LIST]: json({ versions: [{ version: '5.84.0' }, { version: '' }] }) },
    /row 2 has no version/u,
  ],
  'a page with status 200': [{ [LIST]: { ...PAGE, status: 200 } }, /malformed/u],
  'a list with null in it': [
    { [LIST]: json({ versions: [null, { version: '5.84.0' }] }) },
    /aws: row 1 has no version/u,
  ],
  'a discovery of null': [{ 'terraform.json': json(null) }, /expected a JSON object/u],
  'a list that moved': [
    { [LIST]: { status: 302, headers: { location: 'https://evil.example/' } } },
    /302 malformed: redirect to/u,
  ],
  'a limit that does not end': [{ [LIST]: { status: 429, headers: { 'retry-after': '7200' } } }, /429|wait/u],
  'half a list': [{ [LIST]: { ...json({}), body: '{"versions":[{"version":"5.84.0"},' } }, /malformed/u],
  'a 304 that nobody asked for': [{ [LIST]: { status: 304 } }, /304 invalid/u],
  'a list of modules that is empty': [{ [MODULE]: json({ modules: [] }) }, /vpc\/aws: the response has no versions/u],
  'a module without versions': [
    { [MODULE]: json({ modules: [{ versions: [] }] }) },
    /vpc\/aws: the registry lists no version/u,
  ],
  'dates that are refused': [{ [DATES]: json({ errors: ['Forbidden'] }, 403) }, /403 forbidden/u],
  'dates that fail': [{ [DATES]: text(503, 'upstream') }, /503 server/u],
  'dates of some providers behind a page': [{ [DATES]: PAGE }, /404 malformed/u],
  'dates without versions': [{ [DATES]: json({ data: { attributes: {} } }) }, /aws: the response has no included/u],
  'a date that is none': [
    {
      [DATES]: json({
        data: { attributes: {} },
        included: [{ attributes: { version: '5.84.0', 'published-at': 'soon' } }],
      }),
    },
    /soon/u,
  ],
  'a discovery that leads elsewhere': [
    { 'terraform.json': json({ 'providers.v1': 'https://evil.example/v1/' }) },
    /names another address for providers.v1: https:\/\/evil\.example/u,
  ],
  'a discovery that fails': [{ 'terraform.json': text(500, 'oops') }, /500 server/u],
  'a discovery of another type': [{ 'terraform.json': json([]) }, /expected a JSON object/u],
  'nothing but errors of a registry': [
    { '/versions': json({ errors: ['Not Found'] }, 404) },
    /has nothing of what is in use/u,
  ],
};

describe('answers that say nothing', () => {
  const atEnd = cleanAtEnd();
  let place: TestProject;
  let answers: Record<string, Response>;
  let good: unknown;
  const all = () => place.rows('select * from registry_releases_history order by all');
  beforeAll(async () => {
    ({ place, answers } = await registryProject({}, { cleanup: atEnd }));
    await pullAt(place, '01T02:15:00', SOURCES);
    good = await all();
  });

  test.each(Object.entries(BROKEN))('%s: the source fails and nothing of it changes', async (_, [broken, error]) => {
    Object.assign(answers, broken);
    const { pulls } = await pullAt(place, '02T02:15:00', [...REGISTRY, '--fresh'], 3);
    for (const end of Object.keys(broken)) delete answers[end];
    expect(pulls).toMatchObject([{ status: 'failed', error: expect.stringMatching(error) }]);
    expect(await all()).toEqual(good);
  });
});

const NOT_FOUND = json({ errors: ['Not Found'] }, 404);

test.each([404, 410])(
  'a provider that the registry says with %d it does not have lists nothing: all versions in use are withdrawn',
  async (status) => {
    const { place } = await registryProject({ '/hashicorp/aws/versions': json({ errors: ['Not Found'] }, status) });
    await pullAt(place, '01T02:15:00', SOURCES);
    const rows = await releases(place, AWS);
    const used = await place.rows('select distinct version from providers where source = $source', { source: AWS });
    expect(rows.length).toBe(used.length);
    expect(rows.every(({ unlisted }) => unlisted === true)).toBe(true);
    expect(asked(place).some(({ path }) => path === DATES)).toBe(false);
  },
);

/** A project whose explorer has these versions of providers in use, as `used` says when it is asked. */
async function projectUsing(used: () => readonly string[], answers: Readonly<Record<string, Response>> = {}) {
  const faultHook: FaultHook = ({ path, query }, { kind }) => {
    if (kind === 'registry') return Object.entries(answers).find(([end]) => path.endsWith(end))?.[1];
    if (!path.endsWith('/explorer') || query.get('type') !== 'providers') return undefined;
    const data = used().map((text, index) => {
      const [source = '', version = ''] = text.split(' ');
      const attributes = { name: source.split('/').at(-1), source, version, 'workspace-count': 1, workspaces: 'a' };
      return { id: String(index), type: 'visibility-provider-version', attributes };
    });
    const pagination = { 'current-page': 1, 'next-page': null, 'total-pages': 1, 'total-count': data.length };
    return json({ data, meta: { pagination } });
  };
  const { place } = await registryProject({}, { faultHook });
  await place.configure((config) => {
    findTarget(config, 'acme').explorer = 'json';
  });
  return place;
}

test('versions are compared as versions: one may be listed twice, with a `v` or with build metadata, and no constraint is withdrawn', async () => {
  const versions = ['v5.84.0', '5.84.0', '6.2.0+build.7', '6.3.0-rc1', '7.0.0'].map((version) => ({ version }));
  const used = ['5.84.0', 'v6.2.0', '6.3.0', '~>5.0', 'v7'].map((version) => `${AWS} ${version}`);
  const place = await projectUsing(() => used, { [LIST]: json({ versions }) });
  await pullAt(place, '01T02:15:00', SOURCES);
  const rows = await releases(place, AWS);
  expect(rows.map(({ version, unlisted }) => [version, unlisted]).sort()).toEqual([
    ['5.84.0', false],
    ['6.3.0', true],
    ['6.3.0-rc1', false],
    ['v6.2.0', false],
    ['v7', false],
    ['~>5.0', null],
  ]);
});

test('releases of what is not in use any more go with it, and are no mass loss', async () => {
  let used = [`${AWS} 6.2.0`, `${KUBERNETES} 2.9.0`, `${KUBERNETES} 2.35.1`, 'app.terraform.io/acme/aws 0.1.0'];
  const place = await projectUsing(() => used);
  await pullAt(place, '01T02:15:00', SOURCES);
  expect((await releases(place, AWS)).length).toBeGreaterThan(500);
  used = used.slice(1);
  const { pulls } = await pullAt(place, '02T02:15:00', SOURCES);
  expect(pulls.find(({ source }) => source === 'registry_releases')).toMatchObject({ status: 'complete' });
  expect([(await releases(place, AWS)).length, (await releases(place, KUBERNETES)).length > 0]).toEqual([0, true]);
});

test('a list that lost most of its versions is a mass loss', async () => {
  const answers: Record<string, Response> = {};
  const place = await projectUsing(() => [`${AWS} 6.2.0`], answers);
  await pullAt(place, '01T02:15:00', SOURCES);
  answers[LIST] = json({ versions: [{ version: '6.2.0' }] });
  const { pulls } = await pullAt(place, '02T02:15:00', [...SOURCES, '--fresh'], 1);
  expect(pulls.find(({ source }) => source === 'registry_releases')).toMatchObject({ status: 'quarantined' });
  expect((await releases(place, AWS)).length).toBeGreaterThan(500);
});

test.each([
  ['says that it does not have them', NOT_FOUND],
  ['answers with a page', PAGE],
  ['does not know the method', text(405, 'Method Not Allowed')],
  ['has not implemented it', text(501, 'Not Implemented')],
])('a mirror that %s has no dates, which is noted', async (_, answer) => {
  const faultHook: FaultHook = ({ path }, { kind }) =>
    kind === 'registry' && /^\/v2\/|terraform\.json$/u.test(path) ? answer : undefined;
  const { place } = await registryProject({}, { faultHook });
  const { pulls } = await pullAt(place, '01T02:15:00', SOURCES);
  expect(pulls.find(({ source }) => source === 'registry_releases')).toMatchObject({
    status: 'complete',
    note: expect.stringMatching(/tells no dates and warnings of \d+ providers/u),
  });
  expect((await releases(place, AWS)).every(({ published_at }) => published_at === null)).toBe(true);
});

test('a registry without discovery has its lists at the usual paths, and one with other paths at those', async () => {
  const { place, answers } = await registryProject({ 'terraform.json': PAGE });
  await pullAt(place, '01T02:15:00', SOURCES);
  await expectTable(place, 'registry_releases', 'spec');
  answers['terraform.json'] = json({ 'providers.v1': '/api/registry/v1/providers/', 'modules.v1': '/mods' });
  const first = asked(place).length;
  await pullAt(place, '02T02:15:00', [...REGISTRY, '--fresh'], 3); // the sandbox has nothing there
  const paths = asked(place)
    .slice(first)
    .map(({ path }) => path);
  expect(
    paths
      .filter((path) => path.endsWith('/versions'))
      .every((path) => /^\/(?:api\/registry\/v1\/providers|mods)\//u.test(path)),
  ).toBe(true);
});

test('a registry that names a path of slashes keeps nobody waiting, and is quoted in short', async () => {
  const { place, answers } = await registryProject();
  await pullAt(place, '01T02:15:00', SOURCES);
  answers['terraform.json'] = json({ 'providers.v1': `${'/'.repeat(200_000)}x` });
  const start = performance.now();
  const { pulls } = await pullAt(place, '02T02:15:00', [...REGISTRY, '--fresh'], 3);
  const [{ error = '' } = {}] = pulls as readonly { error?: string }[];
  expect([error.includes('another address for providers.v1: /////'), error.length < 500]).toEqual([true, true]);
  expect(performance.now() - start).toBeLessThan(30_000);
});

test('only sources with a full address of the host are asked for', async () => {
  const server = await startServer((request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify(
        request.url?.startsWith('/v2/') ? { data: {}, included: [] } : { versions: [{ version: '1.0.0' }] },
      ),
    );
  });
  const { place } = await registryProject();
  await place.configure((config) => {
    const registry = findTarget(config, 'registry');
    registry.url = server.origin;
    registry.host = 'app.terraform.io';
  });
  const explorer = ['--source', 'providers', '--source', 'modules'];
  await pullAt(place, '01T02:15:00', explorer);
  const { pulls } = await pullAt(place, '02T02:15:00', REGISTRY);
  await server.close();
  expect(pulls).toMatchObject([{ status: 'complete', note: null }]);
  const own = await place.rows("select distinct source from providers where starts_with(source, 'app.terraform.io/')");
  expect(own.length).toBeGreaterThan(0);
  expect(await place.rows('select distinct source from registry_releases')).toEqual(own);
});

test('dates of an answer that has odd items are those of its versions, and hostile warnings stay text', async () => {
  const warning = `'"><script>alert(1)</script>\u001b[31m\n=cmd|' /C calc'!A0 {{summary}}`;
  const included = [
    null,
    { type: 'categories', attributes: { name: 'cloud' } },
    { attributes: null },
    { attributes: { version: 'v6.2.0', 'published-at': '2026-01-02T03:04:05Z' } },
    { attributes: { version: '6.3.0' } },
  ];
  const answers = {
    [LIST]: json({ versions: [{ version: '6.2.0' }, { version: '6.3.0' }] }),
    [DATES]: json({ data: { attributes: { warning } }, included }),
  };
  const place = await projectUsing(() => [`${AWS} 6.2.0`], answers);
  await pullAt(place, '01T02:15:00', SOURCES);
  expect(
    await place.rows(
      'select version, published_at, unlisted, warning from registry_releases where source = $source order by version',
      { source: AWS },
    ),
  ).toEqual([
    { version: '6.2.0', published_at: '2026-01-02T03:04:05Z', unlisted: false, warning },
    { version: '6.3.0', published_at: null, unlisted: false, warning },
  ]);
});

test('a short name is never asked for, and the pull says so', async () => {
  const place = await projectUsing(() => ['aws 5.84.0']);
  const { pulls } = await pullAt(place, '01T02:15:00', SOURCES);
  expect(pulls.find(({ source }) => source === 'registry_releases')).toMatchObject({
    note: expect.stringContaining('1 source in use without a full address'),
  });
  expect(asked(place).some(({ path }) => path.includes('/v1/providers/'))).toBe(false);
});

test('before anything is in use, the registry is not asked', async () => {
  const { place } = await registryProject();
  await pullAt(place, '01T02:15:00', REGISTRY);
  expect(asked(place)).toEqual([]);
});
