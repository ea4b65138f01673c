import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PACKAGE_ROOT } from '../paths.ts';

/** What replaces a secret. */
const MASK = '***';

/** Masking shorter values would hide ordinary words. */
const MIN_LENGTH = 4;

/**
 * Masks known secrets in every form in which they may appear: raw, escaped for URLs, JSON (twice as well) and HTML, with some or
 * all characters as `%XX` or `\\uXXXX`, in base64, alone or with a user before it, and in hex. A weak
 * secret (`secretWeakness`), such as `root`, is masked only as a whole value: `ca_roots` stays as it is.
 */
export class Redactor {
  readonly #added: string[] = [];
  readonly #forms = new Set<string>();
  readonly #weak = new Set<string>();
  #weakPattern: RegExp | undefined;
  #maxPatternLength = 0;
  /** Made with the first text after a secret was added: a configuration adds many at once. */
  #search: { readonly matcher: Matcher; readonly pattern: RegExp } | undefined;

  add(secret: string): void {
    if (secret.length < MIN_LENGTH || this.#forms.has(secret) || this.#weak.has(secret)) return;
    this.#added.push(secret);
    if (secretWeakness(secret) !== undefined) this.#addWeak(secret);
    else this.#addForms(secret);
  }

  #addWeak(secret: string): void {
    this.#weak.add(secret);
    this.#weakPattern = wholeValuePattern(this.#weak);
    this.#maxPatternLength = Math.max(this.#maxPatternLength, secret.length);
  }

  #addForms(secret: string): void {
    for (const form of [secret, ...findLongLines(secret)].flatMap(encodeForms)) {
      this.#forms.add(form);
      this.#maxPatternLength = Math.max(this.#maxPatternLength, form.length);
    }
    this.#search = undefined;
  }

  text(text: string): string {
    const search = this.#findSearch();
    const masked = search?.matcher.inText(text) ? text.replaceAll(search.pattern, MASK) : text;
    return this.#weakPattern ? masked.replaceAll(this.#weakPattern, MASK) : masked;
  }

  /** Whether UTF-8 text contains a secret. */
  matches(bytes: Buffer): boolean {
    return this.#findSearch()?.matcher.inBytes(bytes) || [...this.#weak].some((secret) => bytes.includes(secret));
  }

  /** A redactor of the secrets that are known now. Later ones are added to this one only. */
  snapshot(): Redactor {
    const copy = new Redactor();
    for (const secret of this.#added) copy.add(secret);
    return copy;
  }

  /** Characters of the longest form. Two chunks of a text must overlap by one less, so that no secret is missed between them. */
  get maxPatternLength(): number {
    return this.#maxPatternLength;
  }

  #findSearch() {
    if (this.#forms.size > 0) {
      this.#search ??= { matcher: createMatcher(this.#forms), pattern: createPattern(this.#forms) };
    }
    return this.#search;
  }
}

/** The longest first: a form may begin with another one. */
function createPattern(forms: Iterable<string>): RegExp {
  const longestFirst = [...forms].sort((a, b) => b.length - a.length);
  return new RegExp(longestFirst.map(escapeRegExp).join('|'), 'g');
}

/** A text as a whole, a quoted text that is not the name of a JSON field, a cell of CSV, or what follows `=` or `Bearer`. */
function wholeValuePattern(secrets: Iterable<string>): RegExp {
  const alternatives = [...secrets].map(escapeRegExp).join('|');
  return new RegExp(`(?<=^|["'=,\\n]|Bearer )(?:${alternatives})(?=$|["'&,\\\\\\r\\n])(?!\\\\?"\\s*:)`, 'gu');
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

/** Characters that are hashed together. Patterns may not be shorter. */
const GROUP = 4;

/** Searches a text, or bytes of UTF-8 text, for any of several patterns. */
interface Matcher {
  inText(text: string): boolean;
  inBytes(bytes: Buffer): boolean;
}

/**
 * A matcher for about a hundred patterns in hundreds of megabytes, for which a regular expression takes seconds. It looks up a
 * group of four characters only every `step` characters; the shortest pattern does not fit between two of them (the idea of Wu
 * and Manber's multi-pattern search).
 * @param patterns texts of at least 4 characters
 */
export function createMatcher(patterns: Iterable<string>): Matcher {
  const texts = [...patterns];
  const encoded = texts.map((pattern) => Buffer.from(pattern).toString('latin1'));
  const text = buildTable(texts);
  // ASCII, as nearly every secret: its characters are its bytes.
  const bytes = encoded.every((pattern, index) => pattern === texts[index]) ? text : buildTable(encoded);
  return {
    inText(searched) {
      for (let at = 0; at + GROUP <= searched.length; at += text.step) {
        const group = hashText(searched, at);
        if (text.groups[group] === 1 && text.isIn(searched.slice(...text.around(at)), group)) return true;
      }
      return false;
    },
    inBytes(searched) {
      for (let at = 0; at + GROUP <= searched.length; at += bytes.step) {
        const group = hashGroup(searched[at]!, searched[at + 1]!, searched[at + 2]!, searched[at + 3]!);
        if (bytes.groups[group] === 1 && bytes.isIn(searched.toString('latin1', ...bytes.around(at)), group))
          return true;
      }
      return false;
    },
  };
}

function buildTable(patterns: readonly string[]) {
  const lengths = patterns.map(({ length }) => length);
  const longest = Math.max(...lengths);
  const step = Math.min(...lengths) - GROUP + 1;
  const groups = new Uint8Array(1 << 16);
  // A token may contain words that its service writes in each response: only the patterns with that group are compared.
  const byGroup = new Map<number, string[]>();
  for (const pattern of patterns) {
    for (let at = 0; at < step; at++) {
      const group = hashText(pattern, at);
      groups[group] = 1;
      const known = byGroup.get(group);
      if (known?.at(-1) !== pattern) byGroup.set(group, known ? [...known, pattern] : [pattern]);
    }
  }
  return {
    step,
    groups,
    /** The range that contains a pattern, if one of its first groups begins at `at`. */
    around: (at: number): [number, number] => [Math.max(0, at - step + 1), at + longest],
    isIn: (near: string, group: number) => (byGroup.get(group) ?? []).some((pattern) => near.includes(pattern)),
  };
}

function hashText(text: string, at: number): number {
  return hashGroup(text.charCodeAt(at), text.charCodeAt(at + 1), text.charCodeAt(at + 2), text.charCodeAt(at + 3));
}

/** A hash of four characters, 16 bits wide. */
function hashGroup(one: number, two: number, three: number, four: number): number {
  return Math.imul(one | (two << 8) | (three << 16) | (four << 24), 0x9e3779b1) >>> 16;
}

/** Masks known secrets in a text that arrives in pieces, also where two pieces share one. */
interface TextMasker {
  /** @returns what can be passed on: the end is held back while it may be the beginning of a secret */
  push(piece: string): string;
  /** @returns the rest */
  end(): string;
}

export function createTextMasker(redactor: Pick<Redactor, 'text' | 'maxPatternLength'>): TextMasker {
  let held = '';
  return {
    push(piece) {
      const masked = redactor.text(held + piece);
      const end = Math.max(0, masked.length - redactor.maxPatternLength + 1);
      held = masked.slice(end);
      return masked.slice(0, end);
    },
    end: () => held,
  };
}

/** Searches bytes that arrive in chunks for known secrets, also across two chunks. */
export interface SecretScanner {
  push(chunk: Buffer): void;
  /** Whether any chunk so far contained a secret. */
  matched(): boolean;
}

/** Maximum bytes of a character in UTF-8. */
const MAX_CHARACTER_BYTES = 4;

export function createSecretScanner(redactor: Redactor): SecretScanner {
  const overlap = MAX_CHARACTER_BYTES * redactor.maxPatternLength;
  let end: Buffer = Buffer.alloc(0);
  let hasMatched = false;
  return {
    matched: () => hasMatched,
    push(chunk) {
      hasMatched ||= redactor.matches(chunk) || redactor.matches(Buffer.concat([end, chunk.subarray(0, overlap)]));
      end = (chunk.length < overlap ? Buffer.concat([end, chunk]) : chunk).subarray(-overlap);
    },
  };
}
