import type { Random } from '../prng.ts';
import { TOOL_RELEASES } from './catalogue.ts';
import { drift, happenings, settle, type Test } from './happenings.ts';
import type { Stacks } from './stacks.ts';
import type { PlatformState, Workspace } from './state.ts';
import { bornWorkspace, type Nursery } from './workspaces.ts';

const HOUR = 3_600_000;
/** Share of the workspaces that change in a night; a small estate changes by at least `MIN_CHANGES`, to have a story. */
const CHANGED_SHARE = 0.02;
const MIN_CHANGES = 20;

/** The first workspace from a random place on that passes the test; undefined where none does. */
function find(workspaces: readonly Workspace[], random: Random, test: Test): Workspace | undefined {
  const start = random.int(0, Math.max(0, workspaces.length - 1));
  for (let step = 0; step < workspaces.length; step++) {
    const workspace = workspaces[(start + step) % workspaces.length]!;
    if (test(workspace)) return workspace;
  }
  return undefined;
}

/** Some drift and fail every other night, for the reports to find out. */
function flap(state: PlatformState, random: Random, night: number, now: number): void {
  for (const [index, id] of state.flapping.entries()) {
    const workspace = state.workspaces.find((candidate) => candidate.id === id);
    if (!workspace) continue;
    const bad = (night + index) % 2 === 0;
    if (bad !== (workspace.drifted === true)) (bad ? drift : settle)(workspace, random, now);
    if (index === 0) workspace.checksFailed = bad ? 2 : 0;
    workspace.updatedAt = now - HOUR;
  }
}

function changeSome(state: PlatformState, random: Random, now: number, stacks: Stacks): void {
  const kinds = happenings(state, stacks);
  const changes = Math.max(MIN_CHANGES, Math.round(state.workspaces.length * CHANGED_SHARE));
  for (let count = 0; count < changes; count++) {
    const { to, change } = random.weighted(kinds, ({ weight }) => weight);
    const workspace = find(state.workspaces, random, to);
    if (!workspace) continue;
    change(workspace, random, now);
    workspace.updatedAt = now - random.int(1, 22) * HOUR - random.int(0, HOUR - 1);
  }
}

/** Takes out some workspaces at random, in one pass over the list, and tells their ids. */
function removeSome(workspaces: Workspace[], count: number, random: Random): ReadonlySet<string> {
  const gone = new Set<string>();
  for (let turn = 0; turn < count && workspaces.length > 0; turn++) gone.add(random.pick(workspaces).id);
  let kept = 0;
  for (const workspace of workspaces) {
    if (!gone.has(workspace.id)) workspaces[kept++] = workspace;
  }
  workspaces.length = kept;
  return gone;
}

/** One in five hundred goes and as many come, at least one each; a pool forgets the ones that are gone. */
function comeAndGo(state: PlatformState, random: Random, now: number, night: number, nursery: Nursery): void {
  const turnover = Math.max(1, Math.round(state.workspaces.length / 500));
  const gone = removeSome(state.workspaces, turnover, random);
  for (let count = 0; count < turnover; count++) {
    const born = bornWorkspace(1_000_000 * night + count, now, random, nursery);
    state.workspaces.push({ ...born, createdAt: now - random.int(1, 20) * HOUR, updatedAt: now - HOUR });
  }
  for (const pool of state.pools) {
    pool.attached = pool.attached.filter((id) => !gone.has(id));
    pool.allowed = pool.allowed.filter((id) => !gone.has(id));
  }
}

/** Moves the workspaces to the next night. */
export function advanceWorkspaces(
  state: PlatformState,
  random: Random,
  night: number,
  now: number,
  nursery: Nursery,
): void {
  for (const [releaseNight, version] of TOOL_RELEASES) {
    if (releaseNight === night) state.newestTool = version;
  }
  changeSome(state, random, now, nursery.stacks);
  flap(state, random, night, now);
  comeAndGo(state, random, now, night, nursery);
}
