import type { Random } from '../random.ts';
import type { AgentStatus } from './agents.ts';
import type { SavedViewQuery } from './saved-views.ts';
import type { Product } from './workspaces.ts';

/** Where a generated workspace belongs. */
export interface Place {
  readonly name: string;
  /** Position of its project in `PlatformEstate.projects`. */
  readonly project: number;
}

export interface PoolPlan {
  readonly name: string;
  readonly isScoped: boolean;
  readonly attached: number;
  readonly allowed: number;
  readonly agents: number;
}

export type ViewPlan = readonly [name: string, queryType: string, ageDays: number, query: SavedViewQuery];

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

/** Something that happens on a certain day, besides the random changes. */
export type PlatformEvent =
  | { readonly event: 'agents'; readonly pool: string; readonly status: AgentStatus }
  | { readonly event: 'create-pool'; readonly plan: PoolPlan }
  | { readonly event: 'delete-pool'; readonly pool: string }
  /** Only the workspaces that use the pool may use it from now on. */
  | { readonly event: 'restrict-pool'; readonly pool: string }
  | { readonly event: 'create-view'; readonly plan: ViewPlan }
  | { readonly event: 'change-view'; readonly view: string; readonly fields: readonly string[] }
  | { readonly event: 'delete-view'; readonly view: string }
  | { readonly event: 'drift'; readonly project: string; readonly stage: string; readonly count: number }
  | { readonly event: 'resolve-drift'; readonly project: string; readonly count: number }
  /** The workspaces of a project's stage are upgraded to the newest tool version. */
  | { readonly event: 'upgrade'; readonly project: string; readonly stage: string };

/** All agents of a pool are silent from one day to another. */
export interface Outage {
  readonly pool: string;
  readonly from: number;
  readonly to: number;
}

/** What the generator of the platform's data works with: names, shares and the story. */
export interface PlatformEstate {
  readonly projects: readonly string[];
  /** The workspace with this number; numbers begin at 0, and are never used twice. */
  readonly place: (index: number, random: Random) => Place;
  readonly repository: (place: Place, random: Random) => string;
  readonly rename: (name: string, random: Random) => string;
  readonly runStatuses: readonly string[];
  readonly laterRunStatuses: readonly string[];
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
  /** Each plan serves a rule or a report. */
  readonly pools: readonly PoolPlan[];
  /** A pool that a larger estate has besides. */
  readonly extraPool: (index: number) => PoolPlan;
  readonly agentName: (random: Random) => string | null;
  readonly agentLife: AgentLife;
  /** Agents that are dead on day 0 with any seed. */
  readonly deadAgents: readonly (readonly [index: number, status: AgentStatus, silentMs: number])[];
  /** Names of every fifth agent. */
  readonly plantedAgentNames: readonly string[];
  readonly views: readonly ViewPlan[];
  readonly eventsOn: (day: number) => readonly PlatformEvent[];
  readonly outages: readonly Outage[];
}

export function equals(field: string, value: string) {
  return { field, operator: 'is', value: [value] };
}
