import type { Random } from '../prng.ts';
import type { Flavor } from '../types.ts';
import type { Agent, AgentStatus, PlatformState, Pool, Workspace } from './state.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const HARMFUL_AGENTS: readonly string[] = [
  "=cmd|' /C calc'!A0",
  '<b onmouseover=alert(1)>agent</b>',
  'agent, "quoted"',
  'エージェント-01',
  'two\nlines',
];

interface PoolPlan {
  readonly name: string;
  readonly scoped: boolean;
  readonly attached: number;
  readonly allowed: number;
  readonly agents: number;
}

/** Pool names are letters, digits, `-` and `_` only (platform.md). Each plan is there for a rule or a report. */
const PLANS: readonly PoolPlan[] = [
  { name: 'default', scoped: true, attached: 36, allowed: 0, agents: 9 },
  { name: 'eu-west-private', scoped: false, attached: 12, allowed: 16, agents: 7 },
  { name: 'us_east_private', scoped: false, attached: 9, allowed: 9, agents: 6 },
  { name: 'legacy-dc1', scoped: true, attached: 3, allowed: 0, agents: 4 },
  { name: 'gpu-batch', scoped: false, attached: 5, allowed: 5, agents: 4 },
  { name: 'dmz', scoped: false, attached: 4, allowed: 6, agents: 0 },
  { name: 'sandbox-empty', scoped: false, attached: 0, allowed: 2, agents: 0 },
  { name: 'audit', scoped: true, attached: 2, allowed: 0, agents: 3 },
  { name: `pool-with-a-very-long-name-${'x'.repeat(60)}`, scoped: false, attached: 1, allowed: 3, agents: 3 },
];

const someIds = (workspaces: readonly Workspace[], count: number, random: Random): string[] =>
  workspaces.length === 0 ? [] : [...new Set(Array.from({ length: count }, () => random.pick(workspaces).id))];

export function newPool(plan: PoolPlan, at: number, random: Random, workspaces: readonly Workspace[]): Pool {
  const attached = someIds(workspaces, plan.attached, random);
  const others = someIds(workspaces, Math.max(0, plan.allowed - plan.attached), random);
  return {
    id: random.id('apool-', 16),
    name: plan.name,
    createdAt: at - random.int(20, 900) * DAY - random.int(0, DAY - 1),
    organizationScoped: plan.scoped,
    attached,
    allowed: plan.scoped ? [] : [...new Set([...attached, ...others])].sort(),
  };
}

export function pingAgeMs(status: AgentStatus, random: Random): number {
  if (status === 'idle' || status === 'busy') return random.int(1, 55) * SECOND;
  return status === 'unknown' ? random.int(12 * MINUTE, 110 * MINUTE) : random.int(3 * HOUR, 20 * HOUR);
}

export function newAgent(poolId: string, at: number, random: Random, status: AgentStatus): Agent {
  return {
    id: random.id('agent-', 16),
    poolId,
    name: random.chance(0.12) ? null : `agent-${random.pick(['a', 'b', 'c'])}-${random.hex(6)}`,
    status,
    ipAddress: `10.${random.int(0, 254)}.${random.int(0, 254)}.${random.int(1, 254)}`,
    createdAt: at - random.int(1, 200) * DAY,
    lastPingAt: at - pingAgeMs(status, random),
  };
}

function initialStatus(random: Random): AgentStatus {
  const roll = random.next();
  if (roll < 0.5) return 'idle';
  if (roll < 0.82) return 'busy';
  if (roll < 0.89) return 'unknown';
  return roll < 0.95 ? 'errored' : 'exited';
}

/** Some of the dead have been so for days when the first night comes. */
function age(agent: Agent, random: Random): void {
  const dead = agent.status === 'errored' || agent.status === 'exited';
  if (dead && random.chance(0.7)) agent.lastPingAt = (agent.lastPingAt ?? 0) - random.int(1, 9) * DAY;
}

/** Whatever chance says, these are dead on night 0 for all rules to see; the last one is silent for too short a time. */
const DEAD: readonly (readonly [place: number, status: AgentStatus, silentMs: number])[] = [
  [4, 'errored', 3 * DAY],
  [11, 'exited', 5 * DAY + 7 * HOUR],
  [18, 'unknown', 26 * HOUR],
  [24, 'errored', 23 * HOUR],
];

/** Only the real service leaves pings and addresses out (live-services.md A3); the documents call both strings. */
function embarrass(agents: readonly Agent[], at: number, flavor: Flavor): void {
  for (const [place, status, silentMs] of DEAD) {
    const agent = agents[place];
    if (agent) Object.assign(agent, { status, lastPingAt: at - silentMs });
  }
  for (const [index, name] of HARMFUL_AGENTS.entries()) {
    const agent = agents[index * 5 + 2];
    if (agent) agent.name = name;
  }
  const silent = agents[14];
  if (flavor === 'hashicorp' && silent) Object.assign(silent, { status: 'errored', lastPingAt: null, ipAddress: null });
}

/** Pools and agents of night 0; both grow with the square root of the number of workspaces. */
export function createFleet(state: PlatformState, random: Random, at: number, scale: number, flavor: Flavor): void {
  const growth = Math.max(1, Math.sqrt(scale));
  const extra = Array.from({ length: Math.round(4 * (growth - 1)) }, (_, index) => ({
    ...PLANS[1 + (index % 4)]!,
    name: `region-${index + 1}`,
  }));
  for (const plan of [...PLANS, ...extra]) {
    const pool = newPool({ ...plan, attached: Math.round(plan.attached * growth) }, at, random, state.workspaces);
    state.pools.push(pool);
    for (let count = 0; count < plan.agents; count++) {
      const agent = newAgent(pool.id, at, random, initialStatus(random));
      age(agent, random);
      state.agents.push(agent);
    }
  }
  embarrass(state.agents, at, flavor);
}
