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
const BACKSLASH = 92;
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
    else if (code === 123 || code === 91) {
      depth++;
      if (depth > maxDepth) throw new SyntaxError(`nested deeper than ${maxDepth}`);
    } else if (code === 125 || code === 93) depth--;
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

/** Like `parseJson`, but every number keeps its text, so that `printJson` prints it unchanged. */
export function parseLossless(text: string, maxDepth = 200): unknown {
  scan(text, maxDepth);
  return parse(text, null, { onDuplicateKey: ({ newValue }) => newValue });
}

/** Indented JSON of a value from `parseJson` or `parseLossless`, with every digit of integers. */
export function printJson(value: unknown): string {
  return stringify(value, undefined, 2) ?? 'null';
}
