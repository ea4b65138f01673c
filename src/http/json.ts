import { parse, stringify } from 'lossless-json';

/**
 * Parses JSON; integers beyond 2^53 become bigint (scheduler times and CA serial numbers have 64 bits).
 * @throws SyntaxError for text that is not JSON, or nests deeper than `maxDepth`.
 */
export function parseJson(text: string, maxDepth = 200): unknown {
  const { longestDigits } = scan(text, maxDepth);
  if (longestDigits < UNSAFE_DIGITS) return JSON.parse(text);
  return parse(text, null, { parseNumber: integerOrNumber, onDuplicateKey: ({ newValue }) => newValue });
}

function integerOrNumber(literal: string): number | bigint {
  const number = Number(literal);
  return Number.isSafeInteger(number) || !/^-?\d+$/u.test(literal) ? number : BigInt(literal);
}

const QUOTE = 34;
const COMMA = 44;
const OPEN_LIST = 91;
const BACKSLASH = 92;
const CLOSE_LIST = 93;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;
/** 2^53 has 16 digits: an integer with fewer fits a double exactly. */
const UNSAFE_DIGITS = 16;

/**
 * One pass over the text outside strings. Hostile nesting would overflow the stack of functions that walk the value later, and
 * long numbers need the slow parser.
 * @throws SyntaxError for nesting deeper than `maxDepth`.
 */
function scan(text: string, maxDepth: number): { readonly longestDigits: number } {
  let depth = 0;
  let digits = 0;
  let longestDigits = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code >= 48 && code <= 57) {
      digits++;
      continue;
    }
    if (digits > longestDigits) longestDigits = digits;
    digits = 0;
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === OPEN_OBJECT || code === OPEN_LIST) {
      depth++;
      if (depth > maxDepth) throw new SyntaxError(`nested deeper than ${maxDepth}`);
    } else if (code === CLOSE_OBJECT || code === CLOSE_LIST) depth--;
  }
  return { longestDigits: Math.max(longestDigits, digits) };
}

function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return end;
  }
  return text.length;
}

/** The text of each element of a list, as it was sent. @param text a list that `parseJson` accepts */
export function sliceElements(text: string): readonly string[] {
  const elements: string[] = [];
  let start = text.indexOf('[') + 1;
  forEachSeparator(text, (at, isEnd) => {
    const element = text.slice(start, at).trim();
    if (!isEnd || element !== '') elements.push(element);
    start = at + 1;
  });
  return elements;
}

/**
 * The text of each field of an object, as it was sent, by its name. Of two fields with the same name the last one counts, as for
 * `parseJson`.
 * @param text an object that `parseJson` accepts
 */
export function sliceFields(text: string): ReadonlyMap<string, string> {
  const known = sliced.split(text);
  if (known) return new Map(known.values.map((value, index) => [known.derived[index] ?? '', value]));
  const fields = new Map<string, string>();
  const names: string[] = [];
  let start = text.indexOf('"');
  forEachSeparator(text, (at) => {
    if (start < 0 || start > at) return; // an empty object
    const end = endOfString(text, start);
    const name = text.slice(start, end + 1);
    const value = text.slice(text.indexOf(':', end) + 1, at).trim();
    names.push(name);
    fields.set(name.includes('\\') ? String(JSON.parse(name)) : name.slice(1, -1), value);
    start = text.indexOf('"', at);
  });
  if (areDistinct(names)) sliced.learn(names, () => [...fields.keys()].map(copyText));
  return fields;
}

/** What precedes the values of an object: `{"id":`, `,"type":`. */
type Shape = readonly string[];

function shapeWith(names: readonly string[]): Shape {
  return names.map((name, index) => copyText(`${index === 0 ? '{' : ','}${name}:`));
}

/** A part of a text keeps all of it in memory: what is remembered is a copy. */
const copyText = (text: string): string => Buffer.from(text).toString();

/** To learn a shape costs as much as a search for names. One that does not recur is learned for one in so many objects at last. */
const MAX_PAUSE = 64;

/** The shape of the last object: the objects of a list have the same names in the same order. */
class LastShape<T> {
  #shape: Shape = [];
  #derived: T | undefined;
  #toSkip = 0;
  #pause = 1;

  /** The texts of the values of an object with this shape, and what was derived from its names; undefined if it has another form. */
  split(text: string): { readonly values: readonly string[]; readonly derived: T } | undefined {
    const values = splitLike(this.#shape, text);
    if (values === undefined || this.#derived === undefined) return undefined;
    this.#toSkip = 0;
    this.#pause = 1;
    return { values, derived: this.#derived };
  }

  /** @param names quoted, as they were sent */
  learn(names: readonly string[], derive: () => T): void {
    if (this.#toSkip-- > 0) return;
    this.#toSkip = this.#pause;
    this.#pause = Math.min(2 * this.#pause, MAX_PAUSE);
    this.#shape = shapeWith(names);
    this.#derived = derive();
  }
}

/** Derived are the names. */
const sliced = new LastShape<readonly string[]>();
/** Derived is the shape with underscores. */
const underscoredLast = new LastShape<Shape>();

/**
 * The texts of the values of an object with this shape, and without white space between its parts. Where the next name is known, it need
 * not be searched for.
 * @param text an object that `parseJson` accepts
 * @returns undefined if the object has another form
 */
function splitLike(shape: Shape, text: string): readonly string[] | undefined {
  const values: string[] = [];
  let at = 0;
  for (const part of shape) {
    if (!text.startsWith(part, at)) return undefined;
    const start = at + part.length;
    at = endOfValue(text, start);
    values.push(text.slice(start, at));
  }
  return text.length === at + 1 && values.length > 0 ? values : undefined;
}

/** Where a value ends; `start` if it does not begin there. */
function endOfValue(text: string, start: number): number {
  const first = text.charCodeAt(start);
  if (first === QUOTE) return endOfString(text, start) + 1;
  let at = start;
  if (first !== OPEN_OBJECT && first !== OPEN_LIST) {
    while (isScalarPart(text.charCodeAt(at))) at++;
    return at;
  }
  for (let depth = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === OPEN_OBJECT || code === OPEN_LIST) depth++;
    else if ((code === CLOSE_OBJECT || code === CLOSE_LIST) && --depth === 0) return at + 1;
  }
  return start;
}

/** Whether a character belongs to a number, `true`, `false` or `null`. */
function isScalarPart(code: number): boolean {
  return (
    (code >= 97 && code <= 122) ||
    (code >= 48 && code <= 57) ||
    (code >= 43 && code <= 46 && code !== COMMA) ||
    code === 69
  );
}

/** Finds where each element of the outermost list or object ends: at a comma, the last one at the closing bracket. */
function forEachSeparator(text: string, found: (at: number, isEnd: boolean) => void): void {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === OPEN_OBJECT || code === OPEN_LIST) depth++;
    else if (code === COMMA && depth === 1) found(at, false);
    else if (code === CLOSE_OBJECT || code === CLOSE_LIST) {
      if (depth === 1) found(at, true);
      depth--;
    }
  }
}

/**
 * Replaces hyphens by underscores in the names of an object's fields; the rest stays as it was sent.
 * @param text an object that `parseJson` accepts
 * @returns undefined if a name has escapes, or two names would be the same
 */
export function underscoreNames(text: string): string | undefined {
  const known = underscoredLast.split(text);
  if (known) return `${known.values.map((value, index) => `${known.derived[index]}${value}`).join('')}}`;
  const sent: string[] = [];
  const names: string[] = [];
  const parts: string[] = [];
  let copied = 0;
  let start = text.indexOf('"');
  forEachSeparator(text, (at) => {
    if (start < 0 || start > at) return; // an empty object
    const end = endOfString(text, start) + 1;
    const name = underscored(text.slice(start, end));
    sent.push(text.slice(start, end));
    names.push(name);
    parts.push(text.slice(copied, start), name);
    copied = end;
    start = text.indexOf('"', at);
  });
  if (!areDistinct(names)) return undefined;
  underscoredLast.learn(sent, () => shapeWith(names));
  parts.push(text.slice(copied));
  return parts.join('');
}

/** The objects of a list have the same names. */
const MAX_KNOWN = 10_000;
const knownNames = new Map<string, string>();
const knownLists = new Map<string, boolean>();

function underscored(name: string): string {
  return knownNames.get(name) ?? remember(knownNames, copyText(name), (copy) => copy.replaceAll('-', '_'));
}

/** Whether names are without escapes, and different. */
function areDistinct(names: readonly string[]): boolean {
  const text = names.join('');
  return remember(knownLists, text, () => !text.includes('\\') && new Set(names).size === names.length);
}

function remember<T>(known: Map<string, T>, key: string, compute: (key: string) => T): T {
  const found = known.get(key);
  if (found !== undefined) return found;
  const value = compute(key);
  if (known.size >= MAX_KNOWN) known.clear(); // names may be values in disguise
  known.set(key, value);
  return value;
}

/** Like `parseJson`, but every number keeps its text, so that `printJson` prints it unchanged. */
export function parseLossless(text: string, maxDepth = 200): unknown {
  scan(text, maxDepth);
  return parse(text, null, { onDuplicateKey: ({ newValue }) => newValue });
}

/** Indented JSON of a value from `parseJson` or `parseLossless`, with every digit of integers. */
export function printJson(value: unknown): string {
  return stringify(value, undefined, 2) ?? 'null';
}
