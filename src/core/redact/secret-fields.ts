import { stringify } from 'lossless-json';
import { parseLossless } from '../json.ts';
import { repairEscapes } from '../well-formed.ts';

/** Names of fields whose values are secrets in every response and body, in any spelling: `private_key` is `PrivateKey` as well. */
const SECRET_NAMES = [
  'secrets',
  'secret',
  'credentials',
  'private_key_pem',
  'key_material',
  'signing_key',
  'client_key',
  'client_secret',
  'access_key',
  'secret_id',
  'service_account_file',
  'mount_flags',
];
/** The same where a name ends with one: `api_token`, `AuthToken`, `db-password`. */
const SECRET_ENDS = ['token', 'password', 'api_key', 'secret_key', 'private_key'];

const toPlain = (name: string) => name.toLowerCase().replaceAll(/[^a-z0-9]/gu, '');
const PLAIN_NAMES = new Set(SECRET_NAMES.map(toPlain));
const PLAIN_ENDS = SECRET_ENDS.map(toPlain);
/** The start of the next page, not a secret: docs/services/scheduler.md#pagination. */
const NEXT_TOKEN = 'nexttoken';

/** Whether the value of a field is a secret, by the name of the field. */
export function isSecretField(name: string): boolean {
  const plain = toPlain(name);
  return PLAIN_NAMES.has(plain) || (PLAIN_ENDS.some((end) => plain.endsWith(end)) && plain !== NEXT_TOKEN);
}

/** What `toPlain` drops may stand between any two letters. */
const SECRET_FIELD_TEXT = new RegExp(
  `(?:${[...PLAIN_NAMES, ...PLAIN_ENDS].map((name) => [...name, '"'].join('[^a-z0-9]*')).join('|')})\\s*:`,
  'iu',
);

/** A quick test of JSON text for any secret field, so that most responses need not be parsed again. An escape may hide a name. */
export function mayContainSecret(json: string): boolean {
  return json.includes('\\u') || SECRET_FIELD_TEXT.test(json);
}

/** A deep copy without secret fields. */
export function stripSecretFields(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(stripSecretFields);
  if (value === null || typeof value !== 'object' || Object.getPrototypeOf(value) !== Object.prototype) return value;
  const kept = Object.entries(value).filter(([name]) => !isSecretField(name));
  return Object.fromEntries(kept.map(([name, inner]) => [name, stripSecretFields(inner)]));
}

/** JSON on one line, without secret fields. If it may have them, the text is written again, without the escapes that it does not need. */
export function cleanJson(json: string): string {
  const text = mayContainSecret(json)
    ? repairEscapes(stringify(stripSecretFields(parseLossless(json))) ?? 'null')
    : json;
  // Line breaks between tokens have no meaning; strings cannot contain raw ones.
  return /[\r\n]/u.test(text) ? text.replaceAll(/[\r\n]+/gu, ' ') : text;
}

/** Calls `found` with the values of all fields, at any depth, whose name marks a secret. */
export function collectSecretFields(value: unknown, found: (secret: string) => void): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [name, inner] of Object.entries(value)) {
    if (!Array.isArray(value) && isSecretField(name)) collectTexts(inner, found);
    else collectSecretFields(inner, found);
  }
}

/** A text as a whole, and the value of a `name=value` pair, also where it has commas and where it is one of several. */
export function collectTexts(value: unknown, found: (secret: string) => void): void {
  if (typeof value === 'string') {
    found(value);
    for (const pair of [value, ...value.split(',')]) {
      const at = pair.indexOf('=');
      if (at > 0) found(pair.slice(at + 1));
    }
  } else if (typeof value === 'object' && value !== null) {
    for (const inner of Object.values(value)) collectTexts(inner, found);
  }
}
