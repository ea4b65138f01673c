import { describe, expect, onTestFinished, test } from 'vitest';
import { parseClaims } from '../../src/act/playbooks/lib/csi.ts';
import { findOtherForm, isSameQuery, otherQueryParts, parseSavedQuery } from '../../src/act/playbooks/lib/platform.ts';
import { explainOtherKey, parseKey } from '../../src/act/playbooks/lib/secrets.ts';
import { reapDeadAgents } from '../../src/act/playbooks/reap-dead-agents.ts';

describe('a saved query', () => {
  const flat = {
    attributes: {
      'query-type': 'workspaces',
      query: {
        type: 'workspaces',
        filter: [{ field: 'resources_drifted', operator: 'does not contain', value: ['a-b'] }],
        fields: ['workspace_name'],
        sort: ['-resources_drifted'],
      },
    },
  };
  const live = {
    attributes: {
      'query-type': 'workspaces',
      query: {
        filter: [{ 'resources-drifted': { does_not_contain: ['a-b'] } }],
        fields: { workspaces: ['workspace-name'] },
        sort: ['-resources-drifted'],
      },
    },
  };

  test('is the same in the form of the documents and of the real product', () => {
    expect(parseSavedQuery(live)).toEqual(parseSavedQuery(flat));
    expect(isSameQuery(parseSavedQuery(live), parseSavedQuery(flat))).toBe(true);
  });

  test.each([
    ['filter', { filter: [] }],
    ['value', { filter: [{ field: 'resources_drifted', operator: 'does not contain', value: ['a_b'] }] }],
    ['fields', { fields: [] }],
    ['sort', { sort: ['resources_drifted'] }],
  ])('differs by its %s', (_, part) => {
    const other = { attributes: { ...flat.attributes, query: { ...flat.attributes.query, ...part } } };
    expect(isSameQuery(parseSavedQuery(other), parseSavedQuery(flat))).toBe(false);
  });
});

describe('a part of a saved query in a form that is not known', () => {
  const parse = (part: object) => {
    const view = { attributes: { 'query-type': 'workspaces', query: { type: 'workspaces', ...part } } };
    return { ...parseSavedQuery(view), ...otherQueryParts(view) };
  };
  const known = { field: 'drifted', operator: 'is', value: ['true'] };

  test.each([
    ['filter', [known, { or: [{ drifted: { is: ['true'] } }] }]],
    ['filter', [{ drifted: { is: [{ not: 'true' }] } }]],
    ['filter', [{ ...known, negated: true }]],
    ['filter', [{ field: 'drifted' }]],
    ['filter', ['drifted']],
    ['filter', { drifted: { is: ['true'] } }],
    ['fields', { workspaces: ['workspace_name'], modules: ['name'] }],
    ['fields', [{ name: 'workspace_name' }]],
    ['sort', '-workspace_name'],
  ])('is kept as it is: %s %j', (name, part) => {
    const others = { [name]: part };
    expect(parse(others)).toEqual({ type: 'workspaces', filter: [], fields: [], sort: [], others });
    expect(findOtherForm(others)).toBe(name);
  });

  test('is none where it is known, null or absent', () => {
    const fields = { workspaces: ['workspace-name'] };
    const filter = [known, { drifted: { is: 'true', is_empty: null }, tags: { is_not: [] } }];
    expect(parse({ filter, fields, sort: null })).not.toHaveProperty('others');
    expect(parse({})).toEqual({ type: 'workspaces', filter: [], fields: [], sort: [] });
    expect([parse({ grouping: 'x' }).others, findOtherForm({ grouping: 'x' })]).toEqual([{ grouping: 'x' }, undefined]);
  });
});

describe('the claims of a volume', () => {
  const ended = { ID: 'a', NodeID: 'n', ClientStatus: 'lost' };

  test('are described by the list or by the maps, or not at all', () => {
    const volume = {
      Allocations: [ended],
      ReadAllocs: { a: null, forgotten: null },
      WriteAllocs: { b: { ID: 'b', NodeID: 'm', ClientStatus: 'running' } },
    };
    const claims = parseClaims(volume);
    expect(claims).toEqual([
      { allocation_id: 'a', node_id: 'n', client_status: 'lost' },
      { allocation_id: 'forgotten', node_id: null, client_status: null },
      { allocation_id: 'b', node_id: 'm', client_status: 'running' },
    ]);
  });

  test('of an allocation that is described twice, and not the same, or as another one, are as unknown as those of a forgotten one', () => {
    const running = { ...ended, ClientStatus: 'running' };
    const unknown = { allocation_id: 'a', node_id: null, client_status: null };
    const listed = (...Allocations: readonly object[]) =>
      parseClaims({ Allocations, ReadAllocs: {}, WriteAllocs: { a: null } });
    expect(listed(running, ended)).toEqual([unknown]);
    expect(listed(ended, { ...ended })).toEqual([{ ...unknown, node_id: 'n', client_status: 'lost' }]);
    expect(parseClaims({ ReadAllocs: { a: running }, WriteAllocs: { a: ended } })).toEqual([unknown]);
    expect(parseClaims({ ReadAllocs: { a: { ...ended, ID: 'b' } }, WriteAllocs: null })).toEqual([unknown]);
  });

  test('are an empty list where the maps are empty, and null where one is missing', () => {
    expect(parseClaims({ Allocations: [ended], ReadAllocs: {}, WriteAllocs: null })).toEqual([]);
    expect(parseClaims({ Allocations: [ended] })).toBeNull();
    expect(parseClaims({ Allocations: [ended], ReadAllocs: {} })).toBeNull();
    expect(parseClaims(undefined)).toBeNull();
  });
});

test.each([
  ['none, where the plan has one', null, 'unknown'],
  ['the planned one', '2026-11-20T02:15:00Z', 'ready'],
  ['a later one', '2026-11-20T02:15:01Z', 'drifted'],
  ['one that is no time', 'just now', 'drifted'],
])('an agent with the last ping %s', (_, lastPing, state) => {
  const [remove] = reapDeadAgents.actions;
  const planned = { agent_id: 'a', pool_id: 'p', last_ping_at: '2026-11-20T02:15:00Z' };
  expect(remove?.evaluate({ status: 'unknown', last_ping_at: lastPing }, planned).state).toBe(state);
});

test('an agent that pinged after the plan, by a time without an offset, is kept: it is read as UTC, wherever this machine is', () => {
  const { TZ } = process.env;
  process.env.TZ = 'Asia/Tokyo';
  onTestFinished(() => {
    if (TZ === undefined) delete process.env.TZ;
    else process.env.TZ = TZ;
  });
  const [remove] = reapDeadAgents.actions;
  const planned = { agent_id: 'a', pool_id: 'p', last_ping_at: '2026-11-20T02:15:00Z' };
  const judge = (time: string) => {
    const attributes = { status: 'unknown', 'last-ping-at': time };
    return remove?.evaluate(
      remove.observe({ agent: { found: true, value: { data: { attributes } } } }, planned),
      planned,
    );
  };
  expect(judge('2026-11-20T02:15:00')).toEqual({ state: 'ready' });
  expect(judge('2026-11-20T08:15:00')).toMatchObject({ state: 'drifted' });
  expect(judge('later')).toEqual({ state: 'drifted', reason: 'it pinged at later' });
  expect(judge('2026/11/20 08:15:00')).toMatchObject({ state: 'drifted' });
});

test.each([
  ['another form of the same time', '2026-10-01T02:15:00+02:00', '2026-10-01T00:15:00Z', undefined],
  ['a later time', '2026-10-01T02:15:00Z', '2026-11-01T02:15:00Z', 'drifted'],
  ['what cannot be read, and may be a later one', '2026-10-01T2:15:00Z', '2026-11-01T2:15:00Z', 'drifted'],
  ['what cannot be read, and is the same', '2026-10-01T2:15:00Z', '2026-10-01T2:15:00Z', undefined],
  ['none', '2026-10-01T02:15:00Z', undefined, 'unknown'],
])('the newest version of a key was created at %s', (_, planned, now, state) => {
  const read = (time?: string) => {
    const data = { latest_version: 1, versions: { 1: { creation_time: time } } };
    return parseKey({ found: true, value: { data } }).rotated_at;
  };
  expect(explainOtherKey(read(planned), read(now))?.state).toBe(state);
});
