import { expect, test } from 'vitest';
import { listGrants } from '../../src/services/scheduler/acl-rules.ts';
import { createFindingsWarehouse } from '../helpers/findings-warehouse.ts';

const NOW = '2026-11-20T02:15:00Z';

/** Rules of the policy `anonymous`, and what they grant beyond read access. */
const CASES: readonly (readonly [name: string, rules: string | null, grants: readonly string[] | 'unknown'])[] = [
  ['reads', 'namespace "default" {\n  policy = "read"\n}\nnode { policy = "read" }\nplugin { policy = "list" }', []],
  [
    'denies',
    'agent { policy = "deny" }\nnamespace "x" { capabilities = ["deny", "list-jobs", "read-logs", "csi-list-volume"] }',
    [],
  ],
  ['write', 'namespace "default" { policy = "write" }', ['policy write']],
  ['scale', 'namespace "default" { policy="scale" }', ['policy scale']],
  ['node', 'namespace "*" { policy = "read" }\nnode { policy = "write" }', ['policy write']],
  [
    'capabilities',
    'namespace "default" {\n capabilities = [\n "read-job", # fine\n "submit-job",\n "alloc-exec" ] }',
    ['capability alloc-exec', 'capability submit-job'],
  ],
  [
    'variables',
    'namespace "a" { variables { path "x" { capabilities = ["read", "write"] } } }\nhost_volume "v" { capabilities = ["mount-readwrite"] }',
    ['capability mount-readwrite', 'capability write'],
  ],
  ['unknown-capability', 'namespace "a" { capabilities = ["invented-next-year"] }', ['capability invented-next-year']],
  [
    'json',
    '{"namespace":{"default":{"policy":"write","capabilities":["read-job","dispatch-job"]}}}',
    ['capability dispatch-job', 'policy write'],
  ],
  ['json-reads', '{"namespace": {"default": {"policy": "read", "capabilities": ["list-jobs"]}}}', []],
  [
    'comments',
    '# node { policy = "write" }\n// agent { policy = "write" }\n/* operator {\n policy = "write" } */ node { policy = "read" }',
    [],
  ],
  ['hash-in-a-string', 'namespace "a#b" { policy = "write" }', ['policy write']],
  ['slashes-in-a-string', 'namespace "a//b/*" { policy = "write" } node { policy = "read" }', ['policy write']],
  ['quote-in-a-string', String.raw`namespace "a\"#" { policy = "write" }`, ['policy write']],
  ['quoted-key', 'node { "policy" = "write" }', ['policy write']],
  ['empty', 'namespace "default" {}', []],
  ['license', 'operator { capabilities = ["license-read", "sentinel-read"] }', []],
  ['snapshot', 'operator { capabilities = ["license-read", "snapshot-save"] }', ['capability snapshot-save']],
  [
    'host-volume',
    'namespace "a" { capabilities = ["host-volume-read", "host-volume-create"] }',
    ['capability host-volume-create'],
  ],
  [
    'heredoc',
    'namespace "a" {\n description = <<E\n}\npolicy = "write"\nE\n capabilities = ["submit-job"] }',
    ['capability submit-job'],
  ],
  ['no-case', 'NODE { Policy = "write" }', ['policy write']],
  ['one-capability', 'namespace "a" { capabilities = "submit-job" }', ['capability submit-job']],
  [
    'bracket-in-a-string',
    'namespace "a" { capabilities = ["read-job", "]", "submit-job"] }',
    ['capability ]', 'capability submit-job'],
  ],
  ['policy-in-a-label', `namespace "policy = 'write'" { policy = "read" }`, []],
  ['twice-in-json', '{"node": {"policy": "write"}, "node": {"policy": "read"}}', ['policy write']],
  ['unreported', null, 'unknown'],
];

test('anonymous-write: the policy `anonymous` grants more than read access, in HCL or JSON', async () => {
  const warehouse = await createFindingsWarehouse();
  for (const [target, rules] of CASES) {
    await warehouse.pull(NOW, target, 'acl_policies', {
      acl_policies: [
        {
          name: 'anonymous',
          rules,
          grants: rules === null ? null : JSON.stringify(listGrants(rules)),
          modify_index: 7,
        },
        { name: 'admin', rules: 'agent { policy = "write" }' },
      ],
    });
  }
  await warehouse.pull(NOW, 'without', 'acl_policies', { acl_policies: [] });
  expect(await warehouse.evaluate(NOW)).toMatchObject({ failed: [] });

  const found = await warehouse.findings('anonymous-write');
  const expected = CASES.filter(([, , grants]) => grants !== 'unknown' && grants.length > 0);
  expect(
    Object.fromEntries(found.map(({ target, detail }) => [target, (detail as unknown as { grants: string[] }).grants])),
  ).toEqual(Object.fromEntries(expected.map(([target, , grants]) => [target, grants])));
  expect(await warehouse.seen('anonymous-write')).toMatchObject({
    unknown: ['anonymous', 'null'], // the second: it is not in the list of `without`
  });
  expect(found.find(({ target }) => target === 'write')).toMatchObject({
    severity: 'critical',
    weight: 1,
    title: 'ACL policy anonymous grants more than read access: policy write',
    detail: { policy_name: 'anonymous', modify_index: 7 },
  });
});

test.each([
  ['rules that nothing understands', 'namespace "a" { policy = write }'],
  ['a row that an earlier pull left without grants', 'node { policy = "read" }'],
])('anonymous-write is unknown with %s', async (_, rules) => {
  const warehouse = await createFindingsWarehouse();
  await warehouse.pull(NOW, 'nomad', 'acl_policies', { acl_policies: [{ name: 'anonymous', rules, grants: null }] });
  await warehouse.evaluate(NOW);
  expect(await warehouse.seen('anonymous-write')).toMatchObject({ found: [], unknown: ['anonymous'] });
});
