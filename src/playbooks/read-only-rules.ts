import { type Block, blocksOfHcl, hclOfBlocks } from './acl-rules.ts';

/** What reading is, and what each level of a policy becomes without the rest: Nomad's ACL policy specification. */

/** Levels that grant no more than reading. */
const READING_LEVELS = ['read', 'list', 'deny'];

const READING = new Set([
  'deny',
  'read',
  'list',
  'list-jobs',
  'parse-job',
  'read-job',
  'read-logs',
  'read-fs',
  'read-job-scaling',
  'list-scaling-policies',
  'read-scaling-policy',
  'csi-list-volume',
  'csi-read-volume',
  'host-volume-read',
  'mount-readonly',
]);

/** What `policy = "scale"` of a namespace grants, but for `scale-job`: it does not include `read`. */
const READING_OF_SCALE = ['list-scaling-policies', 'read-scaling-policy', 'read-job-scaling'];

/** Blocks whose `policy` has the levels deny, read and write. */
const KNOWN_BLOCKS = ['namespace', 'node', 'node_pool', 'agent', 'operator', 'quota', 'host_volume', 'plugin'];
const NESTED: Readonly<Record<string, string>> = { namespace: 'variables', variables: 'path' };

/**
 * The rules of an ACL policy, in HCL or JSON, with nothing but reading and denying left; undefined where they hold anything
 * that cannot be reduced with certainty. `''` where nothing would be left.
 */
export function readOnlyRules(rules: string): string | undefined {
  if (rules.trimStart().startsWith('{')) return readOnlyJson(rules);
  const blocks = blocksOfHcl(rules)?.map((block) => readOnlyBlock(block, KNOWN_BLOCKS));
  if (!blocks || blocks.includes(undefined)) return undefined;
  return hclOfBlocks(blocks.flatMap((block) => (block && !isEmpty(block) ? [block] : [])));
}

function isEmpty({ policy, capabilities, blocks }: Block): boolean {
  return policy === null && capabilities === null && blocks.length === 0;
}

function readOnlyBlock(block: Block, known: readonly string[]): Block | undefined {
  if (!known.includes(block.kind)) return undefined;
  const level = readOnlyLevel(block.kind, block.policy);
  const nested = NESTED[block.kind];
  const blocks = block.blocks.map((inner) => readOnlyBlock(inner, nested === undefined ? [] : [nested]));
  if (level === undefined || blocks.includes(undefined)) return undefined;
  const granted = [...(block.capabilities ?? []).filter((name) => READING.has(name)), ...level.capabilities];
  return {
    ...block,
    policy: level.policy,
    capabilities: granted.length > 0 ? [...new Set(granted)] : null,
    blocks: blocks.flatMap((inner) => (inner && !isEmpty(inner) ? [inner] : [])),
  };
}

/** `write` includes `read`, which stays; a level that is not known here cannot be reduced. */
function readOnlyLevel(kind: string, policy: string | null) {
  if (policy === null || READING_LEVELS.includes(policy)) return { policy, capabilities: [] };
  if (policy === 'write') return { policy: 'read', capabilities: [] };
  if (policy === 'scale' && kind === 'namespace') return { policy: null, capabilities: READING_OF_SCALE };
  return undefined;
}

type JsonObject = Readonly<Record<string, unknown>>;

/** JSON has the blocks as objects: `{"namespace": {"default": {"policy": "read"}}, "agent": {"policy": "read"}}`. */
function readOnlyJson(rules: string): string | undefined {
  const parsed = parsedObject(rules);
  const blocks = parsed && blocksOfJson(parsed)?.map((block) => readOnlyBlock(block, KNOWN_BLOCKS));
  if (!blocks || blocks.includes(undefined)) return undefined;
  const left = blocks.flatMap((block) => (block && !isEmpty(block) ? [block] : []));
  return left.length === 0 ? '' : JSON.stringify(jsonOfBlocks(left));
}

function parsedObject(text: string): JsonObject | undefined {
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

/** Kinds of block that have a label: their JSON is an object by label. */
const LABELLED = ['namespace', 'node_pool', 'host_volume', 'path'];

function blocksOfJson(object: JsonObject): readonly Block[] | undefined {
  const blocks: Block[] = [];
  for (const [kind, value] of Object.entries(object)) {
    if (!isObject(value)) return undefined;
    const labelled: [string | null, unknown][] = LABELLED.includes(kind) ? Object.entries(value) : [[null, value]];
    for (const [label, body] of labelled) {
      const block = isObject(body) ? blockOfJson(kind, label, body) : undefined;
      if (!block) return undefined;
      blocks.push(block);
    }
  }
  return blocks;
}

function blockOfJson(kind: string, label: string | null, body: JsonObject): Block | undefined {
  const { policy = null, capabilities = null, ...rest } = body;
  const texts = Array.isArray(capabilities) && capabilities.every((item) => typeof item === 'string');
  const blocks = blocksOfJson(rest);
  if ((policy !== null && typeof policy !== 'string') || (capabilities !== null && !texts) || !blocks) return undefined;
  return { kind, label, policy, capabilities: capabilities as readonly string[] | null, blocks };
}

function jsonOfBlocks(blocks: readonly Block[]): JsonObject {
  const object: Record<string, unknown> = {};
  for (const { kind, label, policy, capabilities, blocks: inner } of blocks) {
    const body = { ...(policy !== null && { policy }), ...(capabilities && { capabilities }), ...jsonOfBlocks(inner) };
    object[kind] = label === null ? body : { ...(object[kind] as JsonObject | undefined), [label]: body };
  }
  return object;
}
