import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineAction, ready, satisfied } from '../../src/act/define.ts';
import { type Observed, verifyAbsence } from '../../src/act/observe-action.ts';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { openDatabase } from '../../src/warehouse/database.ts';
import { warehouseFiles } from '../../src/warehouse/publish.ts';
import { tempFolder } from '../helpers/temp.ts';

const isText = (value: unknown): readonly string[] => value as readonly string[];

const action = defineAction(z.object({ agent_id: z.string(), pool_id: z.string() }), {
  operation: 'platform.agents.delete',
  params: { id: 'agent_id' },
  reads: {
    agent: {
      operation: 'platform.agents.show',
      params: { id: 'agent_id' },
      absence: {
        list: { operation: 'platform.agents.list', params: { agent_pool_id: 'pool_id' }, allPages: true },
        listIds: isText,
        subject: 'agent_id',
        known: { table: 'agents', column: 'agent_id' },
      },
    },
  },
  observe: ({ agent }) => agent.found,
  evaluate: (found) => (found ? ready : satisfied('it is gone')),
});

const notFound = { found: false, failure: 'not-found', message: '' } as const;

/** An attempt on agent `a`, where the service lists these agents, and the warehouse knows those. */
async function attemptWith(list: readonly string[] | undefined, known: readonly string[], definition = action) {
  const data = await tempFolder();
  const database = await openDatabase(warehouseFiles(data).published);
  await database.run('create table agents as select $target as target, unnest($ids::varchar[]) as agent_id', {
    target: 'acme',
    ids: known,
  });
  database.close();
  const read: Observed['remote']['read'] = async (target, { name }, params, options) => {
    expect([target, name, params, options?.allPages]).toEqual([
      'acme',
      'platform.agents.list',
      { agent_pool_id: 'p' },
      true,
    ]);
    return list ? { found: true, value: list } : notFound;
  };
  return {
    definition,
    plan: { actions: [] },
    remote: { read },
    config: { data, directory: PACKAGE_ROOT, memoryLimit: '256MB' },
    action: { target: 'acme', guard: { reads: {}, inputs: { agent_id: 'a', pool_id: 'p' } } },
    ledger: { entries: new Map() },
  } as unknown as Observed;
}

test.each([
  ['the list has the other item that is known', ['b'], ['a', 'b'], undefined],
  ['the list has half of the others', ['b', 'c'], ['b', 'c', 'd', 'e'], undefined],
  ['the list has others, of which none was known before', ['x'], ['b', 'c'], /only 0 of 2 other items/u],
  ['the list has less than half of the others', ['b'], ['b', 'c', 'd'], /only 1 of 3 other items/u],
  ['the list is empty, and others are known', [], ['b'], /only 0 of 1 other items/u],
  ['the list is empty, and no other is known', [], ['a'], /no other item is known/u],
  ['the list has the subject', ['a', 'b'], ['a', 'b'], /answers "not found", and platform\.agents\.list contains it/u],
  ['the list is not found either', undefined, ['a', 'b'], /which proves nothing/u],
])('absence: %s', async (_, list, known, unproven) => {
  const check = await verifyAbsence({ agent: notFound }, await attemptWith(list, known));
  if (unproven === undefined) expect(check).toEqual({ isAbsent: true, unproven: undefined });
  else expect(check.unproven).toMatch(unproven);
});

test('without evidence, "not found" proves nothing', async () => {
  const { agent } = action.reads;
  const { absence: _, ...read } = agent!;
  const attempt = await attemptWith([], [], { ...action, reads: { agent: read } });
  const check = await verifyAbsence({ agent: notFound }, attempt);
  expect(check.unproven).toBe('platform.agents.show answers "not found", which proves nothing');
});
