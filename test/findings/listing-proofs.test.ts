import { beforeAll, describe, expect, test } from 'vitest';
import { seesEveryNamespace } from '../../src/services/scheduler/acl-rules.ts';
import type { AssessedTarget } from '../../src/tell/findings/evaluate.ts';
import { createFindingsWarehouse, type FindingsWarehouse, type Rows } from '../helpers/findings-warehouse.ts';
import { cleanAtEnd } from '../helpers/temp.ts';

const NOW = '2026-11-20T02:15:00.000Z';
const SPEC: AssessedTarget = { name: 'nomad', kind: 'scheduler', flavor: 'spec' };
const PRODUCT: AssessedTarget = { name: 'nomad', kind: 'scheduler', flavor: 'hashicorp', namespace: '*' };

const READ_ALL = 'namespace "*" {\n  # read\n  capabilities = ["csi-list-volume", "csi-read-volume"]\n}';
const management: Rows = [{ type: 'management', is_management: true }];
const client = (rules: Readonly<Record<string, string | null>> | null): Rows => [
  {
    type: 'client',
    is_management: false,
    rights: rules && JSON.stringify(rules),
    sees_every_namespace: rules && (seesEveryNamespace(Object.values(rules)) ?? null),
  },
];

const reason = async ({ database }: FindingsWarehouse, rule: string, target: string) => {
  const rows = await database.rows(
    'select reason from unassessed_rules where rule = $rule and target = $target and ended_at is null',
    { rule, target },
  );
  return rows[0]?.reason ?? null;
};

type Tokens = Rows | 'failed' | undefined;

const pullTokens = async (warehouse: FindingsWarehouse, target: string, tokens: Tokens, at = NOW) => {
  if (tokens === 'failed') await warehouse.fail(at, target, 'tokens');
  else if (tokens) await warehouse.pull(at, target, 'tokens', { tokens });
};

/** What a case assumes of a target, and why the rule is then not assessed; null where it is. */
type Case = readonly [name: string, target: AssessedTarget, tokens: Tokens, expected: string | null];

/** One evaluation of all cases, each with a target of its own. `pull` adds what the rule reads. */
function evaluateCases(
  cases: readonly Case[],
  pull: (warehouse: FindingsWarehouse, target: string) => Promise<void>,
): { readonly warehouse: FindingsWarehouse } {
  const atEnd = cleanAtEnd();
  let warehouse: FindingsWarehouse;
  beforeAll(async () => {
    warehouse = await createFindingsWarehouse({ cleanup: atEnd });
    for (const [name, , tokens] of cases) {
      await pullTokens(warehouse, name, tokens);
      await pull(warehouse, name);
    }
    await warehouse.evaluate(NOW, { targets: cases.map(([name, target]) => ({ ...target, name })) });
  });
  return {
    get warehouse() {
      return warehouse;
    },
  };
}

const OWN = 'sees only its own policies';

describe('anonymous-write where the policy is not listed', () => {
  const cases: readonly Case[] = [
    ['is unknown without knowledge of the token', SPEC, undefined, OWN],
    ['is clean where the target declares to see all', { ...SPEC, sees: 'all' }, undefined, null],
    ['is clean where it declares so of the policies', { ...SPEC, sees: { acl_policies: 'all' } }, undefined, null],
    ['is unknown where it declares so of other sources', { ...SPEC, sees: { volumes: 'all' } }, undefined, OWN],
    ['is unknown to a client token', PRODUCT, client({ ro: READ_ALL }), 'is not a management token'],
    ['is clean to a management token', PRODUCT, management, null],
    ['is unknown where the token could not be asked', PRODUCT, 'failed', OWN],
    ['is unknown where the target declares to see a part', { ...PRODUCT, sees: 'partial' }, management, 'only a part'],
  ];
  const evaluated = evaluateCases(cases, (warehouse, target) =>
    warehouse.pull(NOW, target, 'acl_policies', { acl_policies: [{ name: 'ro', rules: READ_ALL }] }),
  );

  test.each(cases)('%s', async (name, _target, _tokens, expected) => {
    const { warehouse } = evaluated;
    expect(await warehouse.findings('anonymous-write', name)).toEqual([]);
    const why = await reason(warehouse, 'anonymous-write', name);
    if (expected === null) expect(why).toBeNull();
    else expect(why).toContain(expected);
    const assessed = await warehouse.database.rows(
      "from rule_evaluations where rule = 'anonymous-write' and target = $name",
      { name },
    );
    expect(assessed).toHaveLength(expected === null ? 1 : 0);
  });

  test('keeps its finding, and is assessed as soon as it is listed', async () => {
    const warehouse = await createFindingsWarehouse();
    const days = [20, 21, 22, 23].map((day) => `2026-11-${day}T02:15:00.000Z`) as [string, string, string, string];
    const run = async (at: string, policies: Rows) => {
      await warehouse.pull(at, 'nomad', 'acl_policies', { acl_policies: policies });
      await warehouse.evaluate(at, { targets: [SPEC] });
    };
    const anonymous = (grants: readonly string[]) => [
      { name: 'anonymous', rules: 'node { … }', grants: JSON.stringify(grants) },
    ];
    await run(days[0], anonymous(['policy write']));
    expect(await warehouse.findings('anonymous-write')).toMatchObject([{ state: 'open' }]);
    await run(days[1], []);
    expect(await warehouse.findings('anonymous-write')).toMatchObject([
      { state: 'open', detail: { unassessed: expect.stringContaining(OWN) } },
    ]);
    await run(days[2], anonymous([]));
    expect(await warehouse.findings('anonymous-write')).toMatchObject([{ state: 'resolved' }]);
    expect(await reason(warehouse, 'anonymous-write', 'nomad')).toBeNull();
  });
});

describe('orphaned-external-volume', () => {
  const JSON_RULES = '{"namespace": {"*": {"policy": "read"}}}';
  const cases: readonly Case[] = [
    ['is assessed by the documents alone', SPEC, undefined, null],
    ['is not where one namespace is configured', { ...SPEC, namespace: 'web' }, undefined, 'of the namespace web'],
    ['is where that is declared to be all', { ...SPEC, namespace: 'web', sees: { volumes: 'all' } }, undefined, null],
    [
      'is not where the product lists the default namespace',
      { name: 'nomad', kind: 'scheduler', flavor: 'hashicorp' },
      management,
      'of the namespace default',
    ],
    ['is with a management token', PRODUCT, management, null],
    ['is where no token is checked', PRODUCT, [{ type: 'acl-disabled' }], null],
    ['is with a token that reads every namespace', PRODUCT, client({ ro: READ_ALL }), null],
    ['is with such a token whose rules are JSON', PRODUCT, client({ ro: JSON_RULES }), null],
    [
      'is not with a token of one namespace',
      PRODUCT,
      client({ ro: READ_ALL.replace('"*"', '"web"') }),
      'of every namespace',
    ],
    [
      'is not where a namespace is denied',
      PRODUCT,
      client({ ro: READ_ALL, no: 'namespace "x" { policy = "deny" }' }),
      'of every namespace',
    ],
    ['is not by a comment', PRODUCT, client({ ro: READ_ALL.replaceAll(/^/gmu, '# ') }), 'of every namespace'],
    [
      'is not with rules of a token that an earlier version has pulled',
      PRODUCT,
      [{ type: 'client', is_management: false, rights: JSON.stringify({ ro: READ_ALL }) }],
      'of every namespace',
    ],
    ['is not where rights are not reported', PRODUCT, client(null), 'of every namespace'],
    ['is not without knowledge of the token', PRODUCT, undefined, 'nothing tells what the token is'],
  ];
  const evaluated = evaluateCases(cases, async (warehouse, target) => {
    await warehouse.pull(NOW, target, 'volumes', { volumes: [] });
    await warehouse.pull(NOW, target, 'external_volumes', {
      external_volumes: [{ plugin_id: 'ebs', external_id: 'vol-1' }],
      external_volume_listings: [{ plugin_id: 'ebs', supported: true }],
    });
  });

  test.each(cases)('%s', async (name, _target, _tokens, expected) => {
    const { warehouse } = evaluated;
    expect(await warehouse.findings('orphaned-external-volume', name)).toHaveLength(expected === null ? 1 : 0);
    const why = await reason(warehouse, 'orphaned-external-volume', name);
    if (expected === null) expect(why).toBeNull();
    else expect(why).toContain(expected);
  });
});

test('a target that declares to see a part leaves every rule unknown that concludes from absence', async () => {
  const warehouse = await createFindingsWarehouse();
  await warehouse.pull(NOW, 'acme', 'agents');
  await warehouse.pull(NOW, 'acme', 'agent_pools', {
    agent_pools: [{ pool_id: 'p', agent_count: 0, relationships: '{"workspaces": 0}' }],
  });
  await warehouse.evaluate(NOW, {
    targets: [{ name: 'acme', kind: 'platform', flavor: 'spec', sees: { agents: 'partial' } }],
  });
  expect(await warehouse.findings('empty-agent-pool')).toEqual([]);
  expect(await warehouse.findings('pool-without-live-agents')).toEqual([]);
  expect(await reason(warehouse, 'empty-agent-pool', 'acme')).toBe(
    'the target declares that it sees only a part of agents',
  );
  expect(await reason(warehouse, 'unscoped-agent-pool', 'acme')).toBeNull();
});

test('what a token was is forgotten after staleHours', async () => {
  const warehouse = await createFindingsWarehouse();
  await pullTokens(warehouse, 'nomad', management, '2026-11-18T02:15:00.000Z');
  await warehouse.pull(NOW, 'nomad', 'acl_policies', { acl_policies: [] });
  await warehouse.evaluate(NOW, { targets: [PRODUCT] });
  expect(await reason(warehouse, 'anonymous-write', 'nomad')).toContain('nothing tells what the token is');
});
