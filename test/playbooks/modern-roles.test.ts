import { beforeAll, expect, test } from 'vitest';
import type { FaultHook } from '../../sandbox/router.ts';
import type { LedgerRow } from '../../src/act/ledger.ts';
import type { Plan } from '../../src/act/plan-file.ts';
import { type PlaybookHarness, playbookHarness } from '../helpers/playbook-harness.ts';
import { cleanAtEnd } from '../helpers/temp.ts';

/** A role with every field of the product. */
const ROLE = {
  token_type: 'management',
  consul_policies: ['web', 'db'],
  consul_roles: ['ops'],
  service_identities: ['web:dc1,dc2'],
  node_identities: ['n1:dc1'],
  consul_namespace: 'team-a',
  partition: 'east',
  local: true,
  lease: 3600,
  ttl: 3600,
  max_ttl: 7200,
};

/** What the service answers for some of its roles. */
const ROLES: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'legacy-admin': ROLE,
  terraform: { ...ROLE, token_type: 'client', consul_policies: ['global-management'] },
  'web-read': { token_type: 'client', policies: 'web, db', consul_roles: '', service_identities: [] },
};

/** A number that a plan and the ledger cannot hold: JSON has it, a double has not. */
let maxTtl = '7200';
let namespace = 'team-a';
let tokenType = 'management';

const answerRole: FaultHook = ({ method, path }, { kind }) => {
  const role = ROLES[/\/consul\/roles\/([^/]+)$/u.exec(path)?.[1] ?? ''];
  if (kind !== 'secrets' || method !== 'GET' || !role) return undefined;
  return {
    status: 200,
    body: JSON.stringify({ data: role })
      .replace('7200', maxTtl)
      .replace('team-a', namespace)
      .replace('"management"', JSON.stringify(tokenType)),
  };
};

const atEnd = cleanAtEnd();
let place: PlaybookHarness;
let plan: Plan;

beforeAll(async () => {
  place = await playbookHarness({
    updatesTable: false,
    playbook: 'downgrade-management-roles',
    flavor: 'hashicorp',
    snapshot: false,
    faultHook: answerRole,
    cleanup: atEnd,
  });
  plan = await place.plan(['--max-percent', '100']);
});

async function readRow(name: string) {
  const [row] = await place.rows('select * from mesh_roles where name = $name', { name });
  return row;
}

test('a role of today keeps its policies, roles, identities, namespace, partition and lifetimes', async () => {
  const { lease: _, ...kept } = ROLE;
  expect(plan.actions.map(({ params }) => params.name)).toEqual(['legacy-admin']);
  expect(plan.actions[0]?.body).toEqual({ ...kept, token_type: 'client' });
  expect(await readRow('legacy-admin')).toMatchObject({
    token_type: 'management',
    consul_policies: ['db', 'web'],
    consul_roles: ['ops'],
    service_identities: ['web:dc1,dc2'],
    node_identities: ['n1:dc1'],
    consul_namespace: 'team-a',
    partition: 'east',
    ttl: '3600',
    max_ttl: '7200',
    extra: { local: true },
  });
});

test('a role with the policy global-management is found and left to a person', () => {
  expect(new Set(plan.skipped.map(({ reason }) => reason))).toEqual(
    new Set([expect.stringContaining('global-management makes every token a management token')]),
  );
});

test('lists of policies may come as text with commas, and under their old name', async () => {
  expect(await readRow('web-read')).toMatchObject({
    consul_policies: ['db', 'web'],
    consul_roles: null,
    service_identities: null,
    extra: null,
  });
});

test('an action whose subject repeats a token of ours is not planned', async () => {
  namespace = place.sandbox.tokens.secrets.read;
  const { actions, skipped } = await place.plan(['--max-percent', '100']);
  namespace = 'team-a';
  expect(actions).toEqual([]);
  expect(skipped.map(({ reason }) => reason)).toContain('what was read has a secret that a plan cannot hold');
});

test('a role whose token type is not known is left as it is', async () => {
  tokenType = 'restricted';
  await place.plan(['--max-percent', '100']);
  await place.approve();
  const { rows } = (await place.apply([], 1)).json<{ rows: LedgerRow[] }>();
  tokenType = 'management';
  expect(rows).toMatchObject([
    { status: 'failed', reason: 'the type of its tokens is restricted, which is not known' },
  ]);
});

test('a number or a secret that no ledger can hold leaves the action to a later apply', async () => {
  await place.plan(['--max-percent', '100']);
  await place.approve();
  const apply = async () => (await place.apply([], 1)).json<{ rows: LedgerRow[] }>().rows;
  maxTtl = '9007199254740993';
  const reason = 'what was read has a value that the ledger cannot hold';
  expect(await apply()).toMatchObject([{ status: 'failed', reason }]);
  [maxTtl, namespace] = ['7200', place.sandbox.tokens.secrets.read];
  const secret = 'what was read has a secret that the ledger cannot hold';
  expect(await apply()).toMatchObject([{ status: 'failed', reason: secret }]);
  namespace = 'team-a';
  expect(JSON.stringify(await place.ledger())).not.toContain(place.sandbox.tokens.secrets.read);
});
