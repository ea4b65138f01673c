import { isReading, READ_ONLY_LEVELS } from '../../../services/scheduler/acl-rules.ts';
import { LABELLED, parseRules, type RuleBlock } from '../../../services/scheduler/parse-rules.ts';

/** What `policy = "scale"` of a namespace grants except `scale-job`. It does not include `read`. */
const SCALE_READ_CAPABILITIES = ['list-scaling-policies', 'read-scaling-policy', 'read-job-scaling'];

/** Whoever may change a dynamic host volume of a namespace may read it as well. */
const READS_HOST_VOLUMES = /^host-volume-(?:create|register|write)$/u;

/** Blocks whose `policy` has the levels deny, read and write. */
const KNOWN_BLOCKS = ['namespace', 'node', 'node_pool', 'agent', 'operator', 'quota', 'host_volume', 'plugin'];
const NESTED: Readonly<Record<string, string>> = { namespace: 'variables', variables: 'path' };

/**
 * Reduces the rules of an ACL policy, in HCL or JSON, to those that read or deny. Returns `''` where none are left, and undefined
 * where the rules contain anything that cannot be reduced with certainty.
 */
export function readOnlyRules(rules: string): string | undefined {
  const root = parseRules(rules);
  const blocks = root?.attributes.length === 0 ? reduceBlocks(root.blocks, KNOWN_BLOCKS) : undefined;
  if (!blocks?.some(saysAnything)) return blocks && '';
  return rules.trimStart().startsWith('{') ? JSON.stringify(toJsonObject(blocks)) : formatHcl(blocks);
}

const saysAnything = ({ attributes, blocks }: RuleBlock): boolean => attributes.length > 0 || blocks.some(saysAnything);

/**
 * The blocks of which something is left. One with a label always stays: without it, that of a wider name, such as `*`, would grant in its
 * place. A block that is given twice has no certain meaning.
 */
function reduceBlocks(blocks: readonly RuleBlock[], known: readonly string[]): readonly RuleBlock[] | undefined {
  const names = new Set(blocks.map(({ kind, label }) => JSON.stringify([kind, label])));
  const reduced = blocks.map((block) => (known.includes(block.kind) ? reduceBlock(block) : undefined));
  if (names.size < blocks.length || !reduced.every((block) => block !== undefined)) return undefined;
  return reduced.filter((block) => block.label !== null || block.blocks.length > 0 || saysAnything(block));
}

function reduceBlock({ kind, label, attributes, blocks }: RuleBlock): RuleBlock | undefined {
  const values = Object.fromEntries(attributes.map(({ name, value }) => [name, value]));
  const { policy, capabilities = [], ...others } = values;
  const nested = NESTED[kind];
  const inner = reduceBlocks(blocks, nested === undefined ? [] : [nested]);
  const level = Array.isArray(policy) ? undefined : readOnlyLevel(kind, policy as string | undefined);
  const isKnown = Object.keys(others).length === 0 && (label !== null) === LABELLED.includes(kind);
  const isRepeated = new Set(attributes.map(({ name }) => name)).size < attributes.length;
  if (!isKnown || isRepeated || typeof capabilities === 'string' || !level || !inner) return undefined;
  const implied = capabilities.some((name) => READS_HOST_VOLUMES.test(name)) ? ['host-volume-read'] : [];
  const granted = [...new Set([...capabilities.filter(isReading), ...level.capabilities, ...implied])];
  const kept = [
    ...(level.policy === undefined ? [] : [{ name: 'policy', value: level.policy }]),
    ...(granted.length > 0 ? [{ name: 'capabilities', value: granted }] : []),
  ];
  return { kind, label, attributes: kept, blocks: inner };
}

/** `write` becomes `read`, except of plugins: Nomad takes it there and grants nothing. An unknown level cannot be reduced. */
function readOnlyLevel(kind: string, policy: string | undefined) {
  if (policy === undefined || READ_ONLY_LEVELS.includes(policy)) return { policy, capabilities: [] };
  if (policy === 'write' && kind !== 'plugin') return { policy: 'read', capabilities: [] };
  if (policy === 'scale' && kind === 'namespace') return { policy: undefined, capabilities: SCALE_READ_CAPABILITIES };
  return undefined;
}

/** In JSON, blocks are objects: `{"namespace": {"default": {"policy": "read"}}, "agent": {"policy": "read"}}`. */
function toJsonObject(blocks: readonly RuleBlock[]): Readonly<Record<string, unknown>> {
  const object: Record<string, unknown> = {};
  for (const { kind, label, attributes, blocks: inner } of blocks) {
    const none = label !== null && inner.length > 0 && { capabilities: [] }; // Nomad merges an object of one key with what it holds
    const own = Object.fromEntries(attributes.map(({ name, value }) => [name, value]));
    const body = { ...none, ...own, ...toJsonObject(inner) };
    object[kind] = label === null ? body : { ...(object[kind] as object | undefined), [label]: body };
  }
  return object;
}

function formatHcl(blocks: readonly RuleBlock[], indent = ''): string {
  return blocks.map((block) => formatBlock(block, indent)).join(indent === '' ? '\n' : '');
}

function formatBlock({ kind, label, attributes, blocks }: RuleBlock, indent: string): string {
  const inner = `${indent}  `;
  const begin = `${indent}${kind}${label === null ? '' : ` ${JSON.stringify(label)}`} {\n`;
  const lines = attributes.map(({ name, value }) => `${inner}${name} = ${formatHclValue(value)}\n`);
  return `${begin}${lines.join('')}${formatHcl(blocks, inner)}${indent}}\n`;
}

function formatHclValue(value: string | readonly string[]): string {
  return typeof value === 'string' ? JSON.stringify(value) : `[${value.map(formatHclValue).join(', ')}]`;
}
