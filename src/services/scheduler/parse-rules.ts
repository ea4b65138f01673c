/**
 * Reads the rules of an ACL policy, in HCL or its JSON form, as Nomad's parser (HCL 1) does: a label, a quoted key and a key of an
 * object are the same, names of blocks and attributes have no case, and commas between items may be missing.
 */

/** One block of rules, such as `namespace "default" { policy = "read" }`. */
export interface RuleBlock {
  /** In lower case. */
  readonly kind: string;
  /** The name after the kind; null where it has none. */
  readonly label: string | null;
  /** The names are in lower case. A value is a list, or one; numbers and booleans are text. */
  readonly attributes: readonly { readonly name: string; readonly value: string | readonly string[] }[];
  readonly blocks: readonly RuleBlock[];
}

/** Kinds of block that have a label, and are nothing without one. */
export const LABELLED = ['namespace', 'node_pool', 'host_volume', 'path'];

/** More than a server keeps: an entry of its log is shorter. A longer text overflows the stack of the regular expression. */
const MAX_LENGTH = 2 ** 21;

/** Parses rules into one block that holds all others. Undefined where they are not understood: they may then grant anything. */
export function parseRules(text: string): RuleBlock | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  try {
    return toBlock('', null, parseTokens(tokenize(text)));
  } catch (error) {
    if (error instanceof RuleSyntaxError) return undefined;
    throw error;
  }
}

/** An object, or an attribute: which keys are kinds, labels or names follows from where they stand. */
interface Entry {
  readonly key: string;
  readonly value: string | readonly string[] | undefined;
  readonly entries: readonly Entry[];
}

function toBlock(kind: string, label: string | null, entries: readonly Entry[]): RuleBlock {
  return {
    kind,
    label,
    attributes: entries.flatMap(({ key, value }) => (value === undefined ? [] : [{ name: foldCase(key), value }])),
    blocks: entries.flatMap((entry) => (entry.value === undefined ? toBlocks(entry) : [])),
  };
}

/** As Go compares names: a long s is an s, and the sign of Kelvin a k, which it is in lower case. */
const foldCase = (name: string) => name.toLowerCase().replaceAll('ſ', 's');

function toBlocks({ key, entries }: Entry): readonly RuleBlock[] {
  const kind = foldCase(key);
  if (!LABELLED.includes(kind)) return [toBlock(kind, null, entries)];
  const own = entries.filter(({ value }) => value !== undefined);
  const named = entries.filter(({ value }) => value === undefined);
  return [
    ...(own.length > 0 ? [toBlock(kind, null, own)] : []),
    ...named.map((entry) => toBlock(kind, entry.key, entry.entries)),
  ];
}

class RuleSyntaxError extends Error {}

/** In turn: blanks, comments, text on one line, text until a mark (`<<E`, and `<<-E` with an indented end), words, punctuation. */
const TOKEN = new RegExp(
  [
    String.raw`\s+|#[^\n]*|\/\/[^\n]*|\/\*[\s\S]*?\*\/`,
    String.raw`("(?:[^"\\\n]|\\.)*")`,
    String.raw`<<([A-Za-z_][\w-]*)\r?\n((?:[^\n]*\n)*?)\2(?=\r?\n|$)`,
    String.raw`<<-([A-Za-z_][\w-]*)\r?\n((?:[^\n]*\n)*?)[ \t]*\4(?=\r?\n|$)`,
    String.raw`([\w.+-]+|[{}[\]=:,])`,
  ].join('|'),
  'uy',
);

/** What marks a token as text. */
const QUOTE = '"';

function tokenize(text: string): readonly string[] {
  const tokens: string[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length) {
    const match = TOKEN.exec(text);
    if (!match) throw new RuleSyntaxError();
    const [, quoted, , plain, , indented, other] = match;
    const literal = quoted === undefined ? (plain ?? indented) : unquote(quoted);
    if (literal?.includes('${')) throw new RuleSyntaxError(); // it may contain quotes, and its value is not known
    const token = literal === undefined ? other : QUOTE + literal;
    if (token !== undefined) tokens.push(token);
  }
  return tokens;
}

function unquote(quoted: string): string {
  try {
    return JSON.parse(quoted) as string;
  } catch {
    throw new RuleSyntaxError(); // an escape that JSON does not have
  }
}

/** Rules have four levels, and labels between them. */
const MAX_DEPTH = 20;

function parseTokens(tokens: readonly string[]): readonly Entry[] {
  let [at, depth] = [0, 0];
  /** Takes a punctuation mark, if it is next. */
  const take = (mark: string): boolean => tokens[at] === mark && at++ >= 0;
  const expect = (isThere: boolean): void => {
    if (!isThere) throw new RuleSyntaxError();
  };
  /** Text, or a token of a form. */
  const word = (form: RegExp): string => {
    const token = tokens[at++] ?? '';
    if (token.startsWith(QUOTE)) return token.slice(1);
    expect(form.test(token));
    return token;
  };
  const scalar = () => word(/^(?:true|false|-?\d[\w.+-]*)$/u);

  const entries = (): readonly Entry[] => {
    const found: Entry[] = [];
    while (at < tokens.length && tokens[at] !== '}') {
      for (const one of entry()) found.push(one); // a list may have more blocks than a call takes arguments
      take(',');
    }
    return found;
  };
  const block = (key: string): Entry => {
    expect(take('{') && ++depth <= MAX_DEPTH);
    const inner = entries();
    expect(take('}'));
    depth--;
    return { key, value: undefined, entries: inner };
  };
  /** `KEY = VALUE`, or `KEY LABEL { … }`, which is the same as `KEY = { LABEL = { … } }`. */
  const entry = (): readonly Entry[] => {
    const key = word(/^[A-Za-z_]/u);
    const isAssigned = take('=') || take(':');
    if (tokens[at] === '{') return [block(key)];
    if (isAssigned) return take('[') ? list(key) : [{ key, value: scalar(), entries: [] }];
    expect(++depth <= MAX_DEPTH);
    const label = entry();
    depth--;
    expect(label.every(({ value }) => value === undefined));
    return [{ key, value: undefined, entries: label }];
  };
  /** Objects in a list are blocks of the same kind. */
  const list = (key: string): readonly Entry[] => {
    const value: string[] = [];
    const objects: Entry[] = [];
    while (!take(']')) {
      if (tokens[at] === '{') objects.push(block(key));
      else value.push(scalar());
      if (tokens[at] !== ']') expect(take(','));
    }
    return objects.length > 0 && value.length === 0 ? objects : [{ key, value, entries: [] }, ...objects];
  };

  const root = tokens[0] === '{' ? block('').entries : entries();
  expect(at === tokens.length);
  return root;
}
