import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../core/clock.ts';
import { createRandom, type Random } from '../random.ts';
import type { Flavor } from '../types.ts';
import type { AgentPoolRecord } from './agent-pool-body.ts';
import type { AgentRecord, AgentStatus } from './agents.ts';
import type { SavedQuery, SavedViewRecord } from './saved-views.ts';
import { HOSTILE_WORKSPACES, PARTS, PROJECTS, STAGES, TEAMS, TOOL_VERSIONS } from './seed-data.ts';
import { type Project, Stacks, type Workspace } from './workspaces.ts';

/** The records of all resources. Tests read and damage them. */
export interface PlatformState {
  readonly organization: string;
  /** The tool version that workspaces are upgraded to: the latest release. */
  newestTool: string;
  /** Ids of workspaces that drift and recover every other day. */
  readonly flapping: string[];
  readonly projects: Project[];
  readonly workspaces: Workspace[];
  readonly pools: AgentPoolRecord[];
  readonly agents: AgentRecord[];
  readonly views: SavedViewRecord[];
}

const SECOND_MS = 1000;

const RUN_STATUSES = [
  'applied',
  'applied',
  'applied',
  'applied',
  'planned_and_finished',
  'errored',
  'discarded',
] as const;

/** Generates projects and workspaces: those of day 0, and the ones that are created later. */
export class WorkspaceSeeder {
  readonly stacks: Stacks;
  readonly projects: readonly Project[];
  readonly #seed: number;

  constructor(seed: number) {
    this.#seed = seed;
    this.stacks = new Stacks(createRandom(`${seed}/platform/stacks`));
    const random = createRandom(`${seed}/platform/projects`);
    this.projects = PROJECTS.map((name) => ({ id: random.id('prj-', 16), name }));
  }

  seedWorkspaces(count: number, at: number): Workspace[] {
    const random = createRandom(`${this.#seed}/platform/workspaces`);
    return Array.from({ length: count }, (_, index) => this.createWorkspace(index, at, random));
  }

  /** A workspace at the time `at`; drift is not assessed on one in twenty, and one in sixty never ran. */
  createWorkspace(index: number, at: number, random: Random): Workspace {
    const { projects, stacks } = this;
    const hasRun = !random.chance(1 / 60);
    const createdAt = at - random.int(30, 1500) * DAY_MS - random.int(0, DAY_MS - 1);
    const updatedAt = at - random.int(1, 20 * 24) * HOUR_MS - random.int(0, HOUR_MS - 1);
    const status = hasRun ? random.pick(RUN_STATUSES) : null;
    const resources = hasRun ? random.int(0, 240) : 0;
    const drifted = !hasRun || random.chance(0.05) ? null : random.chance(0.11);
    const resourcesDrifted = drifted ? random.int(1, Math.max(1, Math.min(12, resources))) : 0;
    const version = random.chance(1 / 80) ? null : random.weighted(TOOL_VERSIONS, ([, share]) => share)[0];
    return {
      id: random.id('ws-', 16),
      name: workspaceName(index, random),
      project: projects[Math.min(random.int(0, projects.length - 1), random.int(0, projects.length - 1))]!,
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
      repository: random.chance(0.7) ? `acme/${random.pick(TEAMS)}-${random.pick(PARTS)}` : null,
    };
  }
}

/** Every thirteenth of the first workspaces, and one in a thousand later, has a hostile name. */
function workspaceName(index: number, random: Random): string {
  const plain = `${random.pick(TEAMS)}-${random.pick(PARTS)}-${random.pick(STAGES)}-${String(index).padStart(4, '0')}`;
  const hostile = index % 13 === 6 ? HOSTILE_WORKSPACES[(index - 6) / 13] : undefined;
  if (hostile !== undefined) return hostile;
  return index % 997 === 500 ? `"${plain}",=1+1` : plain;
}

type Checks = Pick<Workspace, 'checksPassed' | 'checksFailed' | 'checksErrored' | 'checksUnknown'>;

function seedChecks(random: Random): Checks {
  const none = { checksPassed: 0, checksFailed: 0, checksErrored: 0, checksUnknown: 0 };
  if (random.chance(0.3)) return none;
  return {
    checksPassed: random.int(1, 24),
    checksFailed: random.chance(0.07) ? random.int(1, 4) : 0,
    checksErrored: random.chance(0.03) ? random.int(1, 2) : 0,
    checksUnknown: random.chance(0.05) ? random.int(1, 3) : 0,
  };
}

export interface PoolPlan {
  readonly name: string;
  readonly isScoped: boolean;
  readonly attached: number;
  readonly allowed: number;
  readonly agents: number;
}

/** Pool names are letters, digits, `-` and `_` only. Each plan serves a rule or a report. */
const POOL_PLANS: readonly PoolPlan[] = [
  { name: 'default', isScoped: true, attached: 36, allowed: 0, agents: 9 },
  { name: 'eu-west-private', isScoped: false, attached: 12, allowed: 16, agents: 7 },
  { name: 'us_east_private', isScoped: false, attached: 9, allowed: 9, agents: 6 },
  { name: 'legacy-dc1', isScoped: true, attached: 3, allowed: 0, agents: 4 },
  { name: 'gpu-batch', isScoped: false, attached: 5, allowed: 5, agents: 4 },
  { name: 'dmz', isScoped: false, attached: 4, allowed: 6, agents: 0 },
  { name: 'sandbox-empty', isScoped: false, attached: 0, allowed: 2, agents: 0 },
  { name: 'audit', isScoped: true, attached: 2, allowed: 0, agents: 3 },
  { name: `pool-with-a-very-long-name-${'x'.repeat(60)}`, isScoped: false, attached: 1, allowed: 3, agents: 3 },
];

/** The pools and agents of day 0; both grow with the square root of the number of workspaces. */
export function seedAgentPools(state: PlatformState, random: Random, at: number, scale: number, flavor: Flavor): void {
  const growth = Math.max(1, Math.sqrt(scale));
  const extra = Array.from({ length: Math.round(4 * (growth - 1)) }, (_, index) => ({
    ...POOL_PLANS[1 + (index % 4)]!,
    name: `region-${index + 1}`,
  }));
  for (const plan of [...POOL_PLANS, ...extra]) {
    const pool = createPool({ ...plan, attached: Math.round(plan.attached * growth) }, at, random, state.workspaces);
    state.pools.push(pool);
    for (let count = 0; count < plan.agents; count++) {
      const agent = createAgent(pool.id, at, random, initialStatus(random));
      backdateDeath(agent, random);
      state.agents.push(agent);
    }
  }
  plantSpecialAgents(state.agents, at, flavor);
}

export function createPool(
  plan: PoolPlan,
  at: number,
  random: Random,
  workspaces: readonly Workspace[],
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

export function createAgent(poolId: string, at: number, random: Random, status: AgentStatus): AgentRecord {
  return {
    id: random.id('agent-', 16),
    poolId,
    name: random.chance(0.12) ? null : `agent-${random.pick(['a', 'b', 'c'])}-${random.hex(6)}`,
    status,
    ipAddress: `10.${random.int(0, 254)}.${random.int(0, 254)}.${random.int(1, 254)}`,
    createdAt: at - random.int(1, 200) * DAY_MS,
    lastPingAt: at - pingAgeMs(status, random),
  };
}

/** Time since the last ping of an agent with a status. */
export function pingAgeMs(status: AgentStatus, random: Random): number {
  if (status === 'idle' || status === 'busy') return random.int(1, 55) * SECOND_MS;
  return status === 'unknown' ? random.int(12 * MINUTE_MS, 110 * MINUTE_MS) : random.int(3 * HOUR_MS, 20 * HOUR_MS);
}

function initialStatus(random: Random): AgentStatus {
  const roll = random.next();
  if (roll < 0.5) return 'idle';
  if (roll < 0.82) return 'busy';
  if (roll < 0.89) return 'unknown';
  return roll < 0.95 ? 'errored' : 'exited';
}

/** Some dead agents have been dead for days on day 0. */
function backdateDeath(agent: AgentRecord, random: Random): void {
  const isDead = agent.status === 'errored' || agent.status === 'exited';
  if (isDead && random.chance(0.7)) agent.lastPingAt = (agent.lastPingAt ?? 0) - random.int(1, 9) * DAY_MS;
}

/** Agents that are dead on day 0 with any seed, so that all rules find one; the last one has been silent for too short a time. */
const DEAD_AGENTS: readonly (readonly [index: number, status: AgentStatus, silentMs: number])[] = [
  [4, 'errored', 3 * DAY_MS],
  [11, 'exited', 5 * DAY_MS + 7 * HOUR_MS],
  [18, 'unknown', 26 * HOUR_MS],
  [24, 'errored', 23 * HOUR_MS],
];

const HOSTILE_AGENTS: readonly string[] = [
  "=cmd|' /C calc'!A0",
  '<b onmouseover=alert(1)>agent</b>',
  'agent, "quoted"',
  'エージェント-01',
  'two\nlines',
];

/** Only the real product omits pings and addresses; the specification calls both strings. */
function plantSpecialAgents(agents: readonly AgentRecord[], at: number, flavor: Flavor): void {
  for (const [index, status, silentMs] of DEAD_AGENTS) {
    const agent = agents[index];
    if (agent) Object.assign(agent, { status, lastPingAt: at - silentMs });
  }
  for (const [index, name] of HOSTILE_AGENTS.entries()) {
    const agent = agents[index * 5 + 2];
    if (agent) agent.name = name;
  }
  const silent = agents[14];
  if (flavor === 'hashicorp' && silent) Object.assign(silent, { status: 'errored', lastPingAt: null, ipAddress: null });
}

type ViewPlan = readonly [name: string, queryType: string, ageDays: number, query: SavedQuery];

export function equals(field: string, value: string) {
  return { field, operator: 'is', value: [value] };
}

/** One of these never returns a row, and one asks for a field that the explorer no longer has. */
const VIEW_PLANS: readonly ViewPlan[] = [
  ['Drifted workspaces', 'workspaces', 210, { filter: [equals('drifted', 'true')], sort: ['-resources_drifted'] }],
  [
    'Failing checks, "prod" only',
    'workspaces',
    120,
    {
      filter: [
        { field: 'checks_failed', operator: 'gt', value: ['0'] },
        { field: 'workspace_name', operator: 'contains', value: ['prod'] },
      ],
      fields: ['workspace_name', 'project_name', 'checks_failed'],
      sort: ['workspace_name'],
    },
  ],
  ['Tool versions', 'tf_versions', 400, { filter: [], sort: ['version'] }],
  ['aws <script>alert(1)</script>', 'providers', 90, { filter: [equals('name', 'aws')], sort: ['-workspace_count'] }],
  [
    "=cmd|' /C calc'!A0",
    'modules',
    75,
    { filter: [{ field: 'source', operator: 'contains', value: ['acme'] }], fields: ['name', 'version'] },
  ],
  ['未評価 🚧', 'workspaces', 44, { filter: [{ field: 'drifted', operator: 'is_empty', value: [''] }] }],
  ['Decommissioned', 'workspaces', 320, { filter: [equals('workspace_name', 'decommissioned-in-2024')] }],
  ['By owner team (old)', 'workspaces', 500, { filter: [equals('workspace_owner_team', 'sre')] }],
];

export function seedSavedViews(random: Random, at: number): SavedViewRecord[] {
  return VIEW_PLANS.map((plan) => createSavedView(plan, at, random));
}

export function createSavedView(
  [name, queryType, ageDays, query]: ViewPlan,
  at: number,
  random: Random,
): SavedViewRecord {
  return {
    id: random.id('sq-', 16),
    name,
    createdAt: at - ageDays * DAY_MS - random.int(0, DAY_MS - 1),
    queryType,
    query,
  };
}
