import { DAY_MS } from '../../src/core/clock.ts';
import { createRandom, type Random } from '../random.ts';
import { type EstateName, FORTNIGHT } from '../types.ts';
import type { KeyRecord, SecretsContext } from './context.ts';
import { BACKUP_PROVIDER, createRole } from './estate.ts';
import { addVersion, createKey, distribute, findHolder } from './keys.ts';

interface Tick extends SecretsContext {
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
  8: ({ roles }) => roles.set(BREAK_GLASS, createRole('management', null, 3600)),
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
export function tickSecrets(context: SecretsContext, day: number, now: Date): void {
  const random = createRandom(`${context.seed}/secrets/night/${day}`);
  const tick: Tick = Object.assign(Object.create(context) as SecretsContext, { day, now, random });
  rotateRoutinely(tick);
  EVENTS[tick.estate][tick.day % FORTNIGHT]?.(tick);
}

/** Teams rotate before 90 days pass, and then disable all but the last three versions. */
function rotateRoutinely(tick: Tick): void {
  for (const [name, key] of tick.keys) {
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

function rotate(tick: Tick, name: string): void {
  const key = tick.keys.get(name);
  if (key) addVersion(tick, name, key, tick.now);
}

function addSeasonalKey(tick: Tick): void {
  const name = `seasonal-${tick.day}`;
  if (tick.keys.has(name)) return;
  const key = createKey('ecdsa-p256');
  addVersion(tick, name, key, tick.now);
  tick.keys.set(name, key);
}

/** Retires one more ordinary key: the first that no provider holds. */
function retireKey(tick: Tick): void {
  const retired = findUndistributed(tick, (key) => !key.deletionAllowed);
  if (retired) retired[1].deletionAllowed = true;
}

function deleteRetiredKey(tick: Tick): void {
  const deleted = findUndistributed(tick, (key) => key.deletionAllowed);
  if (deleted) tick.keys.delete(deleted[0]);
}

function findUndistributed(tick: Tick, test: (key: KeyRecord) => boolean): [name: string, key: KeyRecord] | undefined {
  return [...tick.keys].find(([name, key]) => test(key) && !findHolder(tick, name));
}

function setTokenType({ roles }: Tick, name: string, tokenType: string): void {
  const role = roles.get(name);
  if (role) role.tokenType = tokenType;
}

function emptyBackupProvider({ providers }: Tick): void {
  providers.get(BACKUP_PROVIDER)?.keys.clear();
}

function fillBackupProvider(tick: Tick): void {
  const provider = tick.providers.get(BACKUP_PROVIDER);
  const free = findUndistributed(tick, (key) => !key.deletionAllowed);
  if (!provider || provider.keys.size > 0 || !free) return;
  distribute(tick, free[0], free[1], provider, tick.now, { purpose: ['sign', 'verify'], protection: 'hsm' });
}

/** One owner disables old versions; another rotates at last, and leaves four versions enabled. */
function tidyVersions(tick: Tick): void {
  const key = tick.keys.get('payments-signing');
  if (key) key.minEnabledVersion = key.versions.length - 1;
  rotate(tick, 'audit-log-seal');
}
