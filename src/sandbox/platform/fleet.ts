import type { Random } from '../prng.ts';
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

function newPool(plan: PoolPlan, at: number, random: Random, workspaces: readonly Workspace[]): Pool {
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

function pingAgeMs(status: AgentStatus, random: Random): number {
  if (status === 'idle' || status === 'busy') return random.int(1, 55) * SECOND;
  return status === 'unknown' ? random.int(12 * MINUTE, 110 * MINUTE) : random.int(3 * HOUR, 20 * HOUR);
}

function newAgent(poolId: string, at: number, random: Random, status: AgentStatus): Agent {
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

/** Pools and agents of night 0; both grow with the square root of the number of workspaces. */
export function createFleet(state: PlatformState, random: Random, at: number, scale: number): void {
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
  for (const [index, name] of HARMFUL_AGENTS.entries()) {
    const agent = state.agents[index * 5 + 2];
    if (agent) agent.name = name;
  }
}

function nextStatus(agent: Agent, random: Random): AgentStatus {
  const roll = random.next();
  switch (agent.status) {
    case 'idle':
    case 'busy':
      if (roll < 0.05) return 'unknown';
      if (roll < 0.08) return 'exited';
      return roll < 0.6 ? 'idle' : 'busy';
    case 'unknown':
      // Two hours without a ping turn unknown into errored (live-services.md A3), unless it comes back.
      return roll < 0.3 ? 'idle' : 'errored';
    case 'errored':
      return roll < 0.08 ? 'idle' : 'errored';
    case 'exited':
      return 'exited';
  }
}

function advanceAgent(agent: Agent, random: Random, now: number): void {
  const before = agent.status;
  agent.status = nextStatus(agent, random);
  const alive = agent.status === 'idle' || agent.status === 'busy';
  const justDied = before !== agent.status && agent.status !== 'errored';
  if (alive || justDied) agent.lastPingAt = now - pingAgeMs(agent.status, random);
}

const removeWhere = <T>(list: T[], test: (item: T) => boolean): void => {
  for (let index = list.length - 1; index >= 0; index--) {
    if (test(list[index]!)) list.splice(index, 1);
  }
};

/** The dead are cleared away by somebody, in time; pools that lost agents get new ones. */
function replaceAgents(state: PlatformState, random: Random, now: number): void {
  const dead = state.agents.filter(({ status }) => status === 'exited' || status === 'errored');
  for (const agent of dead) {
    if (!random.chance(0.12)) continue;
    state.agents.splice(state.agents.indexOf(agent), 1);
    if (random.chance(0.9)) {
      state.agents.push({ ...newAgent(agent.poolId, now, random, 'idle'), createdAt: now - random.int(1, 20) * HOUR });
    }
  }
}

const poolNamed = (state: PlatformState, name: string): Pool | undefined =>
  state.pools.find((pool) => pool.name === name);

/** Things that happen on a certain night, so that every rule about pools finds and loses something in two weeks. */
function script(state: PlatformState, night: number, now: number, random: Random): void {
  const gpu = poolNamed(state, 'gpu-batch');
  const gpuAgents = state.agents.filter(({ poolId }) => poolId === gpu?.id);
  if (night === 3) for (const agent of gpuAgents) agent.status = 'unknown';
  if (night === 4 || night === 5) for (const agent of gpuAgents) agent.status = 'errored';
  if (night === 6)
    for (const agent of gpuAgents) Object.assign(agent, { status: 'idle', lastPingAt: now - 9 * SECOND });
  if (night === 2) {
    const plan = { name: 'tmp-migration', scoped: true, attached: 0, allowed: 0, agents: 0 };
    state.pools.push({ ...newPool(plan, now, random, state.workspaces), createdAt: now - 6 * HOUR });
  }
  if (night === 9) removeWhere(state.pools, ({ name }) => name === 'tmp-migration');
  const audit = poolNamed(state, 'audit');
  if (night === 7 && audit) Object.assign(audit, { organizationScoped: false, allowed: [...audit.attached].sort() });
}

/** Moves pools and agents to the next night. */
export function advanceFleet(state: PlatformState, random: Random, night: number, now: number): void {
  for (const agent of state.agents) advanceAgent(agent, random, now);
  replaceAgents(state, random, now);
  script(state, night, now, random);
}
