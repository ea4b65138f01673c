/** Characters that are hashed together. Patterns may not be shorter. */
const GROUP = 4;

/**
 * A search for about a hundred patterns in hundreds of megabytes, for which a regular expression takes seconds. It looks up a
 * group of four characters only every `step` characters; the shortest pattern does not fit between two of them (the idea of Wu
 * and Manber's multi-pattern search).
 * @param patterns texts of at least 4 characters
 * @returns whether a text has one of them. Bytes of UTF-8 are given as Latin-1, one character for each.
 */
export function createMatcher(patterns: Iterable<string>): (text: string) => boolean {
  const texts = [...patterns];
  const searched = [...new Set([...texts, ...texts.map((text) => Buffer.from(text).toString('latin1'))])];
  const lengths = searched.map(({ length }) => length);
  const longest = Math.max(...lengths);
  const step = Math.min(...lengths) - GROUP + 1;
  // Twice as many places as groups of patterns, so that most groups of a text are at a place of none.
  const bits = Math.min(20, Math.max(16, Math.ceil(Math.log2(2 * searched.length * step))));
  // A token may contain words that its service writes in each response: only the patterns with that group are compared.
  const byGroup = new Array<Set<string> | undefined>(1 << bits);
  for (const pattern of searched) {
    for (let at = 0; at < step; at++) {
      const group = hashGroup(pattern, at, bits);
      byGroup[group] = (byGroup[group] ?? new Set()).add(pattern);
    }
  }
  return (text) => {
    for (let at = 0; at + GROUP <= text.length; at += step) {
      const known = byGroup[hashGroup(text, at, bits)];
      if (!known) continue;
      const near = text.slice(Math.max(0, at - step + 1), at + longest);
      for (const pattern of known) if (near.includes(pattern)) return true;
    }
    return false;
  };
}

function hashGroup(text: string, at: number, bits: number): number {
  const low = text.charCodeAt(at) | (text.charCodeAt(at + 1) << 8);
  const high = (text.charCodeAt(at + 2) << 16) | (text.charCodeAt(at + 3) << 24);
  return Math.imul(low | high, 0x9e3779b1) >>> (32 - bits);
}
