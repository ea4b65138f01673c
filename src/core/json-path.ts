import { isDeepStrictEqual } from 'node:util';

/** Values in JSON from outside, which may have any form. */

type Path = readonly (string | number)[];

/** Whether a value is an object as JSON has it: no list, and not null. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The fields of an object; none of anything else. */
export function toFields(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : {};
}

export const SCALAR = 'must be a text, a number or a boolean';

/** Whether a value is what `SCALAR` says: JavaScript would write null and objects as texts. */
export function isScalar(value: unknown): boolean {
  return ['string', 'number', 'boolean', 'bigint'].includes(typeof value);
}

/** The value at a path of names and indexes; undefined where there is none. */
export function valueAt(value: unknown, ...path: Path): unknown {
  return path.reduce<unknown>((inner, name) => {
    if (typeof inner !== 'object' || inner === null || !Object.hasOwn(inner, name)) return undefined;
    return (inner as Readonly<Record<string | number, unknown>>)[name];
  }, value);
}

/** Null also for an empty string. */
export function textAt(value: unknown, ...path: Path): string | null {
  const found = valueAt(value, ...path);
  return typeof found === 'string' && found !== '' ? found : null;
}

/** Also of a text of digits, which a column of the warehouse takes for a number as well. */
export function numberAt(value: unknown, ...path: Path): number | null {
  const found = valueAt(value, ...path);
  if (typeof found === 'string' && /^\d+$/u.test(found)) return Number(found);
  return typeof found === 'number' ? found : null;
}

/** Also of the texts `true` and `false`, as `numberAt`. */
export function booleanAt(value: unknown, ...path: Path): boolean | null {
  const found = valueAt(value, ...path);
  if (found === 'true' || found === 'false') return found === 'true';
  return typeof found === 'boolean' ? found : null;
}

export function listAt(value: unknown, ...path: Path): readonly unknown[] | undefined {
  const found = valueAt(value, ...path);
  return Array.isArray(found) ? found : undefined;
}

/** Whether two lists hold the same strings, in any order. */
export function hasSameMembers(a: readonly string[], b: readonly string[]): boolean {
  return isDeepStrictEqual([...a].sort(), [...b].sort());
}
