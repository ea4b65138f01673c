import { groupBy } from '../core/group-by.ts';
import { plural } from '../core/plural.ts';
import { isLoaded } from '../extract/run-context.ts';
import type { PullOutcome } from '../load/record-pulls.ts';

/** The results of pulls as lines of a log. */

/** Retries, and waits that are not shorter than `leastMs`. */
export function formatTraffic(retries: number, waitMs: number, leastMs: number): string {
  const waited = waitMs >= leastMs ? `, waited ${(waitMs / 1000).toFixed(1)} s` : '';
  return `${retries > 0 ? `, ${retries} retried` : ''}${waited}`;
}

const MAX_PERMISSIONS = 4;

/** The failures of a target by their reason, apart from what was asked for. */
export function groupByReason<T extends Pick<PullOutcome, 'error' | 'failure'>>(
  failures: readonly T[],
): ReadonlyMap<string, readonly [T, ...T[]]> {
  return groupBy(failures, ({ failure, error }) => failure?.reason ?? error ?? '');
}

/** The reason with the permissions that may be missing for these failures. */
export function formatReason(reason: string, failures: readonly Pick<PullOutcome, 'failure'>[]): string {
  const permissions = new Set(failures.flatMap(({ failure }) => failure?.permission ?? []));
  return permissions.size === 0 ? reason : `${reason}: ${formatMissing([...permissions])}`;
}

/** `acme: 8 sources failed: 401 unauthorized: … (agents, workspaces, …; 8 requests)` */
export function formatFailures(reason: string, outcomes: readonly [PullOutcome, ...PullOutcome[]]): string {
  const [first] = outcomes;
  if (outcomes.length === 1) return formatOutcome(first);
  const names = outcomes.map(({ source }) => source).sort();
  const requests = outcomes.reduce((sum, outcome) => sum + outcome.requests, 0);
  const path = first.failure?.path;
  const example = path ? `, such as ${path}` : '';
  return `${first.target}: ${names.length} sources failed: ${formatReason(reason, outcomes)}${example} (${names.join(', ')}; ${plural(requests, 'request')})`;
}

/** `acme: workspaces: 240 rows (+3 ~12 -1), 2 requests`, or the error. */
export function formatOutcome(outcome: PullOutcome): string {
  const { target, source, status, rows, inserted, changed, deleted, requests, retries, throttle_wait_ms } = outcome;
  const traffic = `${plural(requests, 'request')}${formatTraffic(retries, throttle_wait_ms, 1000)}`;
  if (!isLoaded(status)) return `${target}: ${source}: ${status}: ${outcome.error} (${traffic})`;
  const note = outcome.note === null ? '' : `; note: ${outcome.note}`;
  const partial = status === 'partial' ? 'partial: ' : '';
  return `${target}: ${source}: ${partial}${plural(Number(rows), 'row')} (+${inserted} ~${changed} -${deleted}), ${traffic}${note}`;
}

function formatMissing(permissions: readonly string[]): string {
  const more = permissions.length - MAX_PERMISSIONS;
  const listed = permissions.slice(0, MAX_PERMISSIONS).map((permission) => `"${permission}"`);
  const named = `${listed.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  return `the token lacks the permission${permissions.length === 1 ? '' : 's'} ${named}, or is not valid`;
}
