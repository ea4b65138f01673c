import { expect, test } from 'vitest';
import { listGrants, seesEveryNamespace } from '../../../src/services/scheduler/acl-rules.ts';

const READ_ALL = 'namespace "*" { policy = "read" }';

test.each([
  ['a level that reads', [READ_ALL]],
  ['a capability that lists volumes', ['namespace "*" { capabilities = ["csi-list-volume"] }']],
  [
    'a nested block before the capabilities',
    ['namespace "*" { variables { path "x" { capabilities = [] } } policy = "read" }'],
  ],
  ['an escaped label', [String.raw`namespace "\u002a" { policy = "read" }`]],
  ['a comment with a brace', ['namespace "*" { # }\n policy = "read" }']],
  ['the word deny in a comment', [`${READ_ALL} # "deny"`]],
  ['JSON', ['{"namespace": {"*": {"policy": "read"}}}']],
  ['JSON with objects in lists', ['{"namespace": [{"*": [{"policy": "read"}]}]}']],
  ['another namespace that reads as well', [READ_ALL, 'namespace "a" { policy = "write" }']],
  [
    'a namespace of which another policy reads',
    [READ_ALL, 'namespace "a" { policy = "scale" }', 'namespace "a" { policy = "read" }'],
  ],
])('policies with %s show every namespace', (_, policies) => {
  expect(seesEveryNamespace(policies)).toBe(true);
});

test.each([
  ['no policy', []],
  ['a block in a comment', [`/* ${READ_ALL} */`]],
  ['a block in a string', [String.raw`host_volume "namespace \"*\" { policy = \"read\" }" { policy = "read" }`]],
  ['a block in text until a mark', [`namespace "a" { description = <<E\n} ${READ_ALL}\nE\n}`]],
  ['a block within another', [`node { ${READ_ALL} }`]],
  ['a block with a word that only looks like a level', ['namespace "*" { description = "read" }']],
  ['capabilities of variables alone', ['namespace "*" { variables { path "x" { capabilities = ["read", "list"] } } }']],
  ['a denial after the level', ['namespace "*" { policy = "read" capabilities = ["deny"] }']],
  ['a denial in another policy', [READ_ALL, '{"namespace": {"x": {"capabilities": ["deny"]}}}']],
  ['a denial with an escape', [READ_ALL, String.raw`namespace "x" { policy = "d\u0065ny" }`]],
  ['a namespace that is granted less', [READ_ALL, 'namespace "x" { capabilities = ["submit-job"] }']],
  ['a namespace that is granted nothing', [`${READ_ALL} namespace "x-*" {}`]],
])('policies with %s do not show every namespace', (_, policies) => {
  expect(seesEveryNamespace(policies)).toBe(false);
});

test.each([
  ['one that was not read', [READ_ALL, null]],
  ['an open comment', [`${READ_ALL} /*`]],
  ['an open block', [READ_ALL, 'namespace "x" {']],
  ['an open text', [READ_ALL, 'namespace "x']],
  ['a text until a mark that does not come', [READ_ALL, 'node { policy = <<E\nread\n E\n}']],
  ['a text with code', [READ_ALL, `node { policy = "$${'{'}"read"}" }`]],
  ['too many closing braces', [`${READ_ALL} }`]],
  ['more levels than rules have', [READ_ALL, `${'node { '.repeat(5000)}${'}'.repeat(5000)}`]],
  ['more labels than blocks have', [READ_ALL, `${'node '.repeat(20_000)}{}`]],
  ['a text that no server keeps', [READ_ALL, `namespace "${'x'.repeat(20_000_000)}" {}`]],
])('policies with %s are not understood', (_, policies) => {
  expect(seesEveryNamespace(policies)).toBeUndefined();
});

test('what is granted beyond reading is found at every depth, once and in order', () => {
  const rules = `sentinel { policy = "write" } namespace "a" { policy = "write"
    variables { path "x" { capabilities = ["write", "read"] } } }`;
  expect(listGrants(rules)).toEqual(['capability write', 'policy write']);
  expect(listGrants('')).toEqual([]);
  expect(listGrants('node {')).toBeUndefined();
});

test.each([
  ['in any case', 'Namespace "a" { Policy = "write" }'],
  ['with a long s', '"nameſpace" "a" { "capabilitieſ" = ["alloc-exec"] }'],
  ['with a long s in JSON', String.raw`{"namespace": {"a": {"capabilitie\u017f": ["alloc-exec"]}}}`],
])('names %s grant, since Nomad compares them so', (_, rules) => {
  expect(listGrants(rules)).toHaveLength(1);
});

test('a list of more blocks than a call takes arguments is read', () => {
  expect(listGrants(`agent = [${'{},'.repeat(200_000)}{policy = "write"}]`)).toEqual(['policy write']);
});
