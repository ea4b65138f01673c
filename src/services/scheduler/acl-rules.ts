import { parseRules, type RuleBlock } from './parse-rules.ts';

/** What the rules of ACL policies grant, by Nomad's ACL policy specification. */

/** Policy levels that grant no more than reading. */
export const READ_ONLY_LEVELS: readonly string[] = ['read', 'list', 'deny'];

const READ_CAPABILITIES = new Set(['deny', 'read', 'list', 'parse-job', 'mount-readonly']);
/** The scheduler names what reads by these parts: `read-job`, `csi-list-volume`, `license-read`, `sentinel-read`. */
const READ_NAME = /^(read|list)-|-(read|list)-|-read$/u;

export const isReading = (capability: string): boolean =>
  READ_CAPABILITIES.has(capability) || READ_NAME.test(capability);

/** The values of an attribute of a block, of all of them where it is repeated. */
export function listValues({ attributes }: RuleBlock, wanted: 'policy' | 'capabilities'): readonly string[] {
  return attributes.flatMap(({ name, value }) => (name === wanted ? value : []));
}

/** What rules grant beyond reading, such as `policy write`. Undefined where they are not understood. */
export function listGrants(rules: string): readonly string[] | undefined {
  const root = parseRules(rules);
  return root && [...new Set(blockGrants(root))].sort();
}

function blockGrants(block: RuleBlock): readonly string[] {
  const levels = listValues(block, 'policy').filter((level) => !READ_ONLY_LEVELS.includes(level));
  const capabilities = listValues(block, 'capabilities').filter((capability) => !isReading(capability));
  return [
    ...levels.map((level) => `policy ${level}`),
    ...capabilities.map((capability) => `capability ${capability}`),
    ...block.blocks.flatMap(blockGrants),
  ];
}

/** With one of these a token sees the volumes of a namespace. */
const SEES_VOLUMES = ['csi-list-volume', 'csi-read-volume', 'csi-mount-volume', 'list-jobs'];

/**
 * Whether policies let a token see the volumes of every namespace. The rule with the most specific name decides alone, so that every
 * name that is granted less than `*` hides something. Undefined where rules are not known or not understood.
 */
export function seesEveryNamespace(policies: readonly (string | null)[]): boolean | undefined {
  const roots = policies.map((rules) => (rules === null ? undefined : parseRules(rules)));
  if (!roots.every((root) => root !== undefined)) return undefined;
  if (roots.some(isDenying)) return false;
  const namespaces = roots.flatMap(({ blocks }) => blocks.filter(({ kind }) => kind === 'namespace'));
  const seen = new Set(namespaces.filter(isSeeing).map(({ label }) => label));
  return seen.has('*') && namespaces.every(({ label }) => seen.has(label));
}

function isSeeing(block: RuleBlock): boolean {
  return (
    listValues(block, 'policy').some((level) => level === 'read' || level === 'write') ||
    listValues(block, 'capabilities').some((capability) => SEES_VOLUMES.includes(capability))
  );
}

function isDenying(block: RuleBlock): boolean {
  const values = [...listValues(block, 'policy'), ...listValues(block, 'capabilities')];
  return values.includes('deny') || block.blocks.some(isDenying);
}
