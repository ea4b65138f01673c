import { type AclBlock, formatHcl, parseHcl } from './acl-hcl.ts';

/** Which capabilities only read, and what each policy level is reduced to, follows Nomad's ACL policy specification. */

/** Policy levels that grant no more than reading. */
const READ_ONLY_LEVELS = ['read', 'list', 'deny'];

const READ_CAPABILITIES = new Set(['deny', 'read', 'list', 'parse-job', 'mount-readonly']);
/** The scheduler names what reads by these parts: `read-job`, `csi-list-volume`, `license-read`, `sentinel-read`. */
const READ_NAME = /^(read|list)-|-(read|list)-|-read$/u;

const isReading = (capability: string): boolean => READ_CAPABILITIES.has(capability) || READ_NAME.test(capability);

/** What `policy = "scale"` of a namespace grants except `scale-job`. It does not include `read`. */
const SCALE_READ_CAPABILITIES = ['list-scaling-policies', 'read-scaling-policy', 'read-job-scaling'];

/** Blocks whose `policy` has the levels deny, read and write. */
const KNOWN_BLOCKS = ['namespace', 'node', 'node_pool', 'agent', 'operator', 'quota', 'host_volume', 'plugin'];
const NESTED: Readonly<Record<string, string>> = { namespace: 'variables', variables: 'path' };

/**
 * Reduces the rules of an ACL policy, in HCL or JSON, to those that read or deny. Returns `''` where none are left, and undefined
 * where the rules contain anything that cannot be reduced with certainty.
 */
export function readOnlyRules(rules: string): string | undefined {
  if (rules.trimStart().startsWith('{')) return readOnlyJson(rules);
  const blocks = parseHcl(rules)?.map((block) => readOnlyBlock(block, KNOWN_BLOCKS));
  if (!blocks || blocks.includes(undefined)) return undefined;
  return formatHcl(blocks.flatMap((block) => (block && !isEmpty(block) ? [block] : [])));
}

function isEmpty({ policy, capabilities, blocks }: AclBlock): boolean {
  return policy === null && capabilities === null && blocks.length === 0;
}

function readOnlyBlock(block: AclBlock, known: readonly string[]): AclBlock | undefined {
  if (!known.includes(block.kind)) return undefined;
  const level = readOnlyLevel(block.kind, block.policy);
  const nested = NESTED[block.kind];
  const blocks = block.blocks.map((inner) => readOnlyBlock(inner, nested === undefined ? [] : [nested]));
  if (level === undefined || blocks.includes(undefined)) return undefined;
  const granted = [...(block.capabilities ?? []).filter(isReading), ...level.capabilities];
  return {
    ...block,
    policy: level.policy,
    capabilities: granted.length > 0 ? [...new Set(granted)] : null,
    blocks: blocks.flatMap((inner) => (inner && !isEmpty(inner) ? [inner] : [])),
  };
}

/** `write` becomes `read`. An unknown level cannot be reduced. */
function readOnlyLevel(kind: string, policy: string | null) {
  if (policy === null || READ_ONLY_LEVELS.includes(policy)) return { policy, capabilities: [] };
  if (policy === 'write') return { policy: 'read', capabilities: [] };
  if (policy === 'scale' && kind === 'namespace') return { policy: null, capabilities: SCALE_READ_CAPABILITIES };
  return undefined;
}

type JsonObject = Readonly<Record<string, unknown>>;

/** In JSON, blocks are objects: `{"namespace": {"default": {"policy": "read"}}, "agent": {"policy": "read"}}`. */
function readOnlyJson(rules: string): string | undefined {
  const parsed = parseObject(rules);
  const blocks = parsed && parseJsonBlocks(parsed)?.map((block) => readOnlyBlock(block, KNOWN_BLOCKS));
  if (!blocks || blocks.includes(undefined)) return undefined;
  const left = blocks.flatMap((block) => (block && !isEmpty(block) ? [block] : []));
  return left.length === 0 ? '' : JSON.stringify(toJsonObject(left));
}

function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Kinds of block that have a label: in JSON, an object keyed by label. */
const LABELLED = ['namespace', 'node_pool', 'host_volume', 'path'];

function parseJsonBlocks(object: JsonObject): readonly AclBlock[] | undefined {
  const blocks: AclBlock[] = [];
  for (const [kind, value] of Object.entries(object)) {
    if (!isObject(value)) return undefined;
    const labelled: [string | null, unknown][] = LABELLED.includes(kind) ? Object.entries(value) : [[null, value]];
    for (const [label, body] of labelled) {
      const block = isObject(body) ? parseJsonBlock(kind, label, body) : undefined;
      if (!block) return undefined;
      blocks.push(block);
    }
  }
  return blocks;
}

function parseJsonBlock(kind: string, label: string | null, body: JsonObject): AclBlock | undefined {
  const { policy = null, capabilities = null, ...rest } = body;
  const texts = Array.isArray(capabilities) && capabilities.every((item) => typeof item === 'string');
  const blocks = parseJsonBlocks(rest);
  if ((policy !== null && typeof policy !== 'string') || (capabilities !== null && !texts) || !blocks) return undefined;
  return { kind, label, policy, capabilities: capabilities as readonly string[] | null, blocks };
}

function toJsonObject(blocks: readonly AclBlock[]): JsonObject {
  const object: Record<string, unknown> = {};
  for (const { kind, label, policy, capabilities, blocks: inner } of blocks) {
    const body = { ...(policy !== null && { policy }), ...(capabilities && { capabilities }), ...toJsonObject(inner) };
    object[kind] = label === null ? body : { ...(object[kind] as JsonObject | undefined), [label]: body };
  }
  return object;
}
