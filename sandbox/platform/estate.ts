import { DAY_MS, HOUR_MS } from '../../src/core/clock.ts';
import type { Random } from '../random.ts';
import type { AgentStatus, PlatformContext, SavedViewQuery } from './context.ts';
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

/** Something that happens on a certain day, besides the random changes. `now` is in milliseconds since 1970. */
export type PlatformEvent = (state: PlatformContext, now: number, random: Random) => void;

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
  /** Agents that are dead on day 0, whatever the seed. */
  readonly deadAgents: readonly (readonly [index: number, status: AgentStatus, silentMs: number])[];
  /** Names of every fifth agent. */
  readonly plantedAgentNames: readonly string[];
  readonly views: readonly ViewPlan[];
  readonly eventsOn: (day: number) => readonly PlatformEvent[];
  readonly outages: readonly Outage[];
}

function equals(field: string, value: string) {
  return { field, operator: 'is', value: [value] };
}

/** The names that an estate gives to its saved views, and that of a workspace which is gone. */
interface ViewNames {
  readonly failing: string;
  readonly tools: string;
  readonly aws: string;
  readonly modules: string;
  readonly unassessed: string;
  readonly gone: string;
}

/** One of these never returns a row, and one asks for a field that the explorer no longer has. */
export function planViews({ failing, tools, aws, modules, unassessed, gone }: ViewNames): readonly ViewPlan[] {
  const failed = { field: 'checks_failed', operator: 'gt', value: ['0'] };
  const inProduction = { field: 'workspace_name', operator: 'contains', value: ['prod'] };
  const fields = ['workspace_name', 'project_name', 'checks_failed'];
  const ofAcme = { field: 'source', operator: 'contains', value: ['acme'] };
  return [
    ['Drifted workspaces', 'workspaces', 210, { filter: [equals('drifted', 'true')], sort: ['-resources_drifted'] }],
    [failing, 'workspaces', 120, { filter: [failed, inProduction], fields, sort: ['workspace_name'] }],
    [tools, 'tf_versions', 400, { filter: [], sort: ['version'] }],
    [aws, 'providers', 90, { filter: [equals('name', 'aws')], sort: ['-workspace_count'] }],
    [modules, 'modules', 75, { filter: [ofAcme], fields: ['name', 'version'] }],
    [unassessed, 'workspaces', 44, { filter: [{ field: 'drifted', operator: 'is_empty', value: [''] }] }],
    ['Decommissioned', 'workspaces', 320, { filter: [equals('workspace_name', gone)] }],
    ['By owner team (old)', 'workspaces', 500, { filter: [equals('workspace_owner_team', 'sre')] }],
  ];
}

/** A view of the runs that fail, for some days. */
export function planErroredView(name: string): ViewPlan {
  return [name, 'workspaces', 0, { filter: [equals('current_run_status', 'errored')] }];
}

/** A pool that somebody makes for an experiment. */
export const EXPERIMENT: PoolPlan = { name: 'tmp-migration', isScoped: true, attached: 0, allowed: 0, agents: 0 };

/** Agents that are dead on day 0 with any seed, so that the rules about them find one. */
export const DEAD_AGENTS: PlatformEstate['deadAgents'] = [
  [4, 'errored', 3 * DAY_MS],
  [11, 'exited', 5 * DAY_MS + 7 * HOUR_MS],
];
