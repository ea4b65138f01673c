import { expect, test } from 'vitest';
import { describeToken } from '../../src/services/describe-token.ts';
import { createTarget, createTestClient, startServer } from '../helpers/http-service.ts';
import { cleanAtEnd } from '../helpers/temp.ts';
import { findTarget, testProject } from '../helpers/test-project.ts';
import { readRecorded } from '../recorded/recorded.ts';

const atEnd = cleanAtEnd();
const LISTS = ['/v1/volumes/external', '/v1/volumes/snapshot'];
const SOURCES = ['--source', 'external_volumes', '--source', 'volume_snapshots'];

/** A scheduler that lists what plugins have to requests with this namespace only, as Nomad does for a token of one namespace. */
function limitedTo(namespace: string) {
  const refused = readRecorded('nomad-faults/external-namespaced-token');
  return testProject({
    workspaces: 2,
    flavor: 'hashicorp',
    faultHook: ({ path, query }, service) =>
      LISTS.includes(path) && (query.get('namespace') ?? 'default') !== namespace
        ? service.error(refused.status, refused.body)
        : undefined,
  });
}

test('external volumes and snapshots are listed in the namespace of the target', async () => {
  const project = await limitedTo('prod');
  await project.configure((config) => {
    findTarget(config, 'nomad').namespace = 'prod';
  });
  await project.pull(SOURCES);
  expect(await project.rows("select distinct status from pulls where target = 'nomad'")).toEqual([
    { status: 'complete' },
  ]);
});

test('every plugin of a target of every namespace is listed in a namespace of the volumes where `default` is refused', async () => {
  const project = await limitedTo('prod');
  await project.configure((config) => {
    findTarget(config, 'nomad').namespace = '*';
  });
  const { plugins } = project.sandbox.services.scheduler.state;
  plugins.set('idle', { ...[...plugins.values()][0]!, id: 'idle' }); // no volume of it is registered
  await project.pull(SOURCES);
  const idle = await project.rows("select supported from external_volume_listings where plugin_id = 'idle'");
  expect(idle).toEqual([{ supported: true }]);
});

test('volumes of a namespace that the token may no longer list stay, and are unknown', async () => {
  let isRefused = true;
  const project = await testProject({
    workspaces: 2,
    flavor: 'hashicorp',
    faultHook: ({ path, query }, service) =>
      isRefused && path === '/v1/volumes' && query.get('namespace') === 'prod'
        ? service.error(403, 'Permission denied')
        : undefined,
  });
  await project.configure((config) => {
    findTarget(config, 'nomad').namespace = '*';
  });
  const pull = (exit: number) => project.pull(['--source', 'volumes'], exit);
  const count = async () =>
    (await project.rows("select count(*)::int as n from volumes where namespace = 'prod'"))[0]?.n;
  await pull(0);
  const before = await count();
  const { volumes } = project.sandbox.services.scheduler.state;
  for (const [key, { namespace }] of volumes) if (namespace === 'prod') volumes.delete(key);
  expect((await pull(1)).stdout).toContain('namespace prod is unknown: Permission denied');
  expect([before, await count()]).toEqual([before, before]);
  isRefused = false;
  await project.pull(['--source', 'volumes', '--accept-shrink', 'volumes']);
  expect(await count()).toBe(0);
});

/** What a token is, at a server that answers to the question with a recorded answer. */
async function describeAt(name: string) {
  const { status, body } = readRecorded(`nomad-faults/${name}`);
  const server = await startServer((_request, response) => response.writeHead(status).end(body));
  atEnd(server.close);
  const target = createTarget('scheduler', server.origin, { flavor: 'hashicorp' });
  return describeToken(createTestClient(target).client);
}

test('a Nomad without ACLs is no restricted token', async () => {
  expect(await describeAt('noacl-v1-acl-token-self')).toMatchObject({ type: 'acl-disabled', is_management: null });
});

test('a token that has expired is not valid', async () => {
  await expect(describeAt('token-self-expired')).rejects.toMatchObject({ failure: 'unauthorized', status: 500 });
});
