import { createHash } from 'node:crypto';
import { isObject } from './json-path.ts';

/** JSON with sorted keys: equal values give equal text, also with bigint. `mapList` may sort lists whose order has no meaning. */
export function canonicalJson(
  value: unknown,
  mapList: (list: readonly unknown[]) => readonly unknown[] = (list) => list,
): string {
  return JSON.stringify(value, (_, inner: unknown) => {
    if (typeof inner === 'bigint') return `${inner}n`;
    if (Array.isArray(inner)) return mapList(inner);
    return isObject(inner) ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1))) : inner;
  });
}

/** A digest of JSON that does not depend on the order of fields. */
export function digestJson(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('base64');
}
