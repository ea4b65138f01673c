import { isObject } from './router.ts';

/** An argument, e.g. `policy = "read"`, or a block with its labels, e.g. `namespace "prod" { … }`. */
export interface HclItem {
  readonly name: string;
  readonly labels: readonly string[];
  /** The value of an argument. */
  readonly value?: HclValue;
  /** The content of a block. */
  readonly items: readonly HclItem[];
}

type HclValue = string | number | boolean | readonly HclValue[];

const TOKEN = /\s+|#[^\n]*|\/\/[^\n]*|\/\*[\s\S]*?\*\/|("(?:[^"\\\n]|\\.)*")|([A-Za-z0-9_.+-]+)|([{}[\]=,])/y;

/**
 * Parses the part of HCL that rules of Nomad, Vault and Consul are written in: blocks, arguments, strings, lists. Their
 * JSON form is accepted, too. @throws Error with the position of what it does not know
 */
export function parseRuleItems(text: string): HclItem[] {
  return text.trimStart().startsWith('{') ? parseJsonRules(text) : parseHcl(tokenize(text));
}

/** A glob as the text of a regular expression: `wildcard` stands for `pattern`. */
export function globPattern(glob: string, wildcard: string, pattern: string): string {
  const parts = glob.split(wildcard).map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return parts.join(pattern);
}

/** The level that a block grants. */
export function readPolicyLevel(items: readonly HclItem[]): string | undefined {
  const value = items.find(({ name }) => name === 'policy')?.value;
  return typeof value === 'string' ? value : undefined;
}

/** The capabilities that a block grants; undefined where it names none. */
export function readCapabilities(items: readonly HclItem[]): string[] | undefined {
  const value = items.find(({ name }) => name === 'capabilities')?.value;
  return Array.isArray(value) ? value.map(String) : undefined;
}

function tokenize(text: string): string[] {
  const tokens: string[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length) {
    const at = TOKEN.lastIndex;
    const match = TOKEN.exec(text);
    if (!match) throw new Error(`At ${position(text, at)}: illegal character`);
    const token = match[1] ?? match[2] ?? match[3];
    if (token !== undefined) tokens.push(token);
  }
  return tokens;
}

function position(text: string, index: number): string {
  const lines = text.slice(0, index).split('\n');
  return `${lines.length}:${lines.at(-1)!.length + 1}`;
}

function parseHcl(tokens: readonly string[]): HclItem[] {
  let at = 0;
  const next = (): string => {
    const token = tokens[at++];
    if (token === undefined) throw new Error('unbalanced block');
    return token;
  };
  const word = (): string => {
    const token = next();
    if (token.startsWith('"')) return JSON.parse(token) as string;
    if (/^[A-Za-z0-9_]/.test(token)) return token;
    throw new Error(`unexpected ${token}`);
  };
  const value = (): HclValue => {
    const token = next();
    if (token === '[') return until(']', value, ',');
    if (token.startsWith('"')) return JSON.parse(token) as string;
    if (token === 'true' || token === 'false') return token === 'true';
    const number = Number(token);
    if (Number.isNaN(number)) throw new Error(`unexpected ${token}`);
    return number;
  };
  const until = <T>(end: string | undefined, parse: () => T, separator?: string): T[] => {
    const found: T[] = [];
    while (tokens[at] !== end) {
      found.push(parse());
      if (separator !== undefined && tokens[at] === separator) at++;
    }
    at++;
    return found;
  };
  const item = (): HclItem => {
    const name = word();
    const labels: string[] = [];
    if (tokens[at] === '=') {
      at++;
      if (tokens[at] !== '{') return { name, labels, value: value(), items: [] };
    }
    while (tokens[at] !== '{') labels.push(word());
    at++;
    return { name, labels, items: until('}', item) };
  };
  return until(undefined, item);
}

/** `{"namespace": {"prod": {"policy": "read"}}, "node": {"policy": "read"}}`. */
function parseJsonRules(text: string): HclItem[] {
  const parsed: unknown = JSON.parse(text);
  if (!isObject(parsed)) throw new Error('rules are not an object');
  return Object.entries(parsed).flatMap(([name, value]) => {
    if (!isObject(value)) return [jsonItem(name, value)];
    const isLabelled = Object.values(value).length > 0 && Object.values(value).every(isObject);
    if (!isLabelled) return [jsonItem(name, value)];
    return Object.entries(value).map(([label, content]) => ({ ...jsonItem(name, content), labels: [label] }));
  });
}

function jsonItem(name: string, value: unknown): HclItem {
  if (!isObject(value)) return { name, labels: [], value: value as HclValue, items: [] };
  return { name, labels: [], items: Object.entries(value).map(([key, content]) => jsonItem(key, content)) };
}
