import type { AgentPoolRecord } from './agent-pool-body.ts';
import type { AgentRecord } from './agents.ts';
import type { SavedViewRecord } from './saved-views.ts';
import type { Project, Workspace } from './workspaces.ts';

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
