import { booleanAt, numberAt, textAt } from '../../../core/json-path.ts';
import type { ReadResult } from '../../define.ts';
import { readSubject, responseBody } from './reads.ts';

/** Keys of the secrets service. */

export const readKey = readSubject('secrets.keys.read', { name: 'key_name' }, 'keys.name');

/** What playbooks look at of a key; each is null where it is not reported. */
export function parseKey(key: ReadResult) {
  const body = responseBody(key);
  return {
    latest_version: numberAt(body, 'data', 'latest_version'),
    min_enabled_version: numberAt(body, 'data', 'min_enabled_version'),
    deletion_allowed: booleanAt(body, 'data', 'deletion_allowed'),
  };
}

/** When a version of a key was created; null where it is not reported. The versions are `keys`, and `versions` in the real product. */
export function versionTime(key: ReadResult, version: number | null): string | null {
  const times = ['keys', 'versions'].map((name) =>
    textAt(responseBody(key), 'data', name, String(version), 'creation_time'),
  );
  return times.find((time) => time !== null) ?? null;
}
