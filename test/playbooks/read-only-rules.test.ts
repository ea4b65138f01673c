import { describe, expect, test } from 'vitest';
import { readOnlyRules } from '../../src/act/playbooks/lib/read-only-rules.ts';

/** Spaces and line breaks say nothing here. */
const tight = (text: string | undefined) => text?.replaceAll(/\s+/gu, ' ').trim();

describe('rules in HCL', () => {
  test.each([
    ['write becomes read', 'namespace "a" { policy = "write" }', 'namespace "a" { policy = "read" }'],
    [
      'read, list and deny stay',
      'plugin { policy = "list" } node { policy = "deny" }',
      'plugin { policy = "list" } node { policy = "deny" }',
    ],
    [
      'capabilities beyond reading go',
      'namespace "a" { policy = "read" capabilities = ["submit-job", "read-logs", "alloc-exec", "deny"] }',
      'namespace "a" { policy = "read" capabilities = ["read-logs", "deny"] }',
    ],
    [
      'scale keeps what it grants to read, which is not jobs',
      'namespace "a" { policy = "scale" }',
      'namespace "a" { capabilities = ["list-scaling-policies", "read-scaling-policy", "read-job-scaling"] }',
    ],
    [
      'a block of which nothing is left stays, since that of a wider name would hold instead',
      'namespace "*" { policy = "write" } namespace "a" { capabilities = ["submit-job"] } node_pool "b" {}',
      'namespace "*" { policy = "read" } namespace "a" { } node_pool "b" { }',
    ],
    [
      'paths of variables',
      'namespace "a" { variables { path "x/*" { capabilities = ["write", "read", "destroy"] } path "y" { capabilities = ["write"] } } }',
      'namespace "a" { variables { path "x/*" { capabilities = ["read"] } path "y" { } } }',
    ],
    [
      'comments go, texts that look like them stay',
      '# a\nnamespace "a#b//c" { /* x */ policy = "write" // y\n}',
      'namespace "a#b//c" { policy = "read" }',
    ],
    [
      'lists may end in a comma',
      'namespace "a" { capabilities = ["read-job", "submit-job",] }',
      'namespace "a" { capabilities = ["read-job"] }',
    ],
    [
      'reading the license stays, saving a snapshot goes',
      'operator { capabilities = ["license-read", "sentinel-read", "snapshot-save"] }',
      'operator { capabilities = ["license-read", "sentinel-read"] }',
    ],
    [
      'whoever may change host volumes of a namespace may read them as well, and keeps that',
      'namespace "a" { capabilities = ["host-volume-create", "read-job"] } namespace "b" { capabilities = ["host-volume-write"] }',
      'namespace "a" { capabilities = ["read-job", "host-volume-read"] } namespace "b" { capabilities = ["host-volume-read"] }',
    ],
    [
      'nothing at all is left',
      'namespace "a" { capabilities = ["submit-job"] variables { path "x" { capabilities = ["write"] } } }',
      '',
    ],
  ])('%s', (_, rules, wanted) => {
    expect(tight(readOnlyRules(rules))).toBe(wanted);
  });

  test.each([
    ['an unknown block', 'sentinel { policy = "write" }'],
    ['an unknown level', 'namespace "a" { policy = "admin" }'],
    ['scale outside a namespace', 'node { policy = "scale" }'],
    ['writing of plugins, by which Nomad grants nothing', 'plugin { policy = "write" }'],
    ['an unknown attribute', 'namespace "a" { policy = "write" ttl = "1h" }'],
    ['a level given twice', 'namespace "a" { policy = "read" policy = "write" }'],
    ['a heredoc', 'namespace "a" { policy = <<E\nwrite\nE\n}'],
    ['an open block', 'namespace "a" { policy = "write"'],
    ['a list without commas', 'namespace "a" { capabilities = ["a" "b"] }'],
    ['a number', 'namespace "a" { policy = 1 }'],
    ['a block within another that has none', 'node { path "x" { capabilities = ["read"] } }'],
  ])('are left alone where they hold %s', (_, rules) => {
    expect(readOnlyRules(rules)).toBeUndefined();
  });

  test('once reduced, stay as they are', () => {
    const once = readOnlyRules(
      'namespace "a" { policy = "write" capabilities = ["read-fs"] } host_volume "b" { policy = "write" }',
    );
    expect(readOnlyRules(once!)).toBe(once);
  });
});

describe('rules in JSON', () => {
  test('lose the same, and stay JSON', () => {
    const rules = {
      namespace: {
        a: {
          policy: 'write',
          capabilities: ['submit-job', 'list-jobs'],
          variables: { path: { 'x/*': { capabilities: ['write', 'list'] } } },
        },
        b: { capabilities: ['submit-job'] },
      },
      agent: { policy: 'write' },
      quota: { policy: 'read' },
    };
    expect(JSON.parse(readOnlyRules(JSON.stringify(rules))!)).toEqual({
      namespace: {
        a: { policy: 'read', capabilities: ['list-jobs'], variables: { path: { 'x/*': { capabilities: ['list'] } } } },
        b: {},
      },
      agent: { policy: 'read' },
      quota: { policy: 'read' },
    });
  });

  test("name capabilities beside variables, without which Nomad takes those of a path as the namespace's", () => {
    const rules = (path: object) => ({ namespace: { a: { capabilities: [], variables: { path: { x: path } } } } });
    const reduced = readOnlyRules(JSON.stringify(rules({ capabilities: ['read', 'write'] })));
    expect(JSON.parse(reduced!)).toEqual(rules({ capabilities: ['read'] }));
  });

  test.each([
    ['broken', '{"namespace": '],
    ['of an unknown kind', '{"everything": {"policy": "write"}}'],
    ['of blocks that are given twice', '{"agent": {"policy": "write"}, "agent": {"policy": "read"}}'],
    ['of a wrong type', '{"agent": {"policy": ["write"]}}'],
  ])('are left alone when %s', (_, rules) => {
    expect(readOnlyRules(rules)).toBeUndefined();
  });
});
