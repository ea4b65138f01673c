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

/** A decoded text, with the offset of each of its characters in the encoded text. */
interface Mapped {
  text: string;
  readonly starts: number[];
  readonly ends: number[];
}

/** Replaces the parts of an encoded text whose decoded form a pattern finds. The rest stays as it is. */
export function replaceDecoded(text: string, path: DecodingPath, pattern: RegExp, replacement: string): string {
  const indexes = Array.from({ length: text.length }, (_, index) => index);
  const mapped = path.reduce(decodeMapped, { text, starts: indexes, ends: indexes.map((index) => index + 1) });
  let replaced = '';
  let end = 0;
  for (const { 0: found, index } of mapped.text.matchAll(pattern)) {
    replaced += text.slice(end, Math.max(end, mapped.starts[index] ?? end)) + replacement;
    end = mapped.ends[index + found.length - 1] ?? text.length;
  }
  return replaced + text.slice(end);
}

function decodeMapped(outer: Mapped, { escapes, decode }: Decoder): Mapped {
  const inner: Mapped = { text: '', starts: [], ends: [] };
  let last = 0;
  for (const { 0: found, index } of outer.text.matchAll(escapes)) {
    copyPlain(outer, inner, last, index);
    last = index + found.length;
    const decoded = decode(found);
    inner.text += decoded;
    for (let at = 0; at < decoded.length; at++) {
      inner.starts.push(outer.starts[index] ?? 0);
      inner.ends.push(outer.ends[last - 1] ?? 0);
    }
  }
  copyPlain(outer, inner, last, outer.text.length);
  return inner;
}

function copyPlain(outer: Mapped, inner: Mapped, from: number, to: number): void {
  inner.text += outer.text.slice(from, to);
  for (let at = from; at < to; at++) {
    inner.starts.push(outer.starts[at] ?? 0);
    inner.ends.push(outer.ends[at] ?? 0);
  }
}
