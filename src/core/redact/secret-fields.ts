/** Names of fields, in lower case without separators, whose values are secrets in every response and body. */
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

/** `api_token`, `AuthToken`, `db-password`. */
const SECRET_SUFFIX = /(?:token|password|apikey|secretkey|privatekey)$/u;
/** The start of the next page, not a secret: docs/services/scheduler.md#pagination. */
const NEXT_TOKEN = 'nexttoken';

/** Whether the value of a field is a secret, by the name of the field. */
export function isSecretField(name: string): boolean {
  const plain = name.toLowerCase().replaceAll(/[^a-z0-9]/gu, '');
  return SECRET_FIELDS.has(plain) || (SECRET_SUFFIX.test(plain) && plain !== NEXT_TOKEN);
}

const SECRET_FIELD_TEXT =
  /(?:secrets?|credentials|token|password|api[-_ ]?key|private[-_ ]?key(?:[-_]?pem)?|signing[-_]?key|client[-_]?(?:key|secret)|secret[-_]?(?:key|id)|access[-_]?key|session[-_]?token|service[-_]?account[-_]?file|mount[-_]?flags)"\s*:/iu;

/** A quick test of JSON text for any secret field, so that most responses need not be parsed again. */
export function mayContainSecret(json: string): boolean {
  return SECRET_FIELD_TEXT.test(json);
}

/** A deep copy without secret fields. */
export function stripSecretFields(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(stripSecretFields);
  if (value === null || typeof value !== 'object' || Object.getPrototypeOf(value) !== Object.prototype) return value;
  const kept = Object.entries(value).filter(([name]) => !isSecretField(name));
  return Object.fromEntries(kept.map(([name, inner]) => [name, stripSecretFields(inner)]));
}
