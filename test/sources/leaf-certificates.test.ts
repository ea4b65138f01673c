import { describe, expect, test } from 'vitest';
import type { FaultHook } from '../../sandbox/router.ts';
import { findTarget, testProject } from '../helpers/test-project.ts';
import { readRecorded } from '../recorded/recorded.ts';

const LEAF = '/v1/agent/connect/ca/leaf/';

interface Catalog {
  readonly flavor: 'spec' | 'hashicorp';
  readonly answer?: ReturnType<FaultHook>;
  /** @default true */
  readonly hasToken?: boolean;
}

/** A mesh whose target names one registered service and one that nobody registered. */
async function meshProject({ flavor, answer, hasToken = true }: Catalog) {
  const read: string[] = [];
  const project = await testProject({
    workspaces: 2,
    flavor,
    faultHook: ({ path }) => {
      if (path.startsWith(LEAF)) read.push(path.slice(LEAF.length));
      return path === '/v1/catalog/services' ? answer : undefined;
    },
  });
  await project.configure((config) => {
    const mesh = findTarget(config, 'consul');
    mesh.services = ['web', 'nobody'];
    config.targets = [mesh];
    if (!hasToken) delete mesh.token;
  });
  return { project, read };
}

/** Pulls. @returns the services whose leaf was read, and the pull */
async function readLeaves(catalog: Catalog, exit = 0) {
  const { project, read } = await meshProject(catalog);
  await project.pull(['--source', 'leaf_certificates'], exit);
  const [pull] = await project.rows('select status, note, error from pulls');
  return { read: read.sort(), status: pull?.status, note: pull?.note, error: pull?.error };
}

/** Consul names its backend since 1.10. */
const BACKEND = { 'X-Consul-Query-Backend': 'blocking-query' };

const services = (headers: Readonly<Record<string, string>>, names: readonly string[] = ['consul', 'web']) => ({
  status: 200,
  headers: { 'content-type': 'application/json', ...BACKEND, ...headers },
  body: JSON.stringify(Object.fromEntries(names.map((name) => [name, []]))),
});

const DENY = { 'X-Consul-Default-Acl-Policy': 'deny' };

test('the leaf of a service that the catalog does not know is not read, and so not minted', async () => {
  expect(await readLeaves({ flavor: 'hashicorp', answer: services(DENY) })).toEqual({
    read: ['web'],
    status: 'complete',
    error: null,
    note: 'service nobody is not in the catalog: its leaf is not read',
  });
});

const UNKNOWN: Readonly<Record<string, Catalog>> = {
  'that says the token does not see all of it': {
    flavor: 'hashicorp',
    answer: services({ 'X-Consul-Results-Filtered-By-ACLs': 'true' }, ['consul']),
  },
  'as Consul answers a token with the right to write services alone': {
    flavor: 'hashicorp',
    answer: readRecorded('consul/catalog-services-service-write-only'),
  },
  'as Consul answers without a token': {
    flavor: 'hashicorp',
    answer: readRecorded('consul/catalog-services-anonymous'),
    hasToken: false,
  },
  'without a token, of which a part may be hidden': {
    flavor: 'hashicorp',
    answer: services(DENY, ['consul']),
    hasToken: false,
  },
  'without the servers themselves': { flavor: 'hashicorp', answer: services({}, ['other']) },
  'that may not be read': {
    flavor: 'hashicorp',
    answer: { status: 403, headers: { 'content-type': 'text/plain' }, body: 'Permission denied' },
  },
};

describe.each(Object.entries(UNKNOWN))('a catalog %s', (_, catalog) => {
  test('proves nothing: no leaf is read, and the pull fails', async () => {
    const { read, status, error } = await readLeaves(catalog, 3);
    expect({ read, status }).toEqual({ read: [], status: 'failed' });
    expect(error).toMatch(/mesh.catalog.services at consul: .*forbidden/u);
  });

  test('fails the check of doctor', async () => {
    const { project, read } = await meshProject(catalog);
    const { exit, stdout } = await project.tidemark(['doctor']);
    expect(stdout).toMatch(/^FAIL +consul +leaf_certificates .*mesh.catalog.services/mu);
    expect({ exit, read }).toEqual({ exit: 1, read: [] });
  });
});

const FILTERED: Readonly<Record<string, Catalog>> = {
  'that says the token does not see all of it': {
    flavor: 'hashicorp',
    answer: services({ 'X-Consul-Results-Filtered-By-ACLs': 'true' }),
  },
  'without the servers themselves': { flavor: 'hashicorp', answer: services({}, ['web']) },
  'of a version that does not say what it leaves out': {
    flavor: 'hashicorp',
    answer: { ...services(DENY), headers: { 'content-type': 'application/json', ...DENY } },
  },
};

describe.each(Object.entries(FILTERED))('a catalog %s, with one of the services', (_, catalog) => {
  test('lets its leaf be read; the other one is an unknown part, and nothing is minted for it', async () => {
    const { project, read } = await meshProject(catalog);
    await project.pull(['--source', 'leaf_certificates'], 1);
    expect(read).toEqual(['web']);
    expect(await project.rows('select status, note from pulls')).toMatchObject([
      { status: 'partial', note: expect.stringMatching(/^service nobody is unknown: it is not shown/u) },
    ]);
    expect(await project.rows('select service from leaf_certificates')).toEqual([{ service: 'web' }]);
  });

  test('shows in doctor as partial', async () => {
    const { project, read } = await meshProject(catalog);
    const { stdout } = await project.tidemark(['doctor']);
    expect(stdout).toMatch(/consul +leaf_certificates +partial: service nobody is unknown/u);
    expect(read).toEqual([]);
  });
});

test('the row of a service that the catalog hides since stays as it is', async () => {
  let hides = false;
  const answer = services({ 'X-Consul-Results-Filtered-By-ACLs': 'true' });
  const project = await testProject({
    workspaces: 2,
    flavor: 'hashicorp',
    faultHook: ({ path }) => (hides && path === '/v1/catalog/services' ? answer : undefined),
  });
  await project.configure((config) => {
    const mesh = findTarget(config, 'consul');
    mesh.services = ['web', 'api'];
    config.targets = [mesh];
  });
  await project.pull(['--source', 'leaf_certificates']);
  const versions = "select * from leaf_certificates_history where service = 'api'";
  const before = await project.rows(versions);
  expect(before).toHaveLength(1);
  hides = true;
  await project.pull(['--source', 'leaf_certificates'], 1);
  expect(await project.rows(versions)).toEqual(before);
});

test('without a token and without ACLs, the catalog is whole', async () => {
  const answer = services({ 'X-Consul-Default-Acl-Policy': 'allow' });
  const { project, read } = await meshProject({ flavor: 'hashicorp', answer, hasToken: false });
  await project.tidemark(['pull', '--source', 'leaf_certificates']);
  expect(read).toEqual(['web']);
});

test('the API documents have no catalog: every leaf is read', async () => {
  expect(await readLeaves({ flavor: 'spec' })).toMatchObject({ read: ['nobody', 'web'], status: 'complete' });
});

test.each(['spec', 'hashicorp'] as const)('doctor mints no leaf of flavor %s', async (flavor) => {
  const { project, read } = await meshProject({ flavor });
  const { stdout } = await project.tidemark(['doctor']);
  expect(stdout).toMatch(/^ok +consul +leaf_certificates +permitted/mu);
  expect(read).toEqual([]);
});

test('doctor says that the token may not read the leaf of one of the services', async () => {
  const { project } = await meshProject({ flavor: 'hashicorp' });
  const rules =
    'service "web" { policy = "write" }\nservice_prefix "" { policy = "read" }\nnode_prefix "" { policy = "read" }';
  await project.configure((config) => {
    const mesh = findTarget(config, 'consul');
    mesh.services = ['web', 'api'];
    mesh.token = project.sandbox.createToken('mesh', { rules: { rules } });
  });
  const { stdout } = await project.tidemark(['doctor']);
  expect(stdout).toMatch(
    /consul +leaf_certificates +partial: service api is unknown: .*lacks permission 'service:write' on "api"/u,
  );
});

test('an answer without a root empties nothing', async () => {
  const empty = { status: 200, headers: { 'content-type': 'application/json' }, body: '{"Roots":[]}' };
  let isEmpty = false;
  const faultHook: FaultHook = ({ path }) => (isEmpty && path.endsWith('/ca/roots') ? empty : undefined);
  const project = await testProject({ workspaces: 2, flavor: 'hashicorp', faultHook });
  await project.pull(['--source', 'ca_roots']);
  const before = await project.rows('select count(*)::int as n from ca_roots');
  isEmpty = true;
  await project.pull(['--source', 'ca_roots'], 3);
  expect(await project.rows('select count(*)::int as n from ca_roots')).toEqual(before);
});
