import type { Random } from '../random.ts';
import type { TokenStore } from '../tokens.ts';
import { type EstateName, FORTNIGHT, type ServiceOptions } from '../types.ts';
import type { Product, Project, Workspace } from './workspaces.ts';

/** A resource that a relationship names. */
export interface Reference {
  readonly id: string;
  readonly type: string;
}

export interface AgentPoolRecord {
  readonly id: string;
  name: string;
  readonly createdAt: number;
  organizationScoped: boolean;
  /** Ids of the workspaces that run in the pool. */
  attached: string[];
  /** Ids of the workspaces that are permitted to. */
  allowed: string[];
  /** The other relationships by name, with the flavor of the real products. */
  related: Readonly<Record<string, readonly Reference[]>>;
}

export type AgentStatus = 'idle' | 'busy' | 'unknown' | 'errored' | 'exited';

export interface AgentRecord {
  readonly id: string;
  readonly poolId: string;
  name: string | null;
  status: AgentStatus;
  ipAddress: string | null;
  createdAt: number;
  lastPingAt: number | null;
}

export interface AgentTokenRecord {
  readonly id: string;
  readonly poolId: string;
  readonly description: string;
  readonly createdAt: number;
}

export interface ViewFilter {
  readonly field: string;
  readonly operator: string;
  /** A row passes that matches any of these values. */
  readonly value: readonly string[];
  /** The parameter of a URL that an error names. */
  readonly parameter?: string;
}

export interface SavedViewQuery {
  readonly filter: readonly ViewFilter[];
  /** Without any: all. */
  readonly fields?: readonly string[];
  /** Field names, `-` before one for descending. */
  readonly sort?: readonly string[];
}

export interface SavedViewRecord {
  readonly id: string;
  name: string;
  readonly createdAt: number;
  readonly queryType: string;
  query: SavedViewQuery;
}

export interface PoolPlan {
  readonly name: string;
  readonly isScoped: boolean;
  readonly attached: number;
  readonly allowed: number;
  readonly agents: number;
}

export type ViewPlan = readonly [name: string, queryType: string, ageDays: number, query: SavedViewQuery];

/** The records of an organization, and what its endpoints share. Tests read and damage them. */
export interface PlatformContext extends ServiceOptions {
  readonly tokens: TokenStore;
  readonly organization: string;
  /** The tool version that workspaces are upgraded to: the latest release. */
  newestTool: string;
  /** Ids of workspaces that drift and recover every other day. */
  readonly flapping: string[];
  readonly projects: Project[];
  readonly workspaces: Workspace[];
  readonly pools: AgentPoolRecord[];
  readonly agents: AgentRecord[];
  readonly agentTokens: AgentTokenRecord[];
  readonly views: SavedViewRecord[];
  readonly poolRandom: Random;
  readonly tokenRandom: Random;
  readonly viewRandom: Random;
}

/** Where a generated workspace belongs. */
interface Place {
  readonly name: string;
  /** Position of its project in `PlatformEstate.projects`. */
  readonly project: number;
}

/** How often agents change their status in a day, as probabilities. */
export interface AgentLife {
  /** Shares of the agents that are idle, busy, unknown and errored on day 0; the rest has exited. */
  readonly initial: readonly [idle: number, busy: number, unknown: number, errored: number];
  readonly becomesUnknown: number;
  readonly exits: number;
  readonly unknownRecovers: number;
  readonly erroredRecovers: number;
  /** A dead agent is deleted, and a new one takes its place. */
  readonly replaced: number;
  /** A dead agent of day 0 has been dead for days. */
  readonly diedDaysAgo: number;
}

/** A change of `events.ts` with its arguments, such as `{ driftSome: [network, prod, 5] }`. */
export type EventRow = Readonly<Record<string, readonly unknown[]>>;

/** The part of an estate's file that is about the platform. */
export interface PlatformData {
  /** The projects of the company, each with its services. */
  readonly services?: Readonly<Record<string, readonly string[]>>;
  readonly projects?: readonly string[];
  readonly workspaceNames?: readonly string[];
  /** Each status as often as its number says. */
  readonly runStatuses: Readonly<Record<string, number>>;
  readonly laterRunStatuses: Readonly<Record<string, number>>;
  /** Share of the assessed workspaces that drift. */
  readonly driftedShare: number;
  /** Tool versions with their share of the workspaces on day 0. */
  readonly toolVersions: readonly (readonly [version: string, share: number])[];
  /** The newest release on day 0. */
  readonly newestTool: string;
  /** Releases that are published while the sandbox runs. */
  readonly toolReleases: readonly (readonly [day: number, version: string])[];
  /** Projects whose workspaces have the newest version on day 0. */
  readonly pilots: readonly string[];
  readonly providers: readonly Product[];
  readonly modules: readonly Product[];
  readonly pools: readonly PoolPlan[];
  readonly agentLife: AgentLife;
  /** Agents that are dead on day 0, whatever the seed. */
  readonly deadAgents: readonly (readonly [index: number, status: AgentStatus, silentHours: number])[];
  /** Names of every fifth agent. */
  readonly plantedAgentNames: readonly string[];
  readonly views: readonly ViewPlan[];
  /** All agents of a pool are silent from one day of the fortnight to another. */
  readonly outages: readonly { readonly pool: string; readonly from: number; readonly to: number }[];
  /** What happens on a certain day, besides the random changes. */
  readonly story: Readonly<Record<number, readonly EventRow[]>>;
}

/** What an estate generates by rules of its own. */
interface PlatformRules {
  readonly projects: readonly string[];
  /** The workspace with this number; numbers begin at 0, and are never used twice. */
  readonly place: (index: number, random: Random) => Place;
  readonly repository: (place: Place, random: Random) => string;
  readonly rename: (name: string, random: Random) => string;
  /** A pool that a larger estate has besides. */
  readonly extraPool: (index: number) => PoolPlan;
  readonly agentName: (random: Random) => string | null;
  readonly eventsOn: (day: number) => readonly EventRow[];
}

export type PlatformEstate = Omit<PlatformData, 'projects' | 'runStatuses' | 'laterRunStatuses' | 'story'> &
  PlatformRules & { readonly runStatuses: readonly string[]; readonly laterRunStatuses: readonly string[] };

export function createPlatformEstate(name: EstateName, data: PlatformData): PlatformEstate {
  return {
    ...data,
    runStatuses: spread(data.runStatuses),
    laterRunStatuses: spread(data.laterRunStatuses),
    ...(name === 'company' ? companyRules : hostileRules)(data),
  };
}

/** Each name as often as its number says. */
function spread(counts: Readonly<Record<string, number>>): readonly string[] {
  return Object.entries(counts).flatMap(([name, count]) => Array.from({ length: count }, () => name));
}

const SERVICES_PER_PROJECT = 7;
const COMPANY_STAGES = ['prod', 'staging', 'dev'] as const;
const REGIONS = ['eu-central-1', 'us-east-1', 'eu-west-1', 'us-west-2', 'ap-southeast-1', 'ap-northeast-1'] as const;
/** The parts of a service that have workspaces of their own; the service itself comes first. */
const COMPANY_PARTS = ['', 'db', 'cache', 'queue', 'storage', 'network', 'iam', 'cdn', 'jobs', 'monitoring'] as const;

/** Days from the upgrade of a team's other stages to that of its production. */
const PRODUCTION_LAG_DAYS = 5;

/** A company with teams, stages and regions, whose story repeats each fortnight. */
function companyRules({ services = {}, story }: PlatformData): PlatformRules {
  const projects = Object.keys(services);
  /**
   * The upgrade: a team a day moves its development and staging workspaces to the newest version, and its production some days
   * later. At the end of the fortnight some production is still to be upgraded.
   */
  const upgradesOn = (day: number): readonly EventRow[] => {
    const upgrade = (index: number, stages: readonly string[]): readonly EventRow[] => {
      const project = index > 0 ? projects[index] : undefined;
      return project === undefined ? [] : stages.map((stage) => ({ upgradeStage: [project, stage] }));
    };
    return [...upgrade(day, ['dev', 'staging']), ...upgrade(day - PRODUCTION_LAG_DAYS, ['prod'])];
  };
  return {
    projects,
    /**
     * The services of all projects in turn, each on three stages; then the same in the next region, then the next part of each
     * service, then the next cell. So ten workspaces are three complete services, and a million are a larger company.
     */
    place: (index) => {
      const [stageTurn, stage] = split(index, COMPANY_STAGES.length);
      const [projectTurn, project] = split(stageTurn, projects.length);
      const [serviceTurn, service] = split(projectTurn, SERVICES_PER_PROJECT);
      const [regionTurn, region] = split(serviceTurn, REGIONS.length);
      const [cell, part] = split(regionTurn, COMPANY_PARTS.length);
      const names = services[projects[project]!]!;
      const words = [names[service]!, COMPANY_PARTS[part]!, COMPANY_STAGES[stage]!, REGIONS[region]!];
      if (cell > 0) words.push(`c${String(cell + 1).padStart(2, '0')}`);
      return { name: words.filter((word) => word !== '').join('-'), project };
    },
    /** The name of the service without stage and region. */
    repository: ({ name }) => `acme/${name.split(/-(?:prod|staging|dev)-/u)[0]}-infra`,
    /** `cart-dev-eu-central-1` becomes `cart-dev-eu-central-1-v2`, and that `…-v3`. */
    rename: (name) => {
      const [, stem, version] = /^(.*)-v(\d+)$/u.exec(name) ?? [undefined, name, '1'];
      return `${stem}-v${Number(version) + 1}`;
    },
    extraPool: (index) => {
      const [turn, region] = split(index, REGIONS.length);
      return { name: `cell-${turn + 1}-${REGIONS[region]}`, isScoped: false, attached: 8, allowed: 10, agents: 4 };
    },
    agentName: (random) => `tfc-agent-${random.hex(6)}`,
    eventsOn: (day) => [...upgradesOn(day % FORTNIGHT), ...(story[day % FORTNIGHT] ?? [])],
  };
}

/** Quotient and remainder. */
function split(number: number, by: number): readonly [quotient: number, remainder: number] {
  return [Math.floor(number / by), number % by];
}

const STAGES = ['prod', 'prod', 'staging', 'dev', 'dr'] as const;
const TEAMS = ['billing', 'search', 'network', 'iam', 'orders', 'ml', 'web', 'mobile', 'risk', 'ops'] as const;
const PARTS = ['api', 'db', 'cluster', 'cdn', 'queue', 'vpc', 'cache', 'jobs', 'dns', 'storage'] as const;

/** An organization whose names are hostile, and where much goes wrong. */
function hostileRules({ projects = [], workspaceNames = [], pools, story }: PlatformData): PlatformRules {
  /** Every thirteenth of the first workspaces, and one in a thousand later, has a hostile name. */
  const nameWorkspace = (index: number, random: Random): string => {
    const number = String(index).padStart(4, '0');
    const plain = `${random.pick(TEAMS)}-${random.pick(PARTS)}-${random.pick(STAGES)}-${number}`;
    const hostile = index % 13 === 6 ? workspaceNames[(index - 6) / 13] : undefined;
    return hostile ?? (index % 997 === 500 ? `"${plain}",=1+1` : plain);
  };
  const last = projects.length - 1;
  return {
    projects,
    place: (index, random) => {
      const name = nameWorkspace(index, random);
      return { name, project: Math.min(random.int(0, last), random.int(0, last)) };
    },
    repository: (_place, random) => `acme/${random.pick(TEAMS)}-${random.pick(PARTS)}`,
    rename: (name, random) => `${name.slice(0, 60)}-r${random.int(2, 99)}`,
    extraPool: (index) => ({ ...pools[1 + (index % 4)]!, name: `region-${index + 1}` }),
    agentName: (random) => (random.chance(0.12) ? null : `agent-${random.pick(['a', 'b', 'c'])}-${random.hex(6)}`),
    eventsOn: (day) => story[day] ?? [],
  };
}
