/** Characters that are hashed together. Patterns may not be shorter. */
const GROUP = 4;

/** Searches a text, or bytes of UTF-8 text, for any of several patterns. */
export interface Matcher {
  inText(text: string): boolean;
  inBytes(bytes: Buffer): boolean;
}

/**
 * A matcher for about a hundred patterns in hundreds of megabytes, for which a regular expression takes seconds. It looks up a
 * group of four characters only every `step` characters; the shortest pattern does not fit between two of them (the idea of Wu
 * and Manber's multi-pattern search).
 * @param patterns texts of at least 4 characters
 */
export function createMatcher(patterns: Iterable<string>): Matcher {
  const texts = [...patterns];
  const encoded = texts.map((pattern) => Buffer.from(pattern).toString('latin1'));
  const text = buildTable(texts);
  // ASCII, as nearly every secret: its characters are its bytes.
  const bytes = encoded.every((pattern, index) => pattern === texts[index]) ? text : buildTable(encoded);
  return {
    inText(searched) {
      for (let at = 0; at + GROUP <= searched.length; at += text.step) {
        const group = hashText(searched, at);
        if (text.groups[group] === 1 && text.isIn(searched.slice(...text.around(at)), group)) return true;
      }
      return false;
    },
    inBytes(searched) {
      for (let at = 0; at + GROUP <= searched.length; at += bytes.step) {
        const group = hashGroup(searched[at]!, searched[at + 1]!, searched[at + 2]!, searched[at + 3]!);
        if (bytes.groups[group] === 1 && bytes.isIn(searched.toString('latin1', ...bytes.around(at)), group))
          return true;
      }
      return false;
    },
  };
}

function buildTable(patterns: readonly string[]) {
  const lengths = patterns.map(({ length }) => length);
  const longest = Math.max(...lengths);
  const step = Math.min(...lengths) - GROUP + 1;
  const groups = new Uint8Array(1 << 16);
  // A token may contain words that its service writes in each response: only the patterns with that group are compared.
  const byGroup = new Map<number, string[]>();
  for (const pattern of patterns) {
    for (let at = 0; at < step; at++) {
      const group = hashText(pattern, at);
      groups[group] = 1;
      const known = byGroup.get(group);
      if (known?.at(-1) !== pattern) byGroup.set(group, known ? [...known, pattern] : [pattern]);
    }
  }
  return {
    step,
    groups,
    /** The range that contains a pattern, if one of its first groups begins at `at`. */
    around: (at: number): [number, number] => [Math.max(0, at - step + 1), at + longest],
    isIn: (near: string, group: number) => (byGroup.get(group) ?? []).some((pattern) => near.includes(pattern)),
  };
}

function hashText(text: string, at: number): number {
  return hashGroup(text.charCodeAt(at), text.charCodeAt(at + 1), text.charCodeAt(at + 2), text.charCodeAt(at + 3));
}

/** A hash of four characters, 16 bits wide. */
function hashGroup(one: number, two: number, three: number, four: number): number {
  return Math.imul(one | (two << 8) | (three << 16) | (four << 24), 0x9e3779b1) >>> 16;
}
