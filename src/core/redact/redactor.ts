import { createMatcher, type Matcher } from './multi-matcher.ts';

/** What stands where a secret stood. */
export const MASK = '***';

/** Shorter values would blot out ordinary words. */
const MIN_LENGTH = 4;

/** Field names, lower case without separators, whose values are secrets wherever they stand (surface.md, "The warehouse"). */
const SECRET_FIELDS = new Set([
  'secrets',
  'secret',
  'credentials',
  'token',
  'password',
  'privatekey',
  'privatekeypem',
  'signingkey',
  'clientkey',
  'clientsecret',
  'secretkey',
  'accesskey',
  'secretid',
  'sessiontoken',
  'serviceaccountfile',
  'mountflags',
]);

/** Whether a field of an answer or a body holds a secret by its name. */
export function isSecretField(name: string): boolean {
  const plain = name.toLowerCase().replaceAll(/[^a-z0-9]/gu, '');
  return SECRET_FIELDS.has(plain) || (SECRET_ENDS.test(plain) && plain !== PAGING);
}

/** `api_token`, `AuthToken`, `db-password`: what comes before says whose it is. */
const SECRET_ENDS = /(?:token|password|apikey|secretkey|privatekey)$/u;
/** Where the next page begins (scheduler-autoscaler-mesh.md, "Volumes", rule 2). */
const PAGING = 'nexttoken';

/** A quick test of JSON text for any secret field, so that the common answer need not be parsed again. */
const SECRET_FIELD_TEXT =
  /(?:secrets?|credentials|token|password|api[-_ ]?key|private[-_ ]?key(?:[-_]?pem)?|signing[-_]?key|client[-_]?(?:key|secret)|secret[-_]?(?:key|id)|access[-_]?key|session[-_]?token|service[-_]?account[-_]?file|mount[-_]?flags)"\s*:/iu;

export function mayContainSecret(json: string): boolean {
  return SECRET_FIELD_TEXT.test(json);
}

/** A deep copy without the fields whose names mark a secret. */
export function stripSecretFields(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(stripSecretFields);
  if (value === null || typeof value !== 'object' || Object.getPrototypeOf(value) !== Object.prototype) return value;
  const kept = Object.entries(value).filter(([name]) => !isSecretField(name));
  return Object.fromEntries(kept.map(([name, inner]) => [name, stripSecretFields(inner)]));
}

/** Masks known secret values, in every form in which they may turn up: raw, escaped for URLs, JSON and HTML, base64, hex. */
export interface Redactor {
  add(secret: string): void;
  text(text: string): string;
  /** Whether UTF-8 text holds something to mask. */
  matches(bytes: Buffer): boolean;
  /** Characters of the longest form: two pieces of a text must overlap by one less for none to slip between them. */
  readonly maxPatternLength: number;
}

export function createRedactor(): Redactor {
  const known = new Set<string>();
  let longest = 0;
  let pattern: RegExp | undefined;
  let finder: Matcher | undefined;
  return {
    add(secret) {
      if (secret.length < MIN_LENGTH || known.has(secret)) return;
      for (const form of [secret, ...longLinesOf(secret)].flatMap(formsOf)) known.add(form);
      const longestFirst = [...known].sort((a, b) => b.length - a.length);
      longest = longestFirst[0]?.length ?? 0;
      pattern = new RegExp(longestFirst.map(literally).join('|'), 'g');
      finder = createMatcher(known);
    },
    text: (text) => (pattern && finder?.inText(text) ? text.replaceAll(pattern, MASK) : text),
    matches: (bytes) => finder?.inBytes(bytes) ?? false,
    get maxPatternLength() {
      return longest;
    },
  };
}

function literally(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/gu, '\\$&');
}

/** A line of a key that is told alone, or folded into one line with the others, is as secret as the whole. */
const LONG_LINE = 16;

function longLinesOf(secret: string): readonly string[] {
  const lines = secret.split(/[\r\n]+/u).filter((line) => line.length >= LONG_LINE && !line.startsWith('-----'));
  return lines.length > 1 || secret.includes('\n') ? lines : [];
}

function formsOf(secret: string): readonly string[] {
  const url = encodeURIComponent(secret);
  return [
    secret,
    url,
    url.replaceAll(/%[0-9A-F]{2}/gu, (code) => code.toLowerCase()),
    new URLSearchParams({ v: secret }).toString().slice('v='.length),
    JSON.stringify(secret).slice(1, -1),
    secret.replaceAll(/[&<>"']/gu, (character) => HTML_ESCAPES[character] ?? character),
    Buffer.from(secret).toString('hex'),
    ...[0, 1, 2].flatMap((offset) => base64Within(secret, offset)),
  ].filter((form) => form.length >= MIN_LENGTH);
}

const HTML_ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/**
 * The characters that stand for the secret alone where it is encoded `offset` bytes into something else, as in
 * `Basic base64(user:password)`: 4 characters carry 3 bytes, those shared with a neighbour are left out.
 */
function base64Within(secret: string, offset: number): readonly string[] {
  const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(secret)]);
  const first = Math.ceil((offset * 4) / 3);
  const last = Math.floor((bytes.length * 4) / 3);
  return [bytes.toString('base64').slice(first, last), bytes.toString('base64url').slice(first, last)];
}
