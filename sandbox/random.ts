import { DAY_MS } from '../src/core/clock.ts';

const LETTERS = 'ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789';

/** 32 bits of FNV-1a over the text, so that streams named `1/agents` and `1/pools` are independent. */
function hash32(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0;
}

/**
 * A seeded random number generator: the same seed gives the same data on every machine. The algorithm is Mulberry32
 * (public domain, T. Ettinger): 32 bits of state are enough for generated data, and it is fast.
 */
export class Random {
  #state: number;

  constructor(seed: number | string) {
    this.#state = hash32(String(seed));
  }

  /** A generator that gives the same numbers from here on. */
  copy(): Random {
    const copy = new Random('');
    copy.#state = this.#state;
    return copy;
  }

  /** A number in [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  }

  /** A whole number from `min` to `max`, both included. */
  int(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1));
  }

  pick<T>(list: readonly T[]): T {
    return list[this.int(0, list.length - 1)]!;
  }

  /** One item of the list, chosen in proportion to its weight. */
  weighted<T>(list: readonly T[], weight: (item: T) => number): T {
    let left = this.next() * list.reduce((sum, item) => sum + weight(item), 0);
    const chosen = list.find((item) => {
      left -= weight(item);
      return left < 0;
    });
    return chosen ?? list.at(-1)!;
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  hex(length: number): string {
    return this.#letters('0123456789abcdef', length);
  }

  /** `prefix` and `length` letters and digits, as in `ws-9kXq2…`. */
  id(prefix: string, length: number): string {
    return prefix + this.#letters(LETTERS, length);
  }

  #letters(alphabet: string, length: number): string {
    let text = '';
    for (let index = 0; index < length; index++) text += alphabet[this.int(0, alphabet.length - 1)];
    return text;
  }
}

export function createRandom(seed: number | string): Random {
  return new Random(seed);
}

export function words(text: string): readonly string[] {
  return text.trim().split(/\s+/u);
}

export function uuid(random: Random): string {
  return [8, 4, 4, 4, 12].map((length) => random.hex(length)).join('-');
}

export function daysBefore(now: Date, days: number): Date {
  return new Date(now.getTime() - days * DAY_MS);
}

/** RFC 3339 with microseconds, as Go services print times. */
export function formatMicroseconds(date: Date, random: Random): string {
  return `${date.toISOString().slice(0, -1)}${String(random.int(1, 999)).padStart(3, '0')}Z`;
}

/** RFC 3339 in whole seconds. */
export function formatWholeSeconds(date: Date): string {
  return `${date.toISOString().slice(0, 19)}Z`;
}

/** A duration as Go services print it: `1h0m0s`, `30m0s`, `0s`. */
export function formatDuration(seconds: number): string {
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor((seconds % 3600) / 60);
  const rest = `${seconds % 60}s`;
  if (hours > 0) return `${hours}h${minutes}m${rest}`;
  return minutes > 0 ? `${minutes}m${rest}` : rest;
}

/** The number of rows at a scale of a table that has `base` rows at scale 1: it grows with the square root and never shrinks. */
export function scaleCount(base: number, scale: number): number {
  return Math.round(base * Math.max(1, Math.sqrt(scale)));
}

/** Values beyond this number are computed each time. */
const MAX_VALUES = 1_000;

/**
 * Keeps values that depend on their key alone: the same seed gives the same keys and certificates in every sandbox of a process, and
 * they take most of a start. Whoever gets a value does not change it.
 */
export function createMemo<T>(): (key: string, create: () => T) => T {
  const values = new Map<string, T>();
  return (key, create) => {
    const known = values.get(key);
    if (known !== undefined) return known;
    const value = create();
    if (values.size < MAX_VALUES) values.set(key, value);
    return value;
  };
}
