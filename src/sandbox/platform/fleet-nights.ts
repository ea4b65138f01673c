import type { Random } from '../prng.ts';
import { newAgent, newPool, pingAgeMs } from './fleet.ts';
import type { Agent, AgentStatus, PlatformState, Pool } from './state.ts';

const SECOND = 1000;
const HOUR = 3_600_000;

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
    state.agents.push({ ...newAgent(agent.poolId, now, random, 'idle'), createdAt: now - random.int(1, 20) * HOUR });
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
