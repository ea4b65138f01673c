import { expect, test } from 'vitest';
import { testProject } from '../helpers/test-project.ts';
import { answering } from './answering.ts';

test('a volume without a namespace is loaded', async () => {
  const claim = { ID: 'al-1', NodeID: 'node-1' };
  const place = await answering({
    '/v1/volumes': [{ ID: 'v1' }, { ID: 'v2', Namespace: '' }],
    '/v1/volume/csi/v1': { ID: 'v1', ReadAllocs: null, WriteAllocs: { 'al-1': claim } },
    '/v1/volume/csi/v2': { ID: 'v2', Namespace: '', ReadAllocs: {}, WriteAllocs: {} },
  });
  await place.pull(['--source', 'volumes']);
  await place.pull(['--source', 'volumes']);
  expect(await place.rows('select volume_id, namespace from volumes_history order by 1')).toEqual([
    { volume_id: 'v1', namespace: null },
    { volume_id: 'v2', namespace: null },
  ]);
  expect(await place.rows('select allocation_id, mode, node_id, namespace from volume_allocations')).toEqual([
    { allocation_id: 'al-1', mode: 'write', node_id: 'node-1', namespace: null },
  ]);
});

test('a volume whose ID no path can have is loaded as it is listed, and the others are read', async () => {
  const place = await answering({
    '/v1/volumes': [{ ID: '..', Name: 'odd' }, { ID: 'v1' }],
    '/v1/volume/csi/v1': { ID: 'v1', Version: '7', ReadAllocs: {}, WriteAllocs: {} },
  });
  await place.pull(['--source', 'volumes']);
  expect(await place.rows('select volume_id, name, provider_version from volumes order by 1')).toEqual([
    { volume_id: '..', name: 'odd', provider_version: null },
    { volume_id: 'v1', name: null, provider_version: '7' },
  ]);
  expect(await place.rows("select note from pulls where source = 'volumes'")).toEqual([
    { note: '1 volume not read, first ..: no path can have such an ID' },
  ]);
});

test('if a plugin no longer exists, the volumes of other plugins are loaded and its own are unknown', async () => {
  const place = await testProject({
    workspaces: 2,
    faultHook: ({ path, query }, service) =>
      path === '/v1/volumes/external' && query.get('plugin_id') === 'gone'
        ? service.error(500, 'no such plugin')
        : undefined,
  });
  const { volumes } = place.sandbox.services.scheduler.state;
  const [first] = volumes;
  volumes.set(first![0], { ...first![1], pluginId: 'gone' });
  await place.pull(['--source', 'external_volumes'], 1);
  expect(await place.rows("select supported, error from external_volume_listings where plugin_id = 'gone'")).toEqual([
    { supported: null, error: 'no such plugin' },
  ]);
  expect((await place.rows('from external_volumes')).length).toBeGreaterThan(0);
});

test('rules that are no text grant what is not known, not nothing', async () => {
  const place = await answering({
    '/v1/acl/policies': [{ Name: 'anonymous' }, { Name: 'empty' }],
    '/v1/acl/policy/anonymous': { Name: 'anonymous', Rules: { namespace: [{ default: [{ policy: 'write' }] }] } },
    '/v1/acl/policy/empty': { Name: 'empty', Rules: '' },
  });
  await place.pull(['--source', 'acl_policies']);
  expect(await place.rows('select name, grants from acl_policies order by 1')).toEqual([
    { name: 'anonymous', grants: null },
    { name: 'empty', grants: [] },
  ]);
});

test('a policy may have a field twice; what is no column is kept as it is', async () => {
  const place = await answering({
    '/v1/acl/policies': [{ Name: 'twice' }],
    '/v1/acl/policy/twice':
      '{"Name":"twice","Rules":"","JobACL":null,"Hash":"h","Hash":"h","a\\"b":{"c":[1,null]},"None":null}',
  });
  await place.pull(['--source', 'acl_policies']);
  expect(await place.rows('select job_acl::varchar as job_acl, extra::varchar as extra from acl_policies')).toEqual([
    { job_acl: null, extra: '{"Hash":"h","Hash":"h","a\\"b":{"c":[1,null]},"None":null}' },
  ]);
});

test('a volume that two pages of a list have counts once', async () => {
  const [first, second, third] = ['v1', 'v2', 'v3'].map((ID) => ({ ID, Namespace: 'default', PluginID: 'ab' }));
  const place = await testProject({
    workspaces: 2,
    faultHook: ({ path, query }) => {
      const json = (body: unknown, headers = {}) => ({ status: 200, headers, body: JSON.stringify(body) });
      const [, id] = /^\/v1\/volume\/csi\/(.*)$/u.exec(path) ?? [];
      if (id !== undefined) return json({ ID: id, Namespace: 'default', ReadAllocs: {}, WriteAllocs: {} });
      if (path !== '/v1/volumes') return undefined;
      return query.has('next_token') ? json([second, third]) : json([first, second], { 'x-nomad-nexttoken': 'v2' });
    },
  });
  await place.pull(['--source', 'volumes']);
  expect(await place.rows('select volume_id as id from volumes order by 1')).toEqual(
    ['v1', 'v2', 'v3'].map((id) => ({ id })),
  );
});

test('a metric without labels, which are null in one sample and empty in another, is one row', async () => {
  const place = await answering({
    '/v1/metrics': {
      Gauges: [
        { Name: 'g', Value: 1, Labels: null },
        { Name: 'g', Value: 1, Labels: {} },
        { Name: 'g', Value: 2, Labels: { a: 'b' } },
        { Name: 'h', Value: '3' },
        { Name: 'i', Value: '' },
      ],
    },
  });
  await place.pull(['--source', 'autoscaler_metrics']);
  expect(await place.rows('select name, labels, value from autoscaler_metrics order by name, value')).toEqual([
    { name: 'g', labels: null, value: 1 },
    { name: 'g', labels: { a: 'b' }, value: 2 },
    { name: 'h', labels: null, value: 3 },
    { name: 'i', labels: null, value: null },
  ]);
});
