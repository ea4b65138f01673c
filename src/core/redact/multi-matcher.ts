/** Characters that are looked at together. Texts to find may not be shorter. */
const GROUP = 4;

/** Says whether any of some texts stands in another, or in bytes that are one in UTF-8. */
export interface Matcher {
  inText(text: string): boolean;
  inBytes(bytes: Buffer): boolean;
}

/**
 * A hundred forms of secrets are searched for in hundreds of megabytes, which a regular expression takes seconds for: here only
 * every so many characters a group of four is looked up, and no text as long as the shortest fits between two of them (the idea of
 * Wu and Manber's search for many patterns).
 * @param needles texts of at least 4 characters
 */
export function createMatcher(needles: Iterable<string>): Matcher {
  const texts = [...needles];
  const text = tableOf(texts);
  const bytes = tableOf(texts.map((needle) => Buffer.from(needle).toString('latin1')));
  return {
    inText(searched) {
      for (let at = 0; at + GROUP <= searched.length; at += text.step) {
        const group = numberOf(
          searched.charCodeAt(at),
          searched.charCodeAt(at + 1),
          searched.charCodeAt(at + 2),
          searched.charCodeAt(at + 3),
        );
        if (text.groups[group] === 1 && text.standsIn(searched.slice(...text.around(at)))) return true;
      }
      return false;
    },
    inBytes(searched) {
      for (let at = 0; at + GROUP <= searched.length; at += bytes.step) {
        const group = numberOf(searched[at]!, searched[at + 1]!, searched[at + 2]!, searched[at + 3]!);
        if (bytes.groups[group] === 1 && bytes.standsIn(searched.toString('latin1', ...bytes.around(at)))) return true;
      }
      return false;
    },
  };
}

function tableOf(needles: readonly string[]) {
  const lengths = needles.map(({ length }) => length);
  const longest = Math.max(...lengths);
  const step = Math.min(...lengths) - GROUP + 1;
  const groups = new Uint8Array(1 << 16);
  for (const needle of needles) {
    for (let at = 0; at < step; at++) {
      const codes = [0, 1, 2, 3].map((place) => needle.charCodeAt(at + place)) as [number, number, number, number];
      groups[numberOf(...codes)] = 1;
    }
  }
  return {
    step,
    groups,
    /** Where a text lies, if one of its first groups is the one at a place. */
    around: (at: number): [number, number] => [Math.max(0, at - step + 1), at + longest],
    standsIn: (near: string) => needles.some((needle) => near.includes(needle)),
  };
}

/** Four characters as a number of 16 bits; others may have the same. */
function numberOf(one: number, two: number, three: number, four: number): number {
  return Math.imul(one | (two << 8) | (three << 16) | (four << 24), 0x9e3779b1) >>> 16;
}
