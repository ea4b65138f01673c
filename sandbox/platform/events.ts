import { HOUR_MS } from '../../src/core/clock.ts';
import type { Random } from '../random.ts';
import type { AgentPoolRecord, AgentStatus, EventRow, PlatformContext, PoolPlan, ViewPlan } from './context.ts';
import { createPool, createSavedView, isAlive, SECOND_MS } from './seed.ts';
import type { Workspace } from './workspaces.ts';

/** `now` is in milliseconds since 1970. */
type PlatformEvent = (state: PlatformContext, now: number, random: Random) => void;

/** What happens on a certain day, besides the random changes. */
export function applyEvent(row: EventRow, ...[state, now, random]: Parameters<PlatformEvent>): void {
  for (const [name, args] of Object.entries(row)) EVENTS[name]!(...(args as never[]))(state, now, random);
}

function openPool(plan: PoolPlan): PlatformEvent {
  return (state, now, random) =>
    void state.pools.push({ ...createPool(plan, now, random, state), createdAt: now - 6 * HOUR_MS });
}

const closePool = (name: string): PlatformEvent =>
  ofPool(name, ({ pools }, pool) => pools.splice(pools.indexOf(pool), 1));

/** Only the workspaces that use the pool may use it from now on. */
const restrictPool = (name: string): PlatformEvent =>
  ofPool(name, (_, pool) => Object.assign(pool, { organizationScoped: false, allowed: [...pool.attached].sort() }));

const setAgents = (name: string, status: AgentStatus): PlatformEvent =>
  ofPool(name, ({ agents }, pool, now) => {
    for (const agent of agents.filter(({ poolId }) => poolId === pool.id)) {
      Object.assign(agent, { status, ...(isAlive(status) && { lastPingAt: now - 9 * SECOND_MS }) });
    }
  });

type PoolChange = (state: PlatformContext, pool: AgentPoolRecord, now: number) => void;

function ofPool(name: string, change: PoolChange): PlatformEvent {
  return (state, now) => {
    const pool = state.pools.find((candidate) => candidate.name === name);
    if (pool) change(state, pool, now);
  };
}

function openView(plan: ViewPlan): PlatformEvent {
  return ({ views }, now, random) => void views.push(createSavedView(plan, now, random));
}

function changeView(name: string, fields: readonly string[]): PlatformEvent {
  return ({ views }) => {
    const view = views.find((candidate) => candidate.name === name);
    if (view) view.query = { ...view.query, fields };
  };
}

function closeView(name: string): PlatformEvent {
  return ({ views }) => {
    const index = views.findIndex((candidate) => candidate.name === name);
    if (index >= 0) views.splice(index, 1);
  };
}

function driftSome(project: string, stage: string, count: number): PlatformEvent {
  return changeSome(project, count, drift, ({ name, drifted }) => drifted === false && isOnStage(name, stage));
}

function repairSome(project: string, count: number): PlatformEvent {
  return changeSome(project, count, resolveDrift, ({ drifted }) => drifted === true);
}

function changeSome(project: string, count: number, change: WorkspaceChange, test: WorkspaceTest): PlatformEvent {
  return (state, now, random) => {
    for (const workspace of listWorkspaces(state, project).filter(test).slice(0, count)) {
      change(workspace, random, now);
      workspace.updatedAt = now - random.int(2, 14) * HOUR_MS;
    }
  };
}

/** The last version under the old licence: workspaces that have it are not part of an upgrade. */
const PINNED_VERSION = '1.5.7';

function upgradeStage(project: string, stage: string): PlatformEvent {
  return (state, now, random: Random) => {
    const { newestTool } = state;
    for (const workspace of listWorkspaces(state, project)) {
      const { name, runId, toolVersion } = workspace;
      const isOld = runId !== null && toolVersion !== newestTool && toolVersion !== PINNED_VERSION;
      if (!isOld || !isOnStage(name, stage)) continue;
      // Somebody sets a tool version, and a run writes the state with it.
      const at = now - random.int(2, 14) * HOUR_MS;
      const run = { runId: random.id('run-', 16), runStatus: 'applied', appliedAt: at, updatedAt: at };
      Object.assign(workspace, { toolVersion: newestTool, stateVersion: newestTool, ...run });
    }
  };
}

function listWorkspaces({ workspaces }: PlatformContext, project: string): readonly Workspace[] {
  return workspaces.filter((workspace) => workspace.project.name === project);
}

function isOnStage(name: string, stage: string): boolean {
  return name.split('-').includes(stage);
}

const EVENTS: Readonly<Record<string, (...args: never[]) => PlatformEvent>> = {
  openPool,
  closePool,
  restrictPool,
  setAgents,
  openView,
  changeView,
  closeView,
  driftSome,
  repairSome,
  upgradeStage,
};

/** What happens to one workspace; `now` is in milliseconds since 1970. */
export type WorkspaceChange = (workspace: Workspace, random: Random, now: number) => void;
export type WorkspaceTest = (workspace: Workspace) => boolean;

export const drift: WorkspaceChange = (workspace, random) => {
  const resources = workspace.resourcesDrifted + workspace.resourcesUndrifted;
  workspace.drifted = true;
  workspace.resourcesDrifted = random.int(1, Math.max(1, Math.min(12, resources)));
  workspace.resourcesUndrifted = Math.max(0, resources - workspace.resourcesDrifted);
};

export const resolveDrift: WorkspaceChange = (workspace) => {
  workspace.drifted = false;
  workspace.resourcesUndrifted += workspace.resourcesDrifted;
  workspace.resourcesDrifted = 0;
};

export const loseAssessment: WorkspaceChange = (workspace) => {
  workspace.drifted = null;
  workspace.resourcesDrifted = 0;
  workspace.resourcesUndrifted = 0;
};

export const assess: WorkspaceChange = (workspace) => {
  workspace.drifted = false;
  workspace.resourcesUndrifted = workspace.rumCount ?? 0;
};
