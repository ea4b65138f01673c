import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineAction, ready, satisfied } from '../../src/act/define.ts';
import { type EvidenceSources, verifyAbsence } from '../../src/act/observe-action.ts';

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

const guard = { reads: {}, inputs: { agent_id: 'a', pool_id: 'p' } };
const notFound = { found: false, failure: 'not-found', message: '' } as const;

function verify(list: readonly string[] | undefined, known: readonly string[]) {
  const sources: EvidenceSources = {
    readList: async (operation, params, allPages) => {
      expect([operation, params, allPages]).toEqual(['platform.agents.list', { agent_pool_id: 'p' }, true]);
      return list ? { found: true, value: list } : notFound;
    },
    knownIds: async () => known,
  };
  return verifyAbsence({ agent: notFound }, { guard }, action, sources);
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
  const check = await verify(list, known);
  if (unproven === undefined) expect(check).toEqual({ isAbsent: true, unproven: undefined });
  else expect(check.unproven).toMatch(unproven);
});

test('without evidence, "not found" proves nothing', async () => {
  const { agent } = action.reads;
  const { absence: _, ...read } = agent!;
  const sources: EvidenceSources = { readList: () => Promise.reject(new Error()), knownIds: async () => [] };
  const check = await verifyAbsence({ agent: notFound }, { guard }, { ...action, reads: { agent: read } }, sources);
  expect(check.unproven).toBe('platform.agents.show answers "not found", which proves nothing');
});
