/** A word of HCL: a name, a text, or a sign. */
export interface Token {
  readonly kind: 'name' | 'text' | 'sign';
  /** Without quotes, escapes as they are written. */
  readonly value: string;
}

/** Comments, texts on one line, names, signs; nothing else of HCL stands in an ACL policy of the documents. */
const WORD = /\s+|#[^\n]*|\/\/[^\n]*|\/\*[\s\S]*?\*\/|"((?:[^"\\\n]|\\.)*)"|([A-Za-z_][\w-]*)|([{}[\]=,])/uy;

/** The words of a text; undefined where it holds something else. */
export function tokensOf(text: string): readonly Token[] | undefined {
  const tokens: Token[] = [];
  WORD.lastIndex = 0;
  while (WORD.lastIndex < text.length) {
    const match = WORD.exec(text);
    if (!match) return undefined;
    const [, quoted, name, sign] = match;
    if (quoted !== undefined) tokens.push({ kind: 'text', value: quoted });
    else if (name !== undefined) tokens.push({ kind: 'name', value: name });
    else if (sign !== undefined) tokens.push({ kind: 'sign', value: sign });
  }
  return tokens;
}
