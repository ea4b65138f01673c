import type { Random } from '../random.ts';
import type { TokenStore } from '../tokens.ts';
import type { ServiceOptions } from '../types.ts';
import type { Project, Workspace } from './workspaces.ts';

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
  readonly value: readonly string[];
}

export interface SavedViewQuery {
  readonly filter: readonly ViewFilter[];
  readonly fields?: readonly string[];
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
