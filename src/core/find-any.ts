/** Characters that are looked at together. Texts to find may not be shorter. */
const GROUP = 4;

/**
 * Says whether any of some texts stands in another. A hundred forms of secrets are searched for in hundreds of megabytes, which a
 * regular expression takes seconds for: here only every so many characters a group of four is looked up, and no text as long as the
 * shortest fits between two of them (the idea of Wu and Manber's search for many patterns).
 * @param needles texts of at least 4 characters
 */
export function findAny(needles: Iterable<string>): (text: string) => boolean {
  const all = [...needles];
  const lengths = all.map(({ length }) => length);
  const longest = Math.max(...lengths);
  const step = Math.min(...lengths) - GROUP + 1;
  const groups = new Uint8Array(1 << 16);
  for (const needle of all) for (let at = 0; at < step; at++) groups[groupAt(needle, at)] = 1;

  const standsAround = (text: string, at: number): boolean => {
    const near = text.slice(Math.max(0, at - step + 1), at + longest);
    return all.some((needle) => near.includes(needle));
  };
  return (text) => {
    for (let at = 0; at + GROUP <= text.length; at += step) {
      if (groups[groupAt(text, at)] === 1 && standsAround(text, at)) return true;
    }
    return false;
  };
}

/** Four characters as a number of 16 bits; others may have the same. */
function groupAt(text: string, at: number): number {
  const four =
    text.charCodeAt(at) |
    (text.charCodeAt(at + 1) << 8) |
    (text.charCodeAt(at + 2) << 16) |
    (text.charCodeAt(at + 3) << 24);
  return Math.imul(four, 0x9e3779b1) >>> 16;
}
