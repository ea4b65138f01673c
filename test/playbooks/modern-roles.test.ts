import { expect, test } from 'vitest';
import type { FaultHook } from '../../src/sandbox/router.ts';
import { playbookHarness } from '../helpers/playbook-harness.ts';

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

/** The service answers with this role for each name. */
const answerRole =
  (role: Readonly<Record<string, unknown>>): FaultHook =>
  ({ method, path }, { kind }) => {
    if (kind !== 'secrets' || method !== 'GET' || !/\/consul\/roles\/[^/]+$/u.test(path)) return undefined;
    return { status: 200, body: JSON.stringify({ data: role }) };
  };

const harness = (role: Readonly<Record<string, unknown>>) =>
  playbookHarness({
    playbook: 'downgrade-management-roles',
    flavor: 'hashicorp',
    snapshot: false,
    faultHook: answerRole(role),
  });

test('a role of today keeps its policies, roles, identities, namespace, partition and lifetimes', async () => {
  const place = await harness(ROLE);
  const { lease: _, ...kept } = ROLE;
  const { actions } = await place.plan(['--max-percent', '100']);
  expect(actions[0]?.body).toEqual({ ...kept, token_type: 'client' });
  const [row] = await place.rows('select * from mesh_roles order by name limit 1');
  expect(row).toMatchObject({
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

test('a role with the policy global-management is found and left to a person', async () => {
  const place = await harness({ ...ROLE, token_type: 'client', consul_policies: ['global-management'] });
  const { actions, skipped } = await place.plan(['--max-percent', '100']);
  expect(actions).toEqual([]);
  expect(new Set(skipped.map(({ reason }) => reason))).toEqual(
    new Set([expect.stringContaining('global-management makes every token a management token')]),
  );
});

test('lists of policies may come as text with commas, and under their old name', async () => {
  const place = await harness({ token_type: 'client', policies: 'web, db', consul_roles: '', service_identities: [] });
  const [row] = await place.rows('select * from mesh_roles order by name limit 1');
  expect(row).toMatchObject({
    consul_policies: ['db', 'web'],
    consul_roles: null,
    service_identities: null,
    extra: null,
  });
});
