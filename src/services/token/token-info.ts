import { stripSecretFields } from '../../core/redact/secret-fields.ts';

/** What a service says about a token. It never contains the token itself. */
export interface TokenInfo {
  /** A public ID of the token, or of its account; null if the service reports none. */
  readonly accessor_id: string | null;
  readonly name: string | null;
  /**
   * The service's own type: `client`, `management`, `service`, `batch`, `user`, `team`, `organization`; `anonymous` for requests
   * without a token; `acl-disabled` for a service that checks no tokens.
   */
  readonly type: string | null;
  readonly policies: readonly string[];
  readonly roles: readonly string[];
  /** Whether it may do everything; null if the service does not tell. */
  readonly is_management: boolean | null;
  /** What it may do, as the service reports it; null if the service does not tell. */
  readonly rights: Readonly<Record<string, unknown>> | null;
  readonly created_at: string | null;
  /** Null if it does not end, or the service does not tell. */
  readonly expires_at: string | null;
  /** Other fields that the service reports. */
  readonly extra: Readonly<Record<string, unknown>> | null;
}

export const ANONYMOUS: TokenInfo = {
  accessor_id: null,
  name: null,
  type: 'anonymous',
  policies: [],
  roles: [],
  is_management: false,
  rights: null,
  created_at: null,
  expires_at: null,
  extra: null,
};

export type Fields = Readonly<Record<string, unknown>>;

export function toFields(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

/** A text that is not empty. */
export function textField(fields: Fields, name: string): string | null {
  const value = fields[name];
  return typeof value === 'string' && value !== '' ? value : null;
}

/** Go services send the zero time for "never". */
export function timeField(fields: Fields, name: string): string | null {
  const text = textField(fields, name);
  if (text === null || text.startsWith('0001-') || Number.isNaN(Date.parse(text))) return null;
  return text;
}

/** Names in a list of texts, or of objects with a name. */
export function namesField(fields: Fields, name: string): readonly string[] {
  const value = fields[name];
  if (!Array.isArray(value)) return [];
  const names = value.map((item) => (typeof item === 'string' ? item : textField(toFields(item), 'Name')));
  return names.filter((item) => item !== null).sort();
}

/** The fields without the named ones and without secrets; null if none is left. */
export function otherFields(fields: Fields, known: readonly string[]): Fields | null {
  const kept = Object.entries(fields).filter(([name, value]) => !known.includes(name) && !isEmpty(value));
  if (kept.length === 0) return null;
  return toFields(stripSecretFields(Object.fromEntries(kept)));
}

function isEmpty(value: unknown): boolean {
  return value === null || value === undefined || value === '' || (Array.isArray(value) && value.length === 0);
}
