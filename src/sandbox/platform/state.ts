import type { Product } from './catalogue.ts';

/** A product in one version, as a workspace uses it. */
export interface Release {
  readonly product: Product;
  readonly version: string;
}

/** Providers and modules of a workspace; one object is shared by all workspaces that use the same. */
export interface Stack {
  readonly providers: readonly Release[];
  readonly modules: readonly Release[];
  /** The field `providers` of the explorer: `registry.terraform.io/providers/hashicorp/aws/5.9.0, …`; null when none. */
  readonly providersText: string | null;
  readonly modulesText: string | null;
}

export interface Project {
  readonly id: string;
  readonly name: string;
}

/** Times are milliseconds since 1970. Plain and small, since there may be a million of them. */
export interface Workspace {
  readonly id: string;
  name: string;
  project: Project;
  readonly createdAt: number;
  updatedAt: number;
  runId: string | null;
  runStatus: string | null;
  appliedAt: number | null;
  /** null: not assessed. */
  drifted: boolean | null;
  resourcesDrifted: number;
  resourcesUndrifted: number;
  rumCount: number | null;
  checksPassed: number;
  checksFailed: number;
  checksErrored: number;
  checksUnknown: number;
  stack: Stack;
  /** The tool version configured for the workspace. */
  toolVersion: string | null;
  /** The tool version that wrote the state; null before the first state. */
  stateVersion: string | null;
  repository: string | null;
}

export interface Pool {
  readonly id: string;
  name: string;
  readonly createdAt: number;
  organizationScoped: boolean;
  /** Ids of the workspaces that run in the pool. */
  attached: string[];
  /** Ids of the workspaces that are permitted to. */
  allowed: string[];
}

export type AgentStatus = 'idle' | 'busy' | 'unknown' | 'errored' | 'exited';

export interface Agent {
  readonly id: string;
  readonly poolId: string;
  name: string | null;
  status: AgentStatus;
  ipAddress: string | null;
  createdAt: number;
  lastPingAt: number | null;
}

export interface ViewFilter {
  readonly field: string;
  readonly operator: string;
  readonly value: readonly string[];
}

export interface SavedQuery {
  readonly filter: readonly ViewFilter[];
  readonly fields?: readonly string[];
  readonly sort?: readonly string[];
}

export interface SavedView {
  readonly id: string;
  name: string;
  readonly createdAt: number;
  readonly queryType: string;
  query: SavedQuery;
}

/** The live organization. Tests may read and damage it. */
export interface PlatformState {
  readonly organization: string;
  /** The tool version that workspaces are moved to; a later one when a release comes out. */
  newestTool: string;
  /** Ids of workspaces that drift and settle every other night. */
  readonly flapping: string[];
  readonly projects: Project[];
  readonly workspaces: Workspace[];
  readonly pools: Pool[];
  readonly agents: Agent[];
  readonly views: SavedView[];
}
