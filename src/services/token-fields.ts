import { textAt, toFields } from '../core/json-path.ts';
import { stripSecretFields } from '../core/redact/secret-fields.ts';
import { ServiceError } from '../http/errors.ts';
import { takeRefusal } from './describe-server.ts';

/** Fields of what a service says about a token. */

export type Fields = ReturnType<typeof toFields>;

/** An answer that says nothing of the token would describe one without rights and without an end, and end the findings about it. */
export class UnreadableField extends Error {}

/** Go services send the zero time for "never". @throws UnreadableField for what is no time */
export function timeField(fields: Fields, name: string): string | null {
  const value = fields[name];
  if (value === null || value === undefined || value === '') return null;
  if (typeof value !== 'string' || Number.isNaN(Date.parse(value))) throw new UnreadableField(`a time in \`${name}\``);
  return value.startsWith('0001-') ? null : value;
}

/** Names in a list of texts, or of objects with a name. @throws UnreadableField for what is no such list */
export function namesField(fields: Fields, name: string): readonly string[] {
  const value = fields[name] ?? [];
  const names = Array.isArray(value)
    ? value.map((item) => (typeof item === 'string' ? item : textAt(item, 'Name')))
    : [null];
  if (!names.every((item) => item !== null)) throw new UnreadableField(`names in \`${name}\``);
  return names.sort();
}

/** @throws UnreadableField where a text that every answer has is missing */
export function assertTexts(fields: Fields, names: readonly string[]): void {
  const missing = names.find((name) => textAt(fields, name) === null);
  if (missing !== undefined) throw new UnreadableField(`\`${missing}\``);
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

/** The response; undefined if the service refuses the request. */
export async function optional<T>(response: Promise<T>): Promise<T | undefined> {
  const answer = await response.catch(takeRefusal);
  return answer instanceof ServiceError ? undefined : answer;
}
