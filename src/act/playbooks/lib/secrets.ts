import { booleanAt, numberAt, textAt } from '../../../core/json-path.ts';
import { drifted, type ReadResult, unknown } from '../../define.ts';
import { readSubject, responseBody } from './reads.ts';

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

/**
 * Why a key is not the one that was planned, which had the same name; undefined where it is, or where the plan does not say. A key that was
 * deleted and created again counts its versions from 1.
 * @param planned, observed when the newest version was created; null where it is not reported, and in a plan of an earlier version
 */
export function explainOtherKey(planned: string | null, observed: string | null) {
  if (planned === null) return undefined;
  if (observed === null) return unknown('the age of its newest version is not reported');
  // The warehouse rounds times, by less than a second.
  const isPlanned = Math.abs(Date.parse(observed) - Date.parse(planned)) < 1000;
  return isPlanned ? undefined : drifted(`its newest version is another one, which was created at ${observed}`);
}

/** When a version of a key was created; null where it is not reported. The versions are `keys`, and `versions` in the real product. */
export function versionTime(key: ReadResult, version: number | null): string | null {
  const times = ['keys', 'versions'].map((name) =>
    textAt(responseBody(key), 'data', name, String(version), 'creation_time'),
  );
  return times.find((time) => time !== null) ?? null;
}
