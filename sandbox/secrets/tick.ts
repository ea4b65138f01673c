import { DAY_MS } from '../../src/core/clock.ts';
import type { Random } from '../random.ts';
import type { EstateName } from '../types.ts';
import { BACKUP_PROVIDER, createRole } from './estates.ts';
import { createKey, type KeyLifecycle, type KeyRecord } from './keys.ts';
import type { MeshRoleRecord } from './mesh-roles.ts';

interface Tick {
  readonly estate: EstateName;
  readonly lifecycle: KeyLifecycle;
  readonly roles: Map<string, MeshRoleRecord>;
  readonly day: number;
  readonly now: Date;
  readonly random: Random;
}

/** Keys that their owners neglect: only an event rotates them. */
const NEGLECTED = ['payments-signing', 'ledger-archive', 'checkout-tls', 'audit-log-seal', '署名鍵-東京 🔑'];
const BREAK_GLASS = 'break-glass';

type Events = Readonly<Record<number, (tick: Tick) => void>>;

/** The events besides routine, by day of a fortnight. */
const COMMON_EVENTS: Events = {
  2: addSeasonalKey,
  3: (tick) => rotate(tick, 'ledger-archive'),
  4: retireKey,
  5: (tick) => setTokenType(tick, 'legacy-admin', 'client'),
  6: emptyBackupProvider,
  7: deleteRetiredKey,
  8: ({ roles }) => roles.set(BREAK_GLASS, createRole('management', undefined, 3600)),
  9: tidyVersions,
  10: fillBackupProvider,
};

const EVENTS: Readonly<Record<EstateName, Events>> = {
  // Nobody rotates payments-signing, and the role for emergencies of the incident on day 8 goes with it.
  company: {
    ...COMMON_EVENTS,
    11: ({ roles }) => roles.delete(BREAK_GLASS),
    13: (tick) => setTokenType(tick, 'legacy-admin', 'management'),
  },
  hostile: {
    ...COMMON_EVENTS,
    11: (tick) => rotate(tick, 'payments-signing'),
    12: (tick) => setTokenType(tick, 'legacy-admin', 'management'),
    13: ({ roles }) => roles.delete(BREAK_GLASS),
  },
};

/** Advances keys, providers and roles to the given day. */
export function tickSecrets(tick: Tick): void {
  rotateRoutinely(tick);
  EVENTS[tick.estate][tick.day % 14]?.(tick);
}

/** Teams rotate before 90 days pass, and then disable all but the last three versions. */
function rotateRoutinely(tick: Tick): void {
  for (const [name, key] of tick.lifecycle.keys) {
    const days = ageDays(key, tick.now);
    const isDue = days > 80 && days < 89;
    if (!isDue || key.deletionAllowed || NEGLECTED.includes(name) || !tick.random.chance(0.3)) continue;
    rotate(tick, name);
    key.minEnabledVersion = Math.max(key.minEnabledVersion, key.versions.length - 2);
  }
}

function ageDays(key: KeyRecord, now: Date): number {
  const newest = key.versions.at(-1);
  return newest ? (now.getTime() - Date.parse(newest.creationTime)) / DAY_MS : 0;
}

function rotate({ lifecycle, now }: Tick, name: string): void {
  const key = lifecycle.keys.get(name);
  if (key) lifecycle.addVersion(name, key, now);
}

function addSeasonalKey({ lifecycle, day, now }: Tick): void {
  const name = `seasonal-${day}`;
  if (lifecycle.keys.has(name)) return;
  const key = createKey('ecdsa-p256');
  lifecycle.addVersion(name, key, now);
  lifecycle.keys.set(name, key);
}

/** Retires one more ordinary key: the first that no provider holds. */
function retireKey({ lifecycle }: Tick): void {
  const retired = findUndistributed(lifecycle, (key) => !key.deletionAllowed);
  if (retired) retired[1].deletionAllowed = true;
}

function deleteRetiredKey({ lifecycle }: Tick): void {
  const deleted = findUndistributed(lifecycle, (key) => key.deletionAllowed);
  if (deleted) lifecycle.keys.delete(deleted[0]);
}

function findUndistributed(
  lifecycle: KeyLifecycle,
  test: (key: KeyRecord) => boolean,
): [name: string, key: KeyRecord] | undefined {
  return [...lifecycle.keys].find(([name, key]) => test(key) && !lifecycle.findHolder(name));
}

function setTokenType({ roles }: Tick, name: string, tokenType: string): void {
  const role = roles.get(name);
  if (role) role.tokenType = tokenType;
}

function emptyBackupProvider({ lifecycle }: Tick): void {
  lifecycle.providers.get(BACKUP_PROVIDER)?.keys.clear();
}

function fillBackupProvider({ lifecycle, now }: Tick): void {
  const provider = lifecycle.providers.get(BACKUP_PROVIDER);
  const free = findUndistributed(lifecycle, (key) => !key.deletionAllowed);
  if (!provider || provider.keys.size > 0 || !free) return;
  lifecycle.distribute(free[0], free[1], provider, now, { purpose: ['sign', 'verify'], protection: 'hsm' });
}

/** One owner disables old versions; another rotates at last, and leaves four versions enabled. */
function tidyVersions(tick: Tick): void {
  const key = tick.lifecycle.keys.get('payments-signing');
  if (key) key.minEnabledVersion = key.versions.length - 1;
  rotate(tick, 'audit-log-seal');
}
