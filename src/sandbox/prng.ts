/** A seeded source of chance: the same seed gives the same estate, byte for byte, on every machine. */
export interface Random {
  /** A number in [0, 1). */
  next(): number;
  /** A whole number from `min` to `max`, both included. */
  int(min: number, max: number): number;
  pick<T>(list: readonly T[]): T;
  /** One of the list, each as often as its weight says. */
  weighted<T>(list: readonly T[], weightOf: (item: T) => number): T;
  chance(probability: number): boolean;
  hex(length: number): string;
  /** `prefix` and `length` letters and digits, as in `ws-9kXq2…`. */
  id(prefix: string, length: number): string;
}

const LETTERS = 'ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789';

/** 32 bits of FNV-1a over the text, so that streams named `1/agents` and `1/pools` are independent. */
function hash32(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0;
}

/** Mulberry32 (public domain, T. Ettinger): 32 bits of state are plenty for invented data, and it is fast. */
export function createRandom(seed: number | string): Random {
  let state = hash32(String(seed));
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
  const int = (min: number, max: number): number => min + Math.floor(next() * (max - min + 1));
  const letters = (alphabet: string, length: number): string => {
    let text = '';
    for (let index = 0; index < length; index++) text += alphabet[int(0, alphabet.length - 1)];
    return text;
  };
  return {
    next,
    int,
    pick: (list) => list[int(0, list.length - 1)]!,
    weighted: (list, weightOf) => {
      let left = next() * list.reduce((sum, item) => sum + weightOf(item), 0);
      const taken = list.find((item) => {
        left -= weightOf(item);
        return left < 0;
      });
      return taken ?? list.at(-1)!;
    },
    chance: (probability) => next() < probability,
    hex: (length) => letters('0123456789abcdef', length),
    id: (prefix, length) => prefix + letters(LETTERS, length),
  };
}
