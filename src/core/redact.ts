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
  return SECRET_FIELDS.has(name.toLowerCase().replaceAll(/[^a-z0-9]/gu, ''));
}

/** A quick test of JSON text for any secret field, so that the common answer need not be parsed again. */
const SECRET_FIELD_TEXT =
  /"(?:secrets?|credentials|token|password|private[-_ ]?key(?:[-_]?pem)?|signing[-_]?key|client[-_]?(?:key|secret)|secret[-_]?(?:key|id)|access[-_]?key|session[-_]?token|service[-_]?account[-_]?file|mount[-_]?flags)"\s*:/iu;

export function mentionsSecretField(json: string): boolean {
  return SECRET_FIELD_TEXT.test(json);
}

/** A deep copy without the fields whose names mark a secret. */
export function withoutSecretFields(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSecretFields);
  if (value === null || typeof value !== 'object' || Object.getPrototypeOf(value) !== Object.prototype) return value;
  const kept = Object.entries(value).filter(([name]) => !isSecretField(name));
  return Object.fromEntries(kept.map(([name, inner]) => [name, withoutSecretFields(inner)]));
}

/** Masks known secret values, in every form in which they may turn up: raw, URL-encoded, base64, JSON-escaped. */
export interface Redactor {
  add(secret: string): void;
  text(text: string): string;
}

export function createRedactor(): Redactor {
  const known = new Set<string>();
  return {
    add(secret) {
      if (secret.length < MIN_LENGTH) return;
      for (const form of formsOf(secret)) known.add(form);
    },
    text(text) {
      let clean = text;
      for (const form of [...known].sort((a, b) => b.length - a.length)) clean = clean.replaceAll(form, MASK);
      return clean;
    },
  };
}

function formsOf(secret: string): string[] {
  const base64 = Buffer.from(secret).toString('base64');
  return [
    secret,
    encodeURIComponent(secret),
    JSON.stringify(secret).slice(1, -1),
    base64.replace(/=+$/u, ''),
    Buffer.from(secret).toString('base64url'),
  ];
}
