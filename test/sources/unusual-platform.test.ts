import { describe, expect, test } from 'vitest';
import { testProject } from '../helpers/test-project.ts';
import { answering } from './answering.ts';

describe('what a pool does not list is unknown, and not gone:', () => {
  const POOLS = '/api/v2/organizations/acme/agent-pools';
  const workspaces = { data: [{ id: 'ws-1', type: 'workspaces' }] };
  const related = { workspaces, 'allowed-workspaces': workspaces, stacks: { data: [{ id: 'st-1', type: 'stacks' }] } };
  const listPools = (relationships: unknown, isScoped: boolean | 'false') => ({
    data: [
      {
        id: 'apool-1',
        attributes: { name: 'one', 'organization-scoped': isScoped === 'false' ? isScoped : !isScoped },
        relationships,
      },
      { id: 'apool-2', attributes: { name: 'two' }, relationships: { ...related, workspaces: { data: [] } } },
    ],
  });
  const all = ['allowed', 'attached', 'stacks'];

  test.each<[relationships: unknown, isScoped: boolean | 'false', left: readonly string[]]>([
    [undefined, false, all],
    [null, false, all],
    [{ ...related, workspaces: { links: { related: '/x' } } }, false, all],
    [{ ...related, workspaces: { data: null } }, false, all],
    [{ ...related, workspaces: { data: [{ id: 7 }] } }, false, all],
    [{ ...related, 'allowed-workspaces': {} }, true, all],
    [{ ...related, 'allowed-workspaces': {} }, 'false', all],
    [{ ...related, 'allowed-workspaces': {} }, false, ['attached', 'stacks']],
    [{ workspaces: { data: [] }, 'allowed-workspaces': { data: [] } }, true, []],
  ])('relationships %j, scoped %s', async (relationships, isScoped, left) => {
    const bodies: Record<string, unknown> = { [POOLS]: listPools(related, isScoped) };
    const place = await answering(bodies);
    await place.pull(['--source', 'agent_pools']);
    bodies[POOLS] = listPools(relationships, isScoped);
    await place.pull(['--source', 'agent_pools']);
    const read = (pool: string) =>
      place.rows(
        `select relation from agent_pool_workspaces where pool_id = $pool
        union all select relationship from agent_pool_relationships where pool_id = $pool order by 1`,
        { pool },
      );
    expect((await read('apool-1')).map(({ relation }) => relation)).toEqual(left);
    expect((await read('apool-2')).map(({ relation }) => relation)).toEqual(['allowed', 'stacks']);
    const unknown = left === all ? [{ value: 'apool-1' }] : [];
    expect(await place.rows('select value from unknown_parts')).toEqual(unknown);
  });
});

test('a pool whose agents are counted and not listed is unknown, and its agents are not gone', async () => {
  const agents: Record<string, unknown> = { data: [{ id: 'agent-1', attributes: { status: 'exited' } }] };
  const pool = { id: 'apool-1', attributes: { name: 'one', 'agent-count': 1 as number | string } };
  const place = await answering({
    '/api/v2/organizations/acme/agent-pools': { data: [pool] },
    '/api/v2/agent-pools/apool-1/agents': agents,
  });
  const read = async () => (await place.rows('select agent_id from agents')).map(({ agent_id }) => agent_id);
  await place.pull(['--source', 'agents']);
  agents.data = [];
  const { stderr } = await place.pull(['--source', 'agents', '--accept-shrink', 'agents'], 1);
  expect(stderr).toContain('pool apool-1 is unknown: the service counts 1 agent and lists none');
  expect(await read()).toEqual(['agent-1']);
  pool.attributes['agent-count'] = '1';
  await place.pull(['--source', 'agents', '--accept-shrink', 'agents'], 1);
  expect(await read()).toEqual(['agent-1']);
  pool.attributes['agent-count'] = 0;
  await place.pull(['--source', 'agents', '--accept-shrink', 'agents']);
  expect(await read()).toEqual([]);
});

test('a view whose results a gateway blocks fails the source, as a rejection of every view does; one whose query is rejected does not', async () => {
  let [status, body] = [200, '{"data":[{"id":"ws-1","type":"visibility-workspace","attributes":{}}]}'];
  let isRefused: (path: string) => boolean = () => true;
  const place = await testProject({
    workspaces: 2,
    faultHook: ({ path }) => (path.endsWith('/results') && isRefused(path) ? { status, body } : undefined),
  });
  await place.pull(['--source', 'saved_view_rows']);
  const before = await place.rows('select * from saved_view_rows order by all');
  [status, body] = [451, 'blocked'];
  const { stderr } = await place.pull(['--source', 'saved_view_rows'], 3);
  expect(stderr).toContain('451 invalid: blocked');
  status = 422;
  for (body of ['', 'blocked', '{"message":"blocked"}', '{"errors":[]}'])
    expect((await place.pull(['--source', 'saved_view_rows'], 3)).stderr).toContain('422 malformed');
  body = '{"errors":["no such field"]}';
  expect((await place.pull(['--source', 'saved_view_rows'], 3)).stderr).toContain('422 invalid: no such field');
  expect(await place.rows('select * from saved_view_rows order by all')).toEqual(before);
  const [view = {}] = before;
  isRefused = (path) => path.includes(`/${view.view_id}/`);
  await place.pull(['--source', 'saved_view_rows']);
  const failed = "select view_id, status from saved_view_results where error = 'no such field'";
  expect(await place.rows(failed)).toEqual([{ view_id: view.view_id, status: 'failed' }]);
});

test('a pool whose relations have another form is unknown, and the others are loaded', async () => {
  const pool = (id: string, relationships: unknown) => ({ id, attributes: { name: id }, relationships });
  const workspaces = { data: [{ id: 'ws-1', type: 'workspaces' }] };
  const place = await answering({
    '/api/v2/organizations/acme/agent-pools': {
      data: [pool('apool-1', []), pool('apool-2', { workspaces: [] }), pool('apool-3', { workspaces })],
    },
  });
  await place.pull(['--source', 'agent_pools']);
  expect(await place.rows('select pool_id, workspace_id from agent_pool_workspaces')).toEqual([
    { pool_id: 'apool-3', workspace_id: 'ws-1' },
  ]);
  const unknown = `select value from unknown_parts where source = 'agent_pools' order by 1`;
  expect((await place.rows(unknown)).map(({ value }) => value)).toEqual(['apool-1', 'apool-2']);
});

test('a relation of a pool counts as one resource only where that has an ID', async () => {
  const pool = (id: string, data: unknown) => ({ id, attributes: { name: id }, relationships: { stacks: { data } } });
  const place = await answering({
    '/api/v2/organizations/acme/agent-pools': {
      data: [
        pool('apool-1', { id: 'st-1', type: 'stacks' }),
        pool('apool-2', { value: [] }),
        pool('apool-3', []),
        pool('apool-4', [[], { id: null }]),
        pool('apool-5', [{ id: 'st-1' }, { id: 'st-2' }]),
      ],
    },
  });
  await place.pull(['--source', 'agent_pools']);
  const counts = await place.rows("select relationships ->> 'stacks' as stacks from agent_pools order by pool_id");
  expect(counts.map(({ stacks }) => stacks)).toEqual(['1', null, '0', null, '2']);
});
