import { type Token, tokensOf } from './acl-tokens.ts';

/** One block of an ACL policy's rules, such as `namespace "default" { policy = "read" }`. */
export interface Block {
  readonly kind: string;
  /** The name after it; null where it has none. */
  readonly label: string | null;
  readonly policy: string | null;
  readonly capabilities: readonly string[] | null;
  readonly blocks: readonly Block[];
}

/** Rules in HCL as blocks; undefined where they hold anything that is not known here with certainty. */
export function blocksOfHcl(text: string): readonly Block[] | undefined {
  const tokens = tokensOf(text);
  if (!tokens) return undefined;
  const reader = { tokens, at: 0 };
  try {
    const blocks = [];
    while (reader.at < tokens.length) blocks.push(readBlock(reader));
    return blocks;
  } catch (error) {
    if (error instanceof Unknown) return undefined;
    throw error;
  }
}

/** Something that this reader does not know. */
class Unknown extends Error {}

interface Reader {
  readonly tokens: readonly Token[];
  at: number;
}

function next(reader: Reader): Token {
  const token = reader.tokens[reader.at++];
  if (!token) throw new Unknown();
  return token;
}

function isSign(token: Token | undefined, sign: string): boolean {
  return token?.kind === 'sign' && token.value === sign;
}

function expectSign(reader: Reader, sign: string): void {
  if (!isSign(next(reader), sign)) throw new Unknown();
}

function readText(reader: Reader): string {
  const token = next(reader);
  if (token.kind !== 'text') throw new Unknown();
  return token.value;
}

function readBlock(reader: Reader): Block {
  const kind = next(reader);
  if (kind.kind === 'sign') throw new Unknown();
  const label = reader.tokens[reader.at]?.kind === 'text' ? readText(reader) : null;
  expectSign(reader, '{');
  let [policy, capabilities]: [string | null, readonly string[] | null] = [null, null];
  const blocks: Block[] = [];
  while (!isSign(reader.tokens[reader.at], '}')) {
    if (!isSign(reader.tokens[reader.at + 1], '=')) {
      blocks.push(readBlock(reader));
      continue;
    }
    const { value: name } = next(reader);
    expectSign(reader, '=');
    if (name === 'policy' && policy === null) policy = readText(reader);
    else if (name === 'capabilities' && capabilities === null) capabilities = readList(reader);
    else throw new Unknown();
  }
  expectSign(reader, '}');
  return { kind: kind.value, label, policy, capabilities, blocks };
}

function readList(reader: Reader): readonly string[] {
  expectSign(reader, '[');
  const items: string[] = [];
  while (!isSign(reader.tokens[reader.at], ']')) {
    items.push(readText(reader));
    if (isSign(reader.tokens[reader.at], ',')) reader.at++;
    else if (!isSign(reader.tokens[reader.at], ']')) throw new Unknown();
  }
  expectSign(reader, ']');
  return items;
}

export function hclOfBlocks(blocks: readonly Block[], indent = ''): string {
  return blocks.map((block) => hclOfBlock(block, indent)).join(indent === '' ? '\n' : '');
}

function hclOfBlock({ kind, label, policy, capabilities, blocks }: Block, indent: string): string {
  const inner = `${indent}  `;
  return [
    `${indent}${kind}${label === null ? '' : ` "${label}"`} {\n`,
    policy === null ? '' : `${inner}policy = "${policy}"\n`,
    capabilities === null ? '' : `${inner}capabilities = [${capabilities.map((name) => `"${name}"`).join(', ')}]\n`,
    hclOfBlocks(blocks, inner),
    `${indent}}\n`,
  ].join('');
}
