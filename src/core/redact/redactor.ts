import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PACKAGE_ROOT } from '../paths.ts';
import { createMatcher, type Matcher } from './multi-matcher.ts';

/** What replaces a secret. */
export const MASK = '***';

/** Masking shorter values would hide ordinary words. */
const MIN_LENGTH = 4;

/**
 * Masks known secrets in every form in which they may appear: raw, escaped for URLs, JSON (twice as well) and HTML, with some or
 * all characters as `%XX` or `\\uXXXX`, in base64, alone or with a user before it, and in hex. A weak
 * secret (`secretWeakness`), such as `root`, is masked only as a whole value: `ca_roots` stays as it is.
 */
export interface Redactor {
  add(secret: string): void;
  text(text: string): string;
  /** Whether UTF-8 text contains a secret. */
  matches(bytes: Buffer): boolean;
  /** A redactor of the secrets that are known now. Later ones are added to this one only. */
  snapshot(): Redactor;
  /** Characters of the longest form. Two chunks of a text must overlap by one less, so that no secret is missed between them. */
  readonly maxPatternLength: number;
}

export function createRedactor(): Redactor {
  const added: string[] = [];
  const known = new Set<string>();
  const weak = new Set<string>();
  let weakPattern: RegExp | undefined;
  let maxPatternLength = 0;
  let pattern: RegExp | undefined;
  let matcher: Matcher | undefined;
  return {
    add(secret) {
      if (secret.length < MIN_LENGTH || known.has(secret) || weak.has(secret)) return;
      added.push(secret);
      if (secretWeakness(secret) !== undefined) {
        weak.add(secret);
        weakPattern = wholeValuePattern(weak);
        maxPatternLength = Math.max(maxPatternLength, secret.length);
        return;
      }
      for (const form of [secret, ...findLongLines(secret)].flatMap(encodeForms)) known.add(form);
      const longestFirst = [...known].sort((a, b) => b.length - a.length);
      maxPatternLength = Math.max(maxPatternLength, longestFirst[0]?.length ?? 0);
      pattern = new RegExp(longestFirst.map(escapeRegExp).join('|'), 'g');
      matcher = createMatcher(known);
    },
    text(text) {
      const masked = pattern && matcher?.inText(text) ? text.replaceAll(pattern, MASK) : text;
      return weakPattern ? masked.replaceAll(weakPattern, MASK) : masked;
    },
    matches: (bytes) => matcher?.inBytes(bytes) || [...weak].some((secret) => bytes.includes(secret)),
    snapshot() {
      const copy = createRedactor();
      for (const secret of added) copy.add(secret);
      return copy;
    },
    get maxPatternLength() {
      return maxPatternLength;
    },
  };
}

/** A text as a whole, a quoted text that is not the name of a JSON field, a cell of CSV, or what follows `=` or `Bearer`. */
function wholeValuePattern(secrets: Iterable<string>): RegExp {
  const anyOf = [...secrets].map(escapeRegExp).join('|');
  return new RegExp(`(?<=^|["'=,\\n]|Bearer )(?:${anyOf})(?=$|["'&,\\\\\\r\\n])(?!\\\\?"\\s*:)`, 'gu');
}

function escapeRegExp(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/gu, '\\$&');
}

/** A line of a key is as secret as the whole: an error message may quote one line, or fold all lines into one. */
const LONG_LINE = 16;

function findLongLines(secret: string): readonly string[] {
  const lines = secret.split(/[\r\n]+/u).filter((line) => line.length >= LONG_LINE && !line.startsWith('-----'));
  return lines.length > 1 || secret.includes('\n') ? lines : [];
}

function encodeForms(secret: string): readonly string[] {
  const url = encodeURIComponent(secret);
  return [
    secret,
    url,
    url.replaceAll(/%[0-9A-F]{2}/gu, (code) => code.toLowerCase()),
    new URLSearchParams({ v: secret }).toString().slice('v='.length),
    ...escapeForJson(secret),
    ...['u', 'l'].flatMap((letters) => escapeBytes(secret, letters === 'u')),
    secret.replaceAll(/[&<>"']/gu, (character) => HTML_ESCAPES[character] ?? character),
    Buffer.from(secret).toString('hex'),
    Buffer.from(secret).toString('hex').toUpperCase(),
    ...[0, 1, 2].flatMap((offset) => encodeBase64At(secret, offset)),
  ].filter((form) => form.length >= MIN_LENGTH);
}

/** As encoders write it: with `/` escaped or not, with HTML's characters escaped as Go does, and JSON within JSON. */
function escapeForJson(secret: string): readonly string[] {
  const quote = (text: string) => JSON.stringify(text).slice(1, -1);
  const json = quote(secret);
  const go = json.replaceAll(/[<>&]/gu, (character) => toUnicodeEscape(character, false));
  return [json, go, ...[json, go].flatMap((text) => [text.replaceAll('/', '\\/'), quote(text)])];
}

/** All characters escaped, and all but letters and digits. */
function escapeBytes(secret: string, isUpperCase: boolean): readonly string[] {
  const hex = Buffer.from(secret).toString('hex');
  const percent = (isUpperCase ? hex.toUpperCase() : hex).replaceAll(/../gu, '%$&');
  const toEscape = (character: string) => toUnicodeEscape(character, isUpperCase);
  return [percent, secret.replaceAll(/[\s\S]/g, toEscape), secret.replaceAll(/[^A-Za-z0-9]/g, toEscape)];
}

function toUnicodeEscape(character: string, isUpperCase: boolean): string {
  const hex = character.charCodeAt(0).toString(16).padStart(4, '0');
  return `\\u${isUpperCase ? hex.toUpperCase() : hex}`;
}

const HTML_ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/**
 * The base64 characters of a secret that begins `offset` bytes into the encoded text, as in `Basic base64(user:password)`.
 * Four characters encode three bytes; those that also encode a neighbouring byte are left out.
 */
function encodeBase64At(secret: string, offset: number): readonly string[] {
  const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(secret)]);
  const first = Math.ceil((offset * 4) / 3);
  const last = Math.floor((bytes.length * 4) / 3);
  return [bytes.toString('base64').slice(first, last), bytes.toString('base64url').slice(first, last)];
}

/** Shorter secrets are parts of ordinary words. */
export const MIN_SECRET_LENGTH = 8;

/** Why a secret cannot be masked wherever it appears without damage to other text; undefined if it can. */
export function secretWeakness(secret: string): string | undefined {
  if (secret.length < MIN_SECRET_LENGTH) return `is shorter than ${MIN_SECRET_LENGTH} characters`;
  return isOwnWord(secret) ? "is a word of Tidemark's own" : undefined;
}

/** Whether a secret is the name of a table, source or column, or a part of one. */
function isOwnWord(secret: string): boolean {
  if (!/^[a-z][a-z0-9_]*$/u.test(secret)) return false;
  ownWords ??= readOwnWords();
  return ownWords.some((word) => word.includes(secret));
}

let ownWords: readonly string[] | undefined;

/** The names of the tables, which are those of the sources as well, and of their columns. */
function readOwnWords(): readonly string[] {
  const folder = join(PACKAGE_ROOT, 'queries', 'tables');
  const files = readdirSync(folder).filter((file) => file.endsWith('.sql'));
  const columns = files.flatMap((file) =>
    [...readFileSync(join(folder, file), 'utf8').matchAll(/^ {2}(\w+) /gmu)].map(([, column = '']) => column),
  );
  return [...new Set([...files.map((file) => file.slice(0, -'.sql'.length)), ...columns])];
}
