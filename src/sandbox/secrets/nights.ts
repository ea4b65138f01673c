import { DAY_MS } from '../forge.ts';
import { createRandom, type Random } from '../prng.ts';
import { BACKUP_PROVIDER } from './estate.ts';
import { addVersion, createKey, distribute, holderOf } from './life.ts';
import { role } from './roles-estate.ts';
import type { Key, SecretsWorld } from './state.ts';

interface Night {
  readonly world: SecretsWorld;
  readonly night: number;
  readonly now: Date;
  readonly random: Random;
}

/** Their owners forget them: only an event rotates these. */
const NEGLECTED = ['payments-signing', 'ledger-archive', 'checkout-tls', 'audit-log-seal', '署名鍵-東京 🔑'];
const BREAK_GLASS = 'break-glass';

function ageDays(key: Key, now: Date): number {
  const newest = key.versions.at(-1);
  return newest ? (now.getTime() - Date.parse(newest.creationTime)) / DAY_MS : 0;
}

function rotate({ world, now }: Night, name: string): void {
  const key = world.state.keys.get(name);
  if (key) addVersion(world, name, key, now);
}

/** Teams rotate before 90 days pass, and then disable all but the last three versions. */
function rotateInTime(night: Night): void {
  for (const [name, key] of night.world.state.keys) {
    const due = ageDays(key, night.now) > 80 && ageDays(key, night.now) < 89;
    if (!due || key.deletionAllowed || NEGLECTED.includes(name) || !night.random.chance(0.3)) continue;
    rotate(night, name);
    key.minEnabledVersion = Math.max(key.minEnabledVersion, key.versions.length - 2);
  }
}

function addKey({ world, night, now }: Night): void {
  const name = `seasonal-${night}`;
  if (world.state.keys.has(name)) return;
  const key = createKey('ecdsa-p256');
  addVersion(world, name, key, now);
  world.state.keys.set(name, key);
}

/** One more ordinary key is given up: the first that no provider holds. */
function retireKey({ world: { state } }: Night): void {
  const retired = [...state.keys].find(([name, key]) => !key.deletionAllowed && !holderOf(state, name));
  if (retired) retired[1].deletionAllowed = true;
}

function deleteRetiredKey({ world: { state } }: Night): void {
  const gone = [...state.keys].find(([name, key]) => key.deletionAllowed && !holderOf(state, name));
  if (gone) state.keys.delete(gone[0]);
}

function setTokenType({ world: { state } }: Night, name: string, tokenType: string): void {
  const found = state.roles.get(name);
  if (found) found.tokenType = tokenType;
}

function emptyBackupProvider({ world: { state } }: Night): void {
  state.providers.get(BACKUP_PROVIDER)?.keys.clear();
}

function fillBackupProvider({ world, now }: Night): void {
  const provider = world.state.providers.get(BACKUP_PROVIDER);
  const free = [...world.state.keys].find(([name, key]) => !key.deletionAllowed && !holderOf(world.state, name));
  if (!provider || provider.keys.size > 0 || !free) return;
  distribute(world, free[0], free[1], provider, now, { purpose: ['sign', 'verify'], protection: 'hsm' });
}

/** One owner disables what is old; another rotates at last, and leaves four versions enabled. */
function tidyVersions(night: Night): void {
  const key = night.world.state.keys.get('payments-signing');
  if (key) key.minEnabledVersion = key.versions.length - 1;
  rotate(night, 'audit-log-seal');
}

/** What happens besides routine, by night of a fortnight. */
const EVENTS: Readonly<Record<number, (night: Night) => void>> = {
  2: addKey,
  3: (night) => rotate(night, 'ledger-archive'),
  4: retireKey,
  5: (night) => setTokenType(night, 'legacy-admin', 'client'),
  6: emptyBackupProvider,
  7: deleteRetiredKey,
  8: ({ world }) => world.state.roles.set(BREAK_GLASS, role('management', undefined, 3600)),
  9: tidyVersions,
  10: fillBackupProvider,
  11: (night) => rotate(night, 'payments-signing'),
  12: (night) => setTokenType(night, 'legacy-admin', 'management'),
  13: ({ world }) => world.state.roles.delete(BREAK_GLASS),
};

export function passNight(world: SecretsWorld, night: number, now: Date): void {
  const tonight = { world, night, now, random: createRandom(`${world.seed}/secrets/night/${night}`) };
  rotateInTime(tonight);
  EVENTS[night % 14]?.(tonight);
}
