import { isHeaderText } from '../header-text.ts';
import { decodings, MAX_ESCAPE_LENGTH, mayHaveEscape, replaceDecoded } from './escapes.ts';
import { createMatcher } from './matcher.ts';
import { secretWeakness } from './weak-secrets.ts';

const MASK = '***';

/** Masking shorter values would hide ordinary words. */
const MIN_LENGTH = 4;

/** Characters of the secrets that services have shown, the last ones: to search for the keys of thousands of certificates takes minutes. */
const MAX_SHOWN = 100_000;

/**
 * Masks known secrets in every form in which they may appear: raw, with any characters escaped for JSON (up to three times), URLs
 * and HTML, in base64, alone or with a user before it, and in hex. A weak secret (`secretWeakness`), such as `root`, is masked only
 * as a whole value: `ca_roots` stays as it is.
 */
export class Redactor {
  readonly #added: string[] = [];
  readonly #forms = new Set<string>();
  readonly #weak = new Set<string>();
  #weakPattern: RegExp | undefined;
  /** Made with the first text after a secret was added: a configuration adds many at once. */
  #search: Search | undefined;
  /** The last secrets that services have shown, and what masks them. */
  #shown = new Set<string>();
  #shownLength = 0;
  #learned: Redactor | undefined;

  add(secret: string): void {
    if (secret.length < MIN_LENGTH || this.#forms.has(secret) || this.#weak.has(secret)) return;
    this.#added.push(secret);
    if (secretWeakness(secret) !== undefined) {
      this.#weak.add(secret);
      this.#weakPattern = wholeValuePattern(this.#weak);
      return;
    }
    for (const form of [secret, ...findLongLines(secret)].flatMap(encodeForms)) this.#forms.add(form);
    this.#search = undefined;
  }

  /**
   * Masks a secret that a service shows. Only messages are masked: whoever writes to a service chooses the value of such a field, and could
   * hide all rows that have the same text. The last secrets are kept, since each renewed certificate has another key.
   */
  learn(secret: string): void {
    if (secret.length < MIN_LENGTH || secret.length > MAX_SHOWN || this.#shown.has(secret)) return;
    this.#shown.add(secret);
    this.#shownLength += secret.length;
    for (const oldest of this.#shown) {
      if (this.#shownLength <= MAX_SHOWN) break;
      this.#shown.delete(oldest);
      this.#shownLength -= oldest.length;
    }
    this.#learned = undefined;
  }

  /** Masks every known secret, for messages. */
  text(text: string): string {
    this.#learned ??= createRedactor(this.#shown);
    const masked = this.row(text);
    return this.#shown.size === 0 ? masked : this.#learned.row(masked);
  }

  /** Masks the secrets of the user, for rows. */
  row(text: string): string {
    const search = this.#findSearch();
    const plain = search?.isIn(text) ? text.replaceAll(search.pattern, MASK) : text;
    const masked = search ? maskEscaped(plain, search) : plain;
    return this.#weakPattern ? masked.replaceAll(this.#weakPattern, MASK) : masked;
  }

  /** Whether UTF-8 text contains a secret that `row` masks. */
  matches(bytes: Buffer): boolean {
    const search = this.#findSearch();
    if (search?.isIn(bytes.toString('latin1')) || [...this.#weak].some((secret) => bytes.includes(secret))) return true;
    return search !== undefined && mayHaveEscape(bytes) && isEscaped(bytes.toString('utf8'), search);
  }

  /** A redactor of the secrets that are known now. Later ones are added to this one only. */
  snapshot(): Redactor {
    const copy = createRedactor(this.#added);
    for (const secret of this.#shown) copy.learn(secret);
    return copy;
  }

  /** Characters of the longest form, and no fewer than its bytes in UTF-8. Two chunks of a text must overlap by one less, so that no secret is missed between them. */
  get maxPatternLength(): number {
    return this.#added.reduce((longest, { length }) => Math.max(longest, length), 0) * MAX_ESCAPE_LENGTH;
  }

  #findSearch() {
    if (this.#forms.size > 0) this.#search ??= createSearch(this.#forms);
    return this.#search;
  }
}

function createRedactor(secrets: Iterable<string>): Redactor {
  const redactor = new Redactor();
  for (const secret of secrets) redactor.add(secret);
  return redactor;
}

type Search = Readonly<ReturnType<typeof createSearch>>;

function createSearch(forms: ReadonlySet<string>) {
  const longestFirst = [...forms].sort((a, b) => b.length - a.length); // a form may begin with another one
  const pattern = new RegExp(longestFirst.map(escapeRegExp).join('|'), 'g');
  /** `isIn`: whether a text has a form of a secret, no escapes decoded. */
  return { isIn: createMatcher(forms), pattern };
}

/** Whether a text with a secret is one that this text stands for. */
function isEscaped(text: string, { isIn }: Search): boolean {
  for (const { decoded } of decodings(text)) if (isIn(decoded)) return true;
  return false;
}

function maskEscaped(text: string, search: Search): string {
  for (const { decoded, path } of decodings(text)) {
    const masked = search.isIn(decoded) ? replaceDecoded(text, path, search.pattern, MASK) : text;
    if (masked !== text) return maskEscaped(masked, search); // of a form that is read as Latin-1, nothing is replaced
  }
  return text;
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

/** The forms that are no escapes. */
function encodeForms(secret: string): readonly string[] {
  const hex = Buffer.from(secret).toString('hex');
  return [
    secret,
    secret.replaceAll('"', '""'), // a cell of CSV
    new URLSearchParams({ v: secret }).toString().slice('v='.length), // a space as `+`
    Buffer.from(secret).toString('latin1'), // UTF-8 that is read as Latin-1
    ...(isHeaderText(secret) ? [Buffer.from(secret, 'latin1').toString()] : []), // as a service in Go shows a header
    hex,
    hex.toUpperCase(),
    ...[0, 1, 2].flatMap((offset) => encodeBase64At(secret, offset)),
  ].filter((form) => form.length >= MIN_LENGTH);
}

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

/**
 * Masks known secrets in blocks of UTF-8 that are cut between characters, also where two blocks share one: the end of each is held
 * back while it may be the beginning of a secret.
 */
export async function* maskBlocks(blocks: AsyncIterable<Buffer>, redactor: Redactor): AsyncGenerator<Buffer> {
  let held: Buffer = Buffer.alloc(0);
  for await (const block of blocks) {
    const bytes = Buffer.concat([held, block]);
    const masked = redactor.matches(bytes) ? Buffer.from(redactor.row(bytes.toString('utf8'))) : bytes;
    let end = Math.max(0, masked.length - redactor.maxPatternLength);
    while (((masked[end] ?? 0) & 0xc0) === 0x80) end++;
    held = masked.subarray(end);
    if (end > 0) yield masked.subarray(0, end);
  }
  if (held.length > 0) yield held;
}
