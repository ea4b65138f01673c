import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/core/clock.ts';
import { createRandom, type Random } from '../random.ts';
import type {
  AgentLife,
  AgentPoolRecord,
  AgentRecord,
  AgentStatus,
  PlatformContext,
  PlatformEstate,
  PoolPlan,
  SavedViewRecord,
  ViewPlan,
} from './context.ts';
import { type Project, Stacks, type Workspace } from './workspaces.ts';

export const SECOND_MS = 1000;

/** Generates projects and workspaces: those of day 0, and the ones that are created later. */
export class WorkspaceSeeder {
  readonly stacks: Stacks;
  readonly projects: readonly Project[];
  readonly #estate: PlatformEstate;
  #created = 0;

  constructor(seed: number, estate: PlatformEstate) {
    this.#estate = estate;
    this.stacks = new Stacks(createRandom(`${seed}/platform/stacks`), estate);
    const random = createRandom(`${seed}/platform/projects`);
    this.projects = estate.projects.map((name) => ({ id: random.id('prj-', 16), name }));
  }

  /** A workspace at the time `at`; drift is not assessed on one in twenty, and one in sixty never ran. */
  createWorkspace(at: number, random: Random): Workspace {
    const { projects, stacks } = this;
    const estate = this.#estate;
    const hasRun = !random.chance(1 / 60);
    const createdAt = at - random.int(30, 1500) * DAY_MS - random.int(0, DAY_MS - 1);
    const updatedAt = at - random.int(1, 20 * 24) * HOUR_MS - random.int(0, HOUR_MS - 1);
    const status = hasRun ? random.pick(estate.runStatuses) : null;
    const resources = hasRun ? random.int(0, 240) : 0;
    const drifted = !hasRun || random.chance(0.05) ? null : random.chance(estate.driftedShare);
    const resourcesDrifted = drifted ? random.int(1, Math.max(1, Math.min(12, resources))) : 0;
    const configured = random.chance(1 / 80) ? null : random.weighted(estate.toolVersions, ([, share]) => share)[0];
    const id = random.id('ws-', 16);
    const place = estate.place(this.#created++, random);
    const project = projects[place.project]!;
    const version = estate.pilots.includes(project.name) ? estate.newestTool : configured;
    return {
      id,
      name: place.name,
      project,
      createdAt,
      updatedAt,
      runId: hasRun ? random.id('run-', 16) : null,
      runStatus: status,
      appliedAt: status === 'applied' ? updatedAt - random.int(60_000, HOUR_MS) : null,
      drifted,
      resourcesDrifted,
      resourcesUndrifted: drifted === null ? 0 : Math.max(0, resources - resourcesDrifted),
      rumCount: hasRun ? resources : null,
      ...seedChecks(random),
      stack: stacks.pick(random),
      toolVersion: version,
      stateVersion: hasRun && !random.chance(0.02) ? version : null,
      repository: random.chance(0.7) ? estate.repository(place, random) : null,
    };
  }
}

function seedChecks(random: Random) {
  const none = { checksPassed: 0, checksFailed: 0, checksErrored: 0, checksUnknown: 0 };
  if (random.chance(0.3)) return none;
  return {
    checksPassed: random.int(1, 24),
    checksFailed: random.chance(0.07) ? random.int(1, 4) : 0,
    checksErrored: random.chance(0.03) ? random.int(1, 2) : 0,
    checksUnknown: random.chance(0.05) ? random.int(1, 3) : 0,
  };
}

/** The pools and agents of day 0; both grow with the square root of the number of workspaces. */
export function seedAgentPools(state: PlatformContext, estate: PlatformEstate, random: Random): void {
  const { scale, start } = state;
  const at = start.getTime();
  const growth = Math.max(1, Math.sqrt(scale));
  const extra = Array.from({ length: Math.round(4 * (growth - 1)) }, (_, index) => estate.extraPool(index));
  for (const plan of [...estate.pools, ...extra]) {
    const pool = createPool({ ...plan, attached: Math.round(plan.attached * growth) }, at, random, state);
    state.pools.push(pool);
    for (let count = 0; count < plan.agents; count++) {
      const agent = createAgent(estate, pool.id, at, random, initialStatus(random, estate.agentLife));
      backdateDeath(agent, random, estate.agentLife);
      state.agents.push(agent);
    }
  }
  plantSpecialAgents(state, estate);
}

export function createPool(
  plan: PoolPlan,
  at: number,
  random: Random,
  { workspaces }: PlatformContext,
): AgentPoolRecord {
  const attached = pickIds(workspaces, plan.attached, random);
  const others = pickIds(workspaces, Math.max(0, plan.allowed - plan.attached), random);
  return {
    id: random.id('apool-', 16),
    name: plan.name,
    createdAt: at - random.int(20, 900) * DAY_MS - random.int(0, DAY_MS - 1),
    organizationScoped: plan.isScoped,
    attached,
    allowed: plan.isScoped ? [] : [...new Set([...attached, ...others])].sort(),
    related: {},
  };
}

function pickIds(workspaces: readonly Workspace[], count: number, random: Random): string[] {
  if (workspaces.length === 0) return [];
  return [...new Set(Array.from({ length: count }, () => random.pick(workspaces).id))];
}

export function createAgent(estate: PlatformEstate, poolId: string, at: number, random: Random, status: AgentStatus) {
  return {
    id: random.id('agent-', 16),
    poolId,
    name: estate.agentName(random),
    status,
    ipAddress: `10.${random.int(0, 254)}.${random.int(0, 254)}.${random.int(1, 254)}`,
    createdAt: at - random.int(1, 200) * DAY_MS,
    lastPingAt: at - pingAgeMs(status, random),
  };
}

export const isAlive = (status: AgentStatus): boolean => status === 'idle' || status === 'busy';

/** Time since the last ping of an agent with a status. */
export function pingAgeMs(status: AgentStatus, random: Random): number {
  if (isAlive(status)) return random.int(1, 55) * SECOND_MS;
  return status === 'unknown' ? random.int(12 * MINUTE_MS, 110 * MINUTE_MS) : random.int(3 * HOUR_MS, 20 * HOUR_MS);
}

function initialStatus(random: Random, { initial: [idle, busy, unknown, errored] }: AgentLife): AgentStatus {
  const roll = random.next();
  if (roll < idle) return 'idle';
  if (roll < busy) return 'busy';
  if (roll < unknown) return 'unknown';
  return roll < errored ? 'errored' : 'exited';
}

/** Some dead agents have been dead for days on day 0. */
function backdateDeath(agent: AgentRecord, random: Random, { diedDaysAgo }: AgentLife): void {
  const isDead = agent.status === 'errored' || agent.status === 'exited';
  if (isDead && random.chance(diedDaysAgo)) agent.lastPingAt = (agent.lastPingAt ?? 0) - random.int(1, 9) * DAY_MS;
}

/** Only the real product omits pings and addresses; the specification calls both strings. */
function plantSpecialAgents({ agents, start, flavor }: PlatformContext, estate: PlatformEstate): void {
  const { deadAgents, plantedAgentNames } = estate;
  for (const [index, status, silentHours] of deadAgents) {
    const agent = agents[index];
    if (agent) Object.assign(agent, { status, lastPingAt: start.getTime() - silentHours * HOUR_MS });
  }
  for (const [index, name] of plantedAgentNames.entries()) {
    const agent = agents[index * 5 + 2];
    if (agent) agent.name = name;
  }
  const silent = agents[14];
  if (flavor === 'hashicorp' && silent) Object.assign(silent, { status: 'errored', lastPingAt: null, ipAddress: null });
}

export function createSavedView(plan: ViewPlan, at: number, random: Random): SavedViewRecord {
  const [name, queryType, ageDays, query] = plan;
  const id = random.id('sq-', 16);
  return { id, name, createdAt: at - ageDays * DAY_MS - random.int(0, DAY_MS - 1), queryType, query };
}
