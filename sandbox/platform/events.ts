import { HOUR_MS } from '../../src/core/clock.ts';
import type { Random } from '../random.ts';
import type { AgentPoolRecord, PlatformContext } from './context.ts';
import type { PlatformEvent } from './estate.ts';
import { createPool, createSavedView } from './seed.ts';
import { drift, resolveDrift, upgradeTool } from './workspace-changes.ts';
import type { Workspace } from './workspaces.ts';

const SECOND_MS = 1000;

/** Applies the events of a day in their order. */
export function applyEvents(
  state: PlatformContext,
  events: readonly PlatformEvent[],
  now: number,
  random: Random,
): void {
  for (const event of events) applyEvent(state, event, now, random);
}

function applyEvent(state: PlatformContext, event: PlatformEvent, now: number, random: Random): void {
  switch (event.event) {
    case 'agents':
    case 'create-pool':
    case 'delete-pool':
    case 'restrict-pool':
      applyPoolEvent(state, event, now, random);
      break;
    case 'create-view':
    case 'change-view':
    case 'delete-view':
      applyViewEvent(state, event, now, random);
      break;
    default:
      applyWorkspaceEvent(state, event, now, random);
  }
}

type PoolEvent = Extract<PlatformEvent, { event: 'agents' | 'create-pool' | 'delete-pool' | 'restrict-pool' }>;
type ViewEvent = Extract<PlatformEvent, { event: 'create-view' | 'change-view' | 'delete-view' }>;
type WorkspaceEvent = Extract<PlatformEvent, { event: 'drift' | 'resolve-drift' | 'upgrade' }>;

function applyPoolEvent(state: PlatformContext, event: PoolEvent, now: number, random: Random): void {
  if (event.event === 'create-pool') {
    const pool = createPool(event.plan, now, random, state.workspaces);
    state.pools.push({ ...pool, createdAt: now - 6 * HOUR_MS });
    return;
  }
  const pool = state.pools.find(({ name }) => name === event.pool);
  if (!pool) return;
  if (event.event === 'delete-pool') state.pools.splice(state.pools.indexOf(pool), 1);
  if (event.event === 'restrict-pool') restrict(pool);
  if (event.event !== 'agents') return;
  const isAlive = event.status === 'idle' || event.status === 'busy';
  for (const agent of state.agents.filter(({ poolId }) => poolId === pool.id)) {
    Object.assign(agent, { status: event.status, ...(isAlive && { lastPingAt: now - 9 * SECOND_MS }) });
  }
}

function restrict(pool: AgentPoolRecord): void {
  Object.assign(pool, { organizationScoped: false, allowed: [...pool.attached].sort() });
}

function applyViewEvent({ views }: PlatformContext, event: ViewEvent, now: number, random: Random): void {
  if (event.event === 'create-view') {
    views.push(createSavedView(event.plan, now, random));
    return;
  }
  const index = views.findIndex(({ name }) => name === event.view);
  const view = views[index];
  if (!view) return;
  if (event.event === 'change-view') view.query = { ...view.query, fields: [...event.fields] };
  else views.splice(index, 1);
}

function applyWorkspaceEvent(
  { workspaces, newestTool }: PlatformContext,
  event: WorkspaceEvent,
  now: number,
  random: Random,
): void {
  const inProject = workspaces.filter(({ project }) => project.name === event.project);
  if (event.event === 'upgrade') {
    const upgrade = upgradeTool(newestTool);
    const canUpgrade = ({ name, runId, toolVersion }: Workspace) =>
      runId !== null && isOnStage(name, event.stage) && toolVersion !== newestTool && toolVersion !== PINNED_VERSION;
    for (const workspace of inProject.filter(canUpgrade)) upgrade(workspace, random, now);
    return;
  }
  const isDrift = event.event === 'drift';
  const chosen = inProject.filter(({ name, drifted }) =>
    isDrift ? drifted === false && isOnStage(name, event.stage) : drifted === true,
  );
  for (const workspace of chosen.slice(0, event.count)) {
    (isDrift ? drift : resolveDrift)(workspace, random, now);
    workspace.updatedAt = now - random.int(2, 14) * HOUR_MS;
  }
}

/** The last version under the old licence: workspaces that have it are not part of an upgrade. */
const PINNED_VERSION = '1.5.7';

function isOnStage(name: string, stage: string): boolean {
  return name.split('-').includes(stage);
}
