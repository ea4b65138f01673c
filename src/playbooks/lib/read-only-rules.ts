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

/** One block of the rules of an ACL policy, such as `namespace "default" { policy = "read" }`. */
interface AclBlock {
  readonly kind: string;
  /** The name after the kind; null where the block has none. */
  readonly label: string | null;
  readonly policy: string | null;
  readonly capabilities: readonly string[] | null;
  readonly blocks: readonly AclBlock[];
}

/** Parses rules in HCL. Undefined where they contain anything outside the grammar of ACL policies. */
function parseHcl(text: string): readonly AclBlock[] | undefined {
  const tokens = tokenize(text);
  if (!tokens) return undefined;
  const parser = new HclParser(tokens);
  try {
    return parser.parse();
  } catch (error) {
    if (error instanceof HclSyntaxError) return undefined;
    throw error;
  }
}

function formatHcl(blocks: readonly AclBlock[], indent = ''): string {
  return blocks.map((block) => formatBlock(block, indent)).join(indent === '' ? '\n' : '');
}

function formatBlock({ kind, label, policy, capabilities, blocks }: AclBlock, indent: string): string {
  const inner = `${indent}  `;
  return [
    `${indent}${kind}${label === null ? '' : ` "${label}"`} {\n`,
    policy === null ? '' : `${inner}policy = "${policy}"\n`,
    capabilities === null ? '' : `${inner}capabilities = [${capabilities.map((name) => `"${name}"`).join(', ')}]\n`,
    formatHcl(blocks, inner),
    `${indent}}\n`,
  ].join('');
}

interface HclToken {
  readonly kind: 'name' | 'string' | 'punctuation';
  /** A string is without its quotes; its escapes are kept. */
  readonly value: string;
}

/** Blanks, comments, strings on one line, names and punctuation: all that ACL policies use of HCL. */
const TOKEN = /\s+|#[^\n]*|\/\/[^\n]*|\/\*[\s\S]*?\*\/|"((?:[^"\\\n]|\\.)*)"|([A-Za-z_][\w-]*)|([{}[\]=,])/uy;

function tokenize(text: string): readonly HclToken[] | undefined {
  const tokens: HclToken[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length) {
    const match = TOKEN.exec(text);
    if (!match) return undefined;
    const [, quoted, name, punctuation] = match;
    if (quoted !== undefined) tokens.push({ kind: 'string', value: quoted });
    else if (name !== undefined) tokens.push({ kind: 'name', value: name });
    else if (punctuation !== undefined) tokens.push({ kind: 'punctuation', value: punctuation });
  }
  return tokens;
}

class HclSyntaxError extends Error {}

class HclParser {
  readonly #tokens: readonly HclToken[];
  #position = 0;

  constructor(tokens: readonly HclToken[]) {
    this.#tokens = tokens;
  }

  parse(): readonly AclBlock[] {
    const blocks: AclBlock[] = [];
    while (this.#position < this.#tokens.length) blocks.push(this.#block());
    return blocks;
  }

  #block(): AclBlock {
    const kind = this.#next();
    if (kind.kind === 'punctuation') throw new HclSyntaxError();
    const label = this.#tokens[this.#position]?.kind === 'string' ? this.#string() : null;
    this.#expect('{');
    let policy: string | null = null;
    let capabilities: readonly string[] | null = null;
    const blocks: AclBlock[] = [];
    while (!this.#isAt('}')) {
      if (!this.#isAt('=', 1)) {
        blocks.push(this.#block());
        continue;
      }
      const { value: name } = this.#next();
      this.#expect('=');
      if (name === 'policy' && policy === null) policy = this.#string();
      else if (name === 'capabilities' && capabilities === null) capabilities = this.#list();
      else throw new HclSyntaxError();
    }
    this.#expect('}');
    return { kind: kind.value, label, policy, capabilities, blocks };
  }

  #list(): readonly string[] {
    this.#expect('[');
    const items: string[] = [];
    while (!this.#isAt(']')) {
      items.push(this.#string());
      if (this.#isAt(',')) this.#position++;
      else if (!this.#isAt(']')) throw new HclSyntaxError();
    }
    this.#expect(']');
    return items;
  }

  #string(): string {
    const token = this.#next();
    if (token.kind !== 'string') throw new HclSyntaxError();
    return token.value;
  }

  #next(): HclToken {
    const token = this.#tokens[this.#position++];
    if (!token) throw new HclSyntaxError();
    return token;
  }

  #expect(punctuation: string): void {
    const token = this.#next();
    if (token.kind !== 'punctuation' || token.value !== punctuation) throw new HclSyntaxError();
  }

  #isAt(punctuation: string, offset = 0): boolean {
    const token = this.#tokens[this.#position + offset];
    return token?.kind === 'punctuation' && token.value === punctuation;
  }
}
