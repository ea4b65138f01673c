import { expect, test } from 'vitest';
import { z } from 'zod';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { builtInPlaybooks } from '../../src/playbooks/index.ts';
import { defineAction } from '../../src/playbooks/step.ts';
import { ready } from '../../src/playbooks/verdict.ts';
import { type Playbook, simplePlaybook } from '../../src/remediation/define.ts';
import { loadPlaybooks } from '../../src/remediation/registry.ts';

const place = { directory: PACKAGE_ROOT };

interface Wrong {
  readonly name?: string;
  readonly rule?: string;
  readonly table?: string;
  readonly operation?: string;
  readonly params?: Readonly<Record<string, string>>;
  readonly read?: string;
  readonly readParams?: Readonly<Record<string, string>>;
  readonly body?: boolean;
}

function playbookWith(wrong: Wrong): Playbook {
  const facts = z.object({ agent_id: z.string() });
  return simplePlaybook({
    name: wrong.name ?? 'mine',
    rule: wrong.rule ?? 'dead-agent',
    description: 'is wrong',
    table: wrong.table ?? 'agents',
    detail: facts,
    step: defineAction(facts, {
      operation: wrong.operation ?? 'platform.agents.delete',
      params: wrong.params ?? { id: 'agent_id' },
      ...(wrong.body && { body: () => ({}) }),
      reads: {
        agent: { operation: wrong.read ?? 'platform.agents.show', params: wrong.readParams ?? { id: 'agent_id' } },
      },
      observe: () => null,
      evaluate: () => ready,
    }),
    summary: () => 'does something',
  });
}

const refusal = (wrong: Wrong) =>
  loadPlaybooks(place, [playbookWith(wrong)]).then(
    () => 'taken',
    (error) => error.message,
  );

test('the playbooks of the package are as they must be, and those of surface.md', async () => {
  expect(await loadPlaybooks(place)).toBe(builtInPlaybooks);
  expect(builtInPlaybooks.map(({ name, rule }) => [name, rule])).toEqual([
    ['reap-dead-agents', 'dead-agent'],
    ['remove-empty-pools', 'empty-agent-pool'],
    ['scope-unused-pools', 'unscoped-agent-pool'],
    ['pin-drift-view', 'drifted-workspace'],
    ['drop-dead-views', 'dead-saved-view'],
    ['rotate-old-keys', 'key-rotation-overdue'],
    ['retire-old-key-versions', 'old-key-version-enabled'],
    ['remove-retired-keys', 'retired-key'],
    ['remove-empty-providers', 'empty-kms-provider'],
    ['downgrade-management-roles', 'management-role'],
    ['trim-anonymous-policy', 'anonymous-write'],
    ['detach-lost-claims', 'lost-volume-claim'],
    ['deregister-missing-volumes', 'missing-external-volume'],
    ['adopt-orphaned-volumes', 'orphaned-external-volume'],
    ['snapshot-unprotected-volumes', 'unprotected-volume'],
    ['drop-stale-snapshots', 'stale-snapshot'],
  ]);
});

test('a right one is taken', async () => {
  expect(await refusal({})).toBe('taken');
});

test.each<[string, Wrong, string]>([
  [
    'unknown rule',
    { rule: 'dead-agents' },
    'src/playbooks/mine.ts: rule: unknown: dead-agents; did you mean `dead-agent`?',
  ],
  ['unknown table', { table: 'agent' }, 'src/playbooks/mine.ts: table: unknown: agent; did you mean `agents`?'],
  ['bad name', { name: 'My Own' }, 'src/playbooks/My Own.ts: name: must be lower-case words joined by `-`'],
  [
    'unknown operation',
    { operation: 'platform.agent.delete' },
    'src/playbooks/mine.ts: steps[0].operation: unknown: platform.agent.delete; did you mean `platform.agents.delete`?',
  ],
  [
    'unknown parameter',
    { params: { id: 'agent_id', ids: 'agent_id' } },
    'src/playbooks/mine.ts: steps[0].params.ids: is no parameter of platform.agents.delete; did you mean `id`?',
  ],
  [
    'unknown fact',
    { params: { id: 'agent' } },
    'src/playbooks/mine.ts: steps[0].params.id: unknown fact agent; known are agent_id',
  ],
  ['missing parameter', { params: {} }, 'src/playbooks/mine.ts: steps[0].params: platform.agents.delete needs `id`'],
  [
    'deed that changes nothing',
    { operation: 'platform.agents.show' },
    'src/playbooks/mine.ts: steps[0].operation: platform.agents.show changes nothing',
  ],
  [
    'guard that changes something',
    { read: 'platform.agents.delete' },
    'src/playbooks/mine.ts: steps[0].reads.agent.operation: platform.agents.delete changes something',
  ],
  [
    'guard of another service',
    { read: 'secrets.keys.read', readParams: { name: 'agent_id' } },
    'src/playbooks/mine.ts: steps[0].reads.agent.operation: asks another kind of target than platform.agents.delete',
  ],
  [
    'body where none is taken',
    { body: true },
    'src/playbooks/mine.ts: steps[0].body: platform.agents.delete takes none',
  ],
  [
    'body missing',
    { operation: 'platform.agent-pools.update' },
    'src/playbooks/mine.ts: steps[0].body: is required: platform.agent-pools.update takes one',
  ],
])('refused at start with file and field: %s', async (_, wrong, message) => {
  expect(await refusal(wrong)).toBe(message);
});

test('two of one name are refused, and all problems are told at once', async () => {
  const wrong = playbookWith({ rule: 'no-such-thing-at-all' });
  await expect(loadPlaybooks(place, [wrong, wrong])).rejects.toMatchObject({
    code: 'CONFIG',
    message: [
      'src/playbooks/mine.ts: rule: unknown: no-such-thing-at-all',
      'src/playbooks/mine.ts: name: is taken by another playbook',
      'src/playbooks/mine.ts: rule: unknown: no-such-thing-at-all',
    ].join('\n'),
  });
});
