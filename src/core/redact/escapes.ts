/**
 * Encoders choose which characters to escape, and how. So a text is decoded to find a secret in it, instead of every mix of forms
 * being listed.
 */

/** What one kind of encoder writes for a character, and what it stands for. */
interface Decoder {
  /** Without this character a text has no such escapes. */
  readonly mark: string;
  readonly escapes: RegExp;
  readonly decode: (found: string) => string;
}

const JSON_TEXT: Decoder = { mark: '\\', escapes: /\\(?:u[0-9a-f]{4}|["/\\bfnrt])/giu, decode: decodeJson };
const URL_TEXT: Decoder = { mark: '%', escapes: /(?:%[0-9a-f]{2})+/giu, decode: decodePercent };
const HTML_TEXT: Decoder = {
  mark: '&',
  escapes: /&(?:#\d{1,6}|#x[0-9a-f]{1,5}|amp|lt|gt|quot|apos);/giu,
  decode: decodeEntity,
};
const DECODERS = [JSON_TEXT, URL_TEXT, HTML_TEXT];

/** Characters of the longest form of one that is escaped twice: each of the ten in `&#x002022;` as `\uXXXX`. */
export const MAX_ESCAPE_LENGTH = 60;

/** Whether a text may have an escape: a quick test. */
export function mayHaveEscape(text: string | Buffer): boolean {
  return DECODERS.some(({ mark }) => text.includes(mark));
}

const SHORT: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

function decodeJson(found: string): string {
  const [, short = ''] = found;
  if (found.length > 2) return String.fromCharCode(Number.parseInt(found.slice(2), 16));
  return SHORT[short] ?? short;
}

/** Bytes that are not UTF-8 stay, but for those of ASCII. */
function decodePercent(run: string): string {
  try {
    return decodeURIComponent(run);
  } catch {
    return run.replaceAll(/%[0-7][0-9a-f]/giu, (byte) => decodeURIComponent(byte));
  }
}

const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function decodeEntity(found: string): string {
  const name = found.slice(1, -1).toLowerCase();
  if (!name.startsWith('#')) return NAMED[name] ?? found;
  return String.fromCodePoint(name[1] === 'x' ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1)));
}

/** A text of HTML or XML without its escapes. */
export const decodeEntities = (text: string): string => text.replaceAll(HTML_TEXT.escapes, decodeEntity);

/** A way from an encoded text to what it stands for. */
type DecodingPath = readonly Decoder[];

/** JSON in JSON in JSON; of other kinds one in another, such as JSON in a URL. */
const MAX_DEPTH = 2;

/** Every text that this one may stand for, and the path to it. A text without escapes stands for itself only, and has none. */
export function* decodings(
  text: string,
  path: DecodingPath = [],
  known = new Set([text]),
): Generator<{ readonly decoded: string; readonly path: DecodingPath }> {
  for (const decoder of DECODERS) {
    const next = [...path, decoder];
    if (!text.includes(decoder.mark) || (path.length >= MAX_DEPTH && next.some((one) => one !== JSON_TEXT))) continue;
    const decoded = text.replaceAll(decoder.escapes, decoder.decode);
    if (known.has(decoded)) continue;
    known.add(decoded);
    yield { decoded, path: next };
    if (path.length < MAX_DEPTH) yield* decodings(decoded, next, known);
  }
}

/** Replaces the parts of an encoded text whose decoded form a pattern finds. The rest stays as it is. */
export function replaceDecoded(text: string, path: DecodingPath, pattern: RegExp, replacement: string): string {
  let decoded = text;
  /** Where in `text` each character of `decoded` begins: several begin together where one escape stands for them. */
  let starts = Array.from({ length: text.length }, (_, index) => index);
  for (const { escapes, decode } of path) {
    const parts: (readonly number[])[] = [];
    const outer = starts;
    let last = 0;
    decoded = decoded.replaceAll(escapes, (found, index: number) => {
      const characters = decode(found);
      parts.push(outer.slice(last, index), new Array<number>(characters.length).fill(outer[index] ?? 0));
      last = index + found.length;
      return characters;
    });
    starts = [...parts, outer.slice(last)].flat();
  }
  let replaced = '';
  let end = 0;
  for (const { 0: found, index } of decoded.matchAll(pattern)) {
    const last = starts[index + found.length - 1] ?? 0;
    replaced += text.slice(end, Math.max(end, starts[index] ?? end)) + replacement;
    end = starts.slice(index + found.length).find((start) => start > last) ?? text.length;
  }
  return replaced + text.slice(end);
}
