import { parse, stringify } from 'lossless-json'; // until Node 22: `JSON.parse` shows the text of a number, `JSON.rawJSON` writes it

/** More than any service nests. */
const MAX_DEPTH = 200;

/**
 * Parses JSON; integers beyond 2^53 become bigint (scheduler times and CA serial numbers have 64 bits).
 * @throws SyntaxError for text that is not JSON, or nests deeper than `maxDepth`.
 */
export function parseJson(text: string, maxDepth = MAX_DEPTH): unknown {
  if (!hasLongNumber(text, maxDepth)) return JSON.parse(text);
  return parse(text, null, { parseNumber: integerOrNumber, onDuplicateKey: ({ newValue }) => newValue });
}

/** @returns undefined for what is no JSON */
export function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** 2^53 has 16 digits: an integer with fewer fits a double exactly, and needs no slow parser. */
const UNSAFE_DIGITS = 16;

function integerOrNumber(literal: string): number | bigint {
  const number = Number(literal);
  return Number.isSafeInteger(number) || !/^-?\d+$/u.test(literal) ? number : BigInt(literal);
}

const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const ZERO = 48;
const NINE = 57;
const OPEN_LIST = 91;
const BACKSLASH = 92;
const CLOSE_LIST = 93;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;

/**
 * Whether a number may have more digits than a double keeps. The digits of a text do not count.
 * @throws SyntaxError for hostile nesting, which would overflow the stack of functions that walk the value later
 */
function hasLongNumber(text: string, maxDepth: number): boolean {
  let [depth, digits, longest] = [0, 0, 0];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    digits = code >= ZERO && code <= NINE ? digits + 1 : 0;
    if (digits > longest) longest = digits;
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === OPEN_OBJECT || code === OPEN_LIST) {
      if (++depth > maxDepth) throw new SyntaxError(`nested deeper than ${maxDepth}`);
    } else if (code === CLOSE_OBJECT || code === CLOSE_LIST) depth--;
  }
  return longest >= UNSAFE_DIGITS;
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
  const fields = new Map<string, string>();
  let start = text.indexOf('"');
  forEachSeparator(text, (at) => {
    if (start < 0 || start > at) return; // an empty object
    const end = endOfString(text, start);
    const name = text.slice(start, end + 1);
    const value = text.slice(text.indexOf(':', end) + 1, at).trim();
    fields.set(name.includes('\\') ? String(JSON.parse(name)) : name.slice(1, -1), value);
    start = text.indexOf('"', at);
  });
  return fields;
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

/** Like `parseJson`, but every number keeps its text, so that `printJson` prints it unchanged. */
export function parseLossless(text: string): unknown {
  hasLongNumber(text, MAX_DEPTH); // for its error
  return parse(text, null, { onDuplicateKey: ({ newValue }) => newValue });
}

/**
 * Where an object has a name a second time, with another value, as a number of characters: a person may read the first one, and the last
 * one counts.
 * @param text JSON that `parseJson` accepts
 */
export function findRepeatedName(text: string): number | undefined {
  let found: number | undefined;
  const onDuplicateKey = ({ position, newValue }: { readonly position: number; readonly newValue: unknown }) => {
    found ??= position;
    return newValue;
  };
  parse(text, null, { onDuplicateKey });
  return found;
}

/**
 * The same for what was parsed already, and fast where there is none. DuckDB takes the first of two fields with one name, and `parseJson`
 * the last one: what was checked would not be what is loaded.
 */
export function findContradiction(text: string, parsed: unknown): number | undefined {
  return countColons(text) === countFields(parsed) ? undefined : findRepeatedName(text);
}

/** One for each field of an object, of two with one name as well. */
function countColons(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === COLON) count++;
  }
  return count;
}

function countFields(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const values: unknown[] = Object.values(value);
  return values.reduce<number>((sum, one) => sum + countFields(one), Array.isArray(value) ? 0 : values.length);
}

/** Indented JSON of a value from `parseJson` or `parseLossless`, with every digit of integers. */
export function printJson(value: unknown): string {
  return stringify(value, undefined, 2) ?? 'null';
}

/** JSON as `printJson`; other text stays as it is. */
export function indentJson(text: string): string {
  try {
    return printJson(parseLossless(text));
  } catch {
    return text;
  }
}
