import { expect, test } from 'vitest';
import { z } from 'zod';
import { type AbsenceEvidence, defineAction, definePlaybook, type Playbook, ready } from '../../src/act/define.ts';
import { builtInPlaybooks } from '../../src/act/playbooks/index.ts';
import { loadPlaybooks } from '../../src/act/registry.ts';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';

const place = { directory: PACKAGE_ROOT };

interface Overrides {
  readonly name?: string;
  readonly rule?: string;
  readonly table?: string;
  readonly operation?: string;
  readonly params?: Readonly<Record<string, string>>;
  readonly read?: string;
  readonly readParams?: Readonly<Record<string, string>>;
  readonly body?: boolean;
  readonly known?: AbsenceEvidence['known'];
}

function playbookWith(overrides: Overrides): Playbook {
  const inputs = z.object({ agent_id: z.string() });
  return definePlaybook({
    name: overrides.name ?? 'mine',
    rule: overrides.rule ?? 'dead-agent',
    description: 'is wrong',
    table: overrides.table ?? 'agents',
    detail: inputs,
    action: defineAction(inputs, {
      operation: overrides.operation ?? 'platform.agents.delete',
      params: overrides.params ?? { id: 'agent_id' },
      ...(overrides.body && { body: () => ({}) }),
      reads: {
        agent: {
          operation: overrides.read ?? 'platform.agents.show',
          params: overrides.readParams ?? { id: 'agent_id' },
          ...(overrides.known && { absence: { subject: 'agent_id', listIds: () => [], known: overrides.known } }),
        },
      },
      observe: () => null,
      evaluate: () => ready,
    }),
    summary: () => 'does something',
  });
}

const refusal = (overrides: Overrides) =>
  loadPlaybooks(place, [playbookWith(overrides)]).then(
    () => 'accepted',
    (error) => error.message,
  );

test('the playbooks of the package are valid', async () => {
  expect(await loadPlaybooks(place, builtInPlaybooks)).toBe(builtInPlaybooks);
});

test('a valid playbook is accepted', async () => {
  expect(await refusal({})).toBe('accepted');
});

test.each<[string, Overrides, string]>([
  ['unknown rule', { rule: 'dead-agents' }, 'playbook mine: rule: unknown: dead-agents; did you mean dead-agent?'],
  ['unknown table', { table: 'agent' }, 'playbook mine: table: unknown: agent; did you mean agents?'],
  ['bad name', { name: 'My Own' }, 'playbook My Own: name: must be lower-case words joined by `-`'],
  [
    'unknown operation',
    { operation: 'platform.agent.delete' },
    'playbook mine: actions[0].operation: unknown: platform.agent.delete; did you mean platform.agents.delete?',
  ],
  [
    'unknown parameter',
    { params: { id: 'agent_id', ids: 'agent_id' } },
    'playbook mine: actions[0].params.ids: is not a parameter of platform.agents.delete; did you mean id?',
  ],
  [
    'unknown input',
    { params: { id: 'agent' } },
    'playbook mine: actions[0].params.id: unknown input agent; known are agent_id',
  ],
  ['missing parameter', { params: {} }, 'playbook mine: actions[0].params: platform.agents.delete needs `id`'],
  [
    'action that changes nothing',
    { operation: 'platform.agents.show' },
    'playbook mine: actions[0].operation: platform.agents.show changes nothing',
  ],
  [
    'guard that changes something',
    { read: 'platform.agents.delete' },
    'playbook mine: actions[0].reads.agent.operation: platform.agents.delete changes something',
  ],
  [
    'guard of another kind of target',
    { read: 'secrets.keys.read', readParams: { name: 'agent_id' } },
    'playbook mine: actions[0].reads.agent.operation: belongs to another kind of target than platform.agents.delete',
  ],
  [
    'unknown column of an evidence',
    { known: { table: 'agents', column: 'agent_ids' } },
    'playbook mine: actions[0].reads.agent.absence.known.column: unknown: agent_ids; did you mean agent_id?',
  ],
  [
    'unknown column of the parent of an evidence',
    { known: { table: 'agents', column: 'agent_id', within: ['pool', 'agent_id'] } },
    'playbook mine: actions[0].reads.agent.absence.known.column: unknown: pool; did you mean pool_id?',
  ],
  [
    'body where none is accepted',
    { body: true },
    'playbook mine: actions[0].body: is not accepted by platform.agents.delete',
  ],
  [
    'body missing',
    { operation: 'platform.agent-pools.update' },
    'playbook mine: actions[0].body: is required by platform.agent-pools.update',
  ],
])('an invalid playbook is refused with its name and field: %s', async (_, overrides, message) => {
  expect(await refusal(overrides)).toBe(message);
});

test.each<[string, object]>([
  ['actions', { actions: [null] }],
  ['reads', { actions: [{ operation: 'platform.agents.delete', params: {} }] }],
  ['evidence', { actions: [{ ...playbookWith({}).actions[0], reads: { agent: { operation: 'x', absence: {} } } }] }],
])('a playbook without %s is refused', async (_, edit) => {
  const given = { ...playbookWith({}), ...edit } as Playbook;
  await expect(loadPlaybooks(place, [given])).rejects.toMatchObject({
    code: 'CONFIG',
    message: expect.stringMatching(/^playbook mine: is not what `definePlaybook` returns: Cannot /u),
  });
});

test('two playbooks of one name are refused, and all problems are reported at once', async () => {
  const invalid = playbookWith({ rule: 'no-such-thing-at-all' });
  await expect(loadPlaybooks(place, [invalid, invalid])).rejects.toMatchObject({
    code: 'CONFIG',
    message: expect.stringMatching(
      /^(playbook mine: rule: unknown: no-such-thing-at-all; known are .+)\nplaybook mine: name: is taken by another playbook\n\1$/u,
    ),
  });
});
