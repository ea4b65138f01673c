import { DAY_MS } from '../../src/core/clock.ts';
import { readEstate } from '../estate.ts';
import { createRandom, daysBefore, type Random, scaleCount } from '../random.ts';
import { type EstateName, FORTNIGHT } from '../types.ts';
import {
  KEY_TYPES,
  type KeyPlan,
  type KeyRecord,
  type MeshRoleRecord,
  type SecretsContext,
  type SecretsEstate,
} from './context.ts';
import { addVersion, createKey, distribute, findHolder } from './keys.ts';
import { createRole } from './mesh-roles.ts';

type NamedRole = readonly [name: string, role: MeshRoleRecord];

const BACKUP_PROVIDER = 'backup-kms';
const EMPTY_PROVIDER = 'lab-empty';

/** Roles as newer versions of Vault have them: what they grant is not in `token_type`. */
const LIVE_ROLE_PLANS: readonly NamedRole[] = [
  ['modern-admin', createRole('client', null, 3600, ['global-management'])],
  [
    'api-identity',
    {
      ...createRole('client', null, 1800),
      lists: { consul_roles: ['deploy'], service_identities: ['api:dc1'], node_identities: ['node-1:dc1'] },
    },
  ],
];

/** A key of a team, which is rotated in time and in three of five cases held by a provider. */
function planOrdinaryKey(estate: SecretsEstate, index: number, random: Random, providers: readonly string[]): KeyPlan {
  const { teams, uses } = estate;
  const round = Math.floor(index / (teams.length * uses.length));
  const [use, type = random.pick(KEY_TYPES)] = uses[Math.floor(index / teams.length + index) % uses.length]!;
  const name = `${teams[index % teams.length]}-${use}${round === 0 ? '' : `-${round + 1}`}`;
  const plan = { name, type, ageDays: random.int(20, 780) / 10, versions: random.int(1, 3) };
  return random.chance(0.6) ? { ...plan, provider: random.pick(providers) } : plan;
}

/** A role that a larger estate has besides; numbers begin at 1. */
function planExtraRole({ roleTeams }: SecretsEstate, number: number, random: Random): NamedRole {
  const round = Math.floor((number - 1) / roleTeams.length);
  const team = roleTeams[(number - 1) % roleTeams.length] ?? `team-${number}`;
  const name = roleTeams.length === 0 ? team : `${team}-service${round === 0 ? '' : `-${round + 1}`}`;
  const policy = `key_prefix "${team}/" {\n  policy = "read"\n}\n`;
  return [name, createRole('client', policy, random.int(1, 24) * 1800)];
}

function addPlannedKey(context: SecretsContext, plan: KeyPlan): void {
  const { start } = context;
  const key = createKey(plan.type);
  key.deletionAllowed = plan.deletionAllowed ?? false;
  key.minEnabledVersion = plan.minEnabled ?? 0;
  for (let version = plan.versions - 1; version >= 0; version--) {
    addVersion(context, plan.name, key, daysBefore(start, plan.ageDays + version * 61));
  }
  context.keys.set(plan.name, key);
  const provider = plan.provider === undefined ? undefined : context.providers.get(plan.provider);
  if (!provider) return;
  const purpose = plan.type === 'aes256-gcm96' ? ['encrypt', 'decrypt'] : ['sign', 'verify'];
  const protection = provider.provider === 'gcpckms' ? 'software' : 'hsm';
  distribute(context, plan.name, key, provider, daysBefore(start, plan.ageDays), { purpose, protection });
}

/** About 25 keys, six providers (one empty) and ten roles at scale 1, two of them of the management type. */
export function seedSecrets(context: SecretsContext): void {
  const { seed, estate: estateName, scale, flavor, roles, providers } = context;
  const random = createRandom(`${seed}/secrets/estate`);
  const estate = readEstate(estateName).secrets;
  for (const [name, provider, keyCollection] of estate.providers) {
    const credentials = { client_secret: `planted-kms-credential-${random.hex(16)}` };
    providers.set(name, { provider, keyCollection, credentials, keys: new Map() });
  }
  context.access = {
    address: 'mesh.internal:8501',
    scheme: 'https',
    token: `planted-mesh-management-token-${random.hex(16)}`,
    caCert: '',
    clientCert: '',
    clientKey: '',
  };
  for (const [name, ...plan] of estate.roles) roles.set(name, createRole(...plan));
  for (let index = 1; roles.size < scaleCount(10, scale); index++) roles.set(...planExtraRole(estate, index, random));
  if (flavor === 'hashicorp') for (const [name, role] of LIVE_ROLE_PLANS) roles.set(name, { ...role });
  const special = flavor === 'spec' ? [...estate.keys, ...estate.specKeys] : estate.keys;
  for (const plan of special) addPlannedKey(context, plan);
  const used = [...providers.keys()].filter((name) => name !== BACKUP_PROVIDER && name !== EMPTY_PROVIDER);
  for (let index = 0; index < scaleCount(25, scale) - special.length; index++) {
    addPlannedKey(context, planOrdinaryKey(estate, index, random, used));
  }
}

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
  5: (tick) => setTokenType(tick, 'client'),
  6: ({ providers }) => providers.get(BACKUP_PROVIDER)?.keys.clear(),
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
    13: (tick) => setTokenType(tick, 'management'),
  },
  hostile: {
    ...COMMON_EVENTS,
    11: (tick) => rotate(tick, 'payments-signing'),
    12: (tick) => setTokenType(tick, 'management'),
    13: ({ roles }) => roles.delete(BREAK_GLASS),
  },
};

/** Advances keys, providers and roles to the given day. */
export function tickSecrets(context: SecretsContext, day: number, now: Date): void {
  const random = createRandom(`${context.seed}/secrets/night/${day}`);
  const tick: Tick = Object.assign(Object.create(context) as SecretsContext, { day, now, random });
  rotateRoutinely(tick);
  EVENTS[tick.estate][day % FORTNIGHT]?.(tick);
}

/** Teams rotate before 90 days pass, and then disable all but the last three versions. */
function rotateRoutinely(tick: Tick): void {
  for (const [name, key] of tick.keys) {
    const days = (tick.now.getTime() - Date.parse(key.versions.at(-1)?.creationTime ?? '')) / DAY_MS;
    const isDue = days > 80 && days < 89;
    if (!isDue || key.deletionAllowed || NEGLECTED.includes(name) || !tick.random.chance(0.3)) continue;
    rotate(tick, name);
    key.minEnabledVersion = Math.max(key.minEnabledVersion, key.versions.length - 2);
  }
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
  const [, retired] = findUndistributed(tick, false) ?? [];
  if (retired) retired.deletionAllowed = true;
}

function deleteRetiredKey(tick: Tick): void {
  const [name] = findUndistributed(tick, true) ?? [];
  if (name !== undefined) tick.keys.delete(name);
}

function findUndistributed(tick: Tick, isRetired: boolean): [name: string, key: KeyRecord] | undefined {
  return [...tick.keys].find(([name, key]) => key.deletionAllowed === isRetired && !findHolder(tick, name));
}

function setTokenType({ roles }: Tick, tokenType: string): void {
  const role = roles.get('legacy-admin');
  if (role) role.tokenType = tokenType;
}

function fillBackupProvider(tick: Tick): void {
  const provider = tick.providers.get(BACKUP_PROVIDER);
  const free = findUndistributed(tick, false);
  if (!provider || provider.keys.size > 0 || !free) return;
  distribute(tick, free[0], free[1], provider, tick.now, { purpose: ['sign', 'verify'], protection: 'hsm' });
}

/** One owner disables old versions; another rotates at last, and leaves four versions enabled. */
function tidyVersions(tick: Tick): void {
  const key = tick.keys.get('payments-signing');
  if (key) key.minEnabledVersion = key.versions.length - 1;
  rotate(tick, 'audit-log-seal');
}
