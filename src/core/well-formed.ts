/**
 * Half of a character whose other half is missing: a service may send one as an escape, and a text that is cut may end in one. UTF-8 has
 * no such thing, and DuckDB refuses JSON with it.
 */
const HALVES = /\p{Cs}/gu;
/** What JSON has: an escaped backslash, an escaped character of two halves, or a half. */
const ESCAPES = /\\\\|\\ud[89ab][\da-f]{2}\\ud[c-f][\da-f]{2}|\\ud[89a-f][\da-f]{2}/giu;
const ESCAPED_HALF_LENGTH = 6;

/** A text with U+FFFD for each half of a character. */
export function toWellFormed(text: string): string {
  return text.replaceAll(HALVES, '\ufffd');
}

/** The same for JSON, in which a half is an escape. */
export function toWellFormedJson(json: string): string {
  if (!json.includes('\\u')) return json;
  return json.replaceAll(ESCAPES, (found) => (found.length === ESCAPED_HALF_LENGTH ? '\ufffd' : found));
}
