import { HOUR_MS } from '../../src/core/clock.ts';
import type { Random } from '../random.ts';
import type { Workspace } from './workspaces.ts';

/** What happens to one workspace; `now` is in milliseconds since 1970. */
export type WorkspaceChange = (workspace: Workspace, random: Random, now: number) => void;

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

/** Somebody sets a tool version, and a run writes the state with it. */
export function upgradeTool(version: string): WorkspaceChange {
  return (workspace, random, now) => {
    const at = now - random.int(2, 14) * HOUR_MS;
    Object.assign(workspace, {
      toolVersion: version,
      stateVersion: version,
      runId: random.id('run-', 16),
      runStatus: 'applied',
      appliedAt: at,
      updatedAt: at,
    });
  };
}
