import { z } from 'zod';
import { readTime } from '../../../core/clock.ts';
import { booleanAt, numberAt, valueAt } from '../../../core/json-path.ts';
import { drifted, type ReadResult, unknown } from '../../define.ts';
import { readSubject, responseBody, showTime } from './reads.ts';

/** `rotated_at`: of the newest version when the plan was made; null where it was not reported, and in a plan of an earlier version. */
export const plannedKey = z.object({ key_name: z.string(), rotated_at: z.string().nullable().default(null) });

export const readKey = readSubject('secrets.keys.read', { name: 'key_name' }, 'keys.name');

/** What playbooks look at of a key; each is null where it is not reported. `rotated_at`: when its newest version was created. */
export function parseKey(key: ReadResult) {
  const data = valueAt(responseBody(key), 'data');
  const latest = numberAt(data, 'latest_version');
  // The versions are `keys`, and `versions` in the real product.
  const times = ['keys', 'versions'].map((name) => showTime(valueAt(data, name, String(latest), 'creation_time')));
  return {
    latest_version: latest,
    min_enabled_version: numberAt(data, 'min_enabled_version'),
    deletion_allowed: booleanAt(data, 'deletion_allowed'),
    rotated_at: times.find((time) => time !== null) ?? null,
  };
}

/**
 * Why a key is not the one that was planned, which had the same name; undefined where it is, or where the plan does not say. A key that was
 * deleted and created again counts its versions from 1.
 * @param planned, observed when the newest version was created; null where it is not reported, and in a plan of an earlier version
 */
export function explainOtherKey(planned: string | null, observed: string | null) {
  if (planned === null || planned === observed) return undefined;
  if (observed === null) return unknown('the age of its newest version is not reported');
  // The warehouse rounds times, by less than a second.
  const isPlanned = Math.abs(Number(readTime(observed)) - Number(readTime(planned))) < 1000;
  return isPlanned ? undefined : drifted(`its newest version is another one, which was created at ${observed}`);
}
