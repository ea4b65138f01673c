import { expect, test } from 'vitest';
import type { FaultHook } from '../../sandbox/router.ts';
import { findTarget, testProject } from '../helpers/test-project.ts';

const LEAF = '/v1/agent/connect/ca/leaf/';

/** A mesh whose target names one registered service and one that nobody registered. @returns the services whose leaf was read */
async function readLeaves(catalog: { readonly flavor: 'spec' | 'hashicorp'; readonly answer?: ReturnType<FaultHook> }) {
  const read: string[] = [];
  const project = await testProject({
    workspaces: 2,
    flavor: catalog.flavor,
    faultHook: ({ path }) => {
      if (path.startsWith(LEAF)) read.push(path.slice(LEAF.length));
      return path === '/v1/catalog/services' ? catalog.answer : undefined;
    },
  });
  await project.configure((config) => {
    findTarget(config, 'consul').services = ['web', 'nobody'];
  });
  await project.pull(['--source', 'leaf_certificates']);
  const [pull] = await project.rows('select note from pulls');
  return { read: read.sort(), note: pull?.note };
}

const services = (headers: Readonly<Record<string, string>>) => ({
  status: 200,
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify({ consul: [], web: ['v1'] }),
});

test('the leaf of a service that the catalog does not know is not read, and so not minted', async () => {
  expect(await readLeaves({ flavor: 'hashicorp', answer: services({}) })).toEqual({
    read: ['web'],
    note: 'service nobody is not in the catalog: its leaf is not read',
  });
});

test('a catalog that the token does not see whole proves nothing', async () => {
  const answer = services({ 'X-Consul-Results-Filtered-By-ACLs': 'true' });
  expect(await readLeaves({ flavor: 'hashicorp', answer })).toEqual({ read: ['nobody', 'web'], note: null });
});

test('a catalog that may not be read proves nothing', async () => {
  const answer = { status: 403, headers: { 'content-type': 'text/plain' }, body: 'Permission denied' };
  expect(await readLeaves({ flavor: 'hashicorp', answer })).toEqual({ read: ['nobody', 'web'], note: null });
});

test('the API documents have no catalog: every leaf is read', async () => {
  expect(await readLeaves({ flavor: 'spec' })).toEqual({ read: ['nobody', 'web'], note: null });
});
