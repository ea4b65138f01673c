import { findList, findText, type HclItem, parseRuleItems } from '../hcl.ts';
import { words } from '../random.ts';

/** What Nomad's short form `policy = "read"` of a namespace stands for. */
const READ = words(`
  list-jobs parse-job read-job csi-list-volume csi-read-volume read-job-scaling list-scaling-policies
  read-scaling-policy host-volume-read
`);
const SCALE = ['list-scaling-policies', 'read-scaling-policy', 'read-job-scaling', 'scale-job'];
const WRITE = [
  ...READ,
  ...words(`
  scale-job submit-job dispatch-job read-logs read-fs alloc-exec alloc-lifecycle csi-mount-volume
  csi-write-volume submit-recommendation host-volume-create host-volume-register host-volume-delete
  host-volume-write
`),
];
const EXPANDED: Readonly<Record<string, readonly string[]>> = {
  deny: ['deny'],
  list: ['list-jobs', 'csi-list-volume'],
  read: READ,
  write: WRITE,
  scale: SCALE,
};
const NAMESPACE_POLICIES = ['deny', 'read', 'write', 'scale'];

interface NamespaceRule {
  readonly name: string;
  readonly policy: string;
  readonly capabilities: readonly string[] | null;
}

/** The rules of one policy, as Nomad parses them. */
export interface ParsedRules {
  readonly namespaces: readonly NamespaceRule[];
  /** The policy of the block `plugin`, `node`, `agent` …; undefined without the block. */
  readonly blocks: Readonly<Record<string, string>>;
  readonly raw: string;
}

const BLOCKS = ['agent', 'node', 'operator', 'quota', 'plugin'] as const;

/** @throws Error as Nomad words it: an unknown value is refused, an unknown key is not */
export function parseRules(raw: string): ParsedRules {
  const items = parseRuleItems(raw);
  if (items.length === 0) throw new Error('Invalid policy: no rules');
  const namespaces = items.filter(({ name }) => name === 'namespace').map(parseNamespace);
  const blocks: Record<string, string> = {};
  for (const name of BLOCKS) {
    const block = items.find((item) => item.name === name);
    if (!block) continue;
    const policy = findText(block.items, 'policy') ?? '';
    if (!['deny', 'read', 'write', ...(name === 'plugin' ? ['list'] : [])].includes(policy)) {
      throw new Error(`Invalid ${name} policy: &acl.${capitalize(name)}Policy{Policy:"${policy}"}`);
    }
    blocks[name] = policy;
  }
  return { namespaces, blocks, raw };
}

function parseNamespace({ labels, items }: HclItem): NamespaceRule {
  const name = labels[0] ?? '';
  const policy = findText(items, 'policy') ?? '';
  const given = findList(items, 'capabilities');
  if (policy !== '' && !NAMESPACE_POLICIES.includes(policy)) {
    const fields = `Name:"${name}", Policy:"${policy}", Capabilities:[]string(nil), Variables:(*acl.VariablesPolicy)(nil)`;
    throw new Error(`Invalid namespace policy: &acl.NamespacePolicy{${fields}}`);
  }
  const all = [...(given ?? []), ...(EXPANDED[policy] ?? [])];
  return { name, policy, capabilities: all.length === 0 ? null : [...new Set(all)] };
}

/** The member `RulesJSON` of a policy. Fields without a rule are null. */
export function rulesJson({ namespaces, blocks, raw }: ParsedRules) {
  const block = (name: string) => (blocks[name] === undefined ? null : { Policy: blocks[name] });
  return {
    Agent: block('agent'),
    ExtraKeysHCL: null,
    HostVolumes: null,
    Namespaces:
      namespaces.length === 0
        ? null
        : namespaces.map(({ name, policy, capabilities }) => ({
            Capabilities: capabilities,
            Name: name,
            Policy: policy,
            Variables: null,
          })),
    Node: block('node'),
    NodePools: null,
    Operator: block('operator'),
    Plugin: block('plugin'),
    Quota: block('quota'),
    Raw: raw,
    Sentinel: null,
  };
}

function capitalize(text: string): string {
  return text[0]!.toUpperCase() + text.slice(1);
}

/** The rights of a token from the rules of all its policies. */
export class Acl {
  readonly #rules: readonly ParsedRules[];

  constructor(rules: readonly ParsedRules[]) {
    this.#rules = rules;
  }

  readsAgent(): boolean {
    return this.#rules.some(({ blocks }) => ['read', 'write'].includes(blocks.agent ?? ''));
  }

  /** Whether any of the capabilities is granted in the namespace; `*`: in any namespace. `deny` wins. */
  allowsNamespace(namespace: string, capabilities: readonly string[]): boolean {
    if (namespace === '*') {
      return this.#rules.some((rules) => rules.namespaces.some((rule) => grants([rule], capabilities)));
    }
    return grants(
      this.#rules.flatMap((rules) => closestRule(rules.namespaces, namespace) ?? []),
      capabilities,
    );
  }

  /** Whether the token may do anything in the namespace, so that the list of namespaces shows it. */
  seesNamespace(namespace: string): boolean {
    const found = this.#rules.flatMap((rules) => closestRule(rules.namespaces, namespace) ?? []);
    return found.some(({ capabilities }) => capabilities !== null && !capabilities.includes('deny'));
  }

  allowsPlugin(isRead: boolean): boolean {
    const policies = this.#rules.map(({ blocks }) => blocks.plugin);
    if (policies.includes('deny')) return false;
    return policies.includes('read') || (!isRead && policies.includes('list'));
  }
}

function grants(rules: readonly NamespaceRule[], wanted: readonly string[]): boolean {
  const granted = rules.flatMap(({ capabilities }) => capabilities ?? []);
  return !granted.includes('deny') && wanted.some((capability) => granted.includes(capability));
}

/** The rule with this name, else the glob with the longest literal part that matches. */
function closestRule(rules: readonly NamespaceRule[], namespace: string): NamespaceRule | undefined {
  const exact = rules.find(({ name }) => name === namespace);
  if (exact) return exact;
  return rules
    .filter(({ name }) => name.includes('*') && globToRegExp(name).test(namespace))
    .sort((a, b) => b.name.length - a.name.length)[0];
}

export function globToRegExp(glob: string): RegExp {
  return new RegExp(
    `^${glob
      .split('*')
      .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
      .join('.*')}$`,
    'u',
  );
}
