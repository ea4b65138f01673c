/** One block of the rules of an ACL policy, such as `namespace "default" { policy = "read" }`. */
export interface AclBlock {
  readonly kind: string;
  /** The name after the kind; null where the block has none. */
  readonly label: string | null;
  readonly policy: string | null;
  readonly capabilities: readonly string[] | null;
  readonly blocks: readonly AclBlock[];
}

/** Parses rules in HCL. Undefined where they contain anything outside the grammar of ACL policies. */
export function parseHcl(text: string): readonly AclBlock[] | undefined {
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

export function formatHcl(blocks: readonly AclBlock[], indent = ''): string {
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
