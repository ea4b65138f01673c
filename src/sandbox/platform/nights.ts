import type { Random } from '../prng.ts';
import { TOOL_RELEASES } from './catalogue.ts';
import type { Stacks } from './stacks.ts';
import type { PlatformState, Workspace } from './state.ts';
import { bornWorkspace, type Nursery } from './workspaces.ts';

const HOUR = 3_600_000;
/** Share of the workspaces that change in a night; a small estate changes by at least `MIN_CHANGES`, to have a story. */
const CHANGED_SHARE = 0.02;
const MIN_CHANGES = 14;

type Change = (workspace: Workspace, random: Random, now: number) => void;
type Test = (workspace: Workspace) => boolean;

/** The first workspace from a random place on that passes the test; undefined where none does. */
function find(workspaces: readonly Workspace[], random: Random, test: Test): Workspace | undefined {
  const start = random.int(0, Math.max(0, workspaces.length - 1));
  for (let step = 0; step < workspaces.length; step++) {
    const workspace = workspaces[(start + step) % workspaces.length]!;
    if (test(workspace)) return workspace;
  }
  return undefined;
}

const drift: Change = (workspace, random) => {
  const resources = workspace.resourcesDrifted + workspace.resourcesUndrifted;
  workspace.drifted = true;
  workspace.resourcesDrifted = random.int(1, Math.max(1, Math.min(12, resources)));
  workspace.resourcesUndrifted = Math.max(0, resources - workspace.resourcesDrifted);
};

const settle: Change = (workspace) => {
  workspace.drifted = false;
  workspace.resourcesUndrifted += workspace.resourcesDrifted;
  workspace.resourcesDrifted = 0;
};

const forget: Change = (workspace) => {
  workspace.drifted = null;
  workspace.resourcesDrifted = 0;
  workspace.resourcesUndrifted = 0;
};

const assess: Change = (workspace) => {
  workspace.drifted = false;
  workspace.resourcesUndrifted = workspace.rumCount ?? 0;
};

const run: Change = (workspace, random, now) => {
  workspace.runId = random.id('run-', 16);
  workspace.runStatus = random.pick(['applied', 'applied', 'applied', 'errored', 'discarded', 'planned_and_finished']);
  workspace.appliedAt = workspace.runStatus === 'applied' ? now - random.int(1, 20) * HOUR : null;
  if (workspace.runStatus !== 'applied') return;
  workspace.stateVersion = workspace.toolVersion;
  workspace.rumCount = Math.max(0, (workspace.rumCount ?? 4) + random.int(-3, 5));
};

const set =
  (values: Partial<Workspace>): Change =>
  (workspace) =>
    Object.assign(workspace, values);

const fail: Change = (workspace, random) => {
  workspace.checksFailed = random.int(1, 3);
};

const rename: Change = (workspace, random) => {
  workspace.name = `${workspace.name.slice(0, 60)}-r${random.int(2, 99)}`;
};

const ran: Test = ({ runId }) => runId !== null;
const anyone: Test = () => true;

interface Happening {
  readonly weight: number;
  /** To whom it can happen. */
  readonly to: Test;
  readonly change: Change;
}

function happenings(state: PlatformState, stacks: Stacks): readonly Happening[] {
  const upgrade: Change = (workspace, random) => {
    workspace.stack = stacks.upgraded(workspace.stack, random);
  };
  return [
    { weight: 22, to: ({ drifted }) => drifted === false, change: drift },
    { weight: 19, to: ({ drifted }) => drifted === true, change: settle },
    { weight: 3, to: ({ drifted }) => drifted === true, change: forget },
    { weight: 3, to: ({ drifted }) => drifted === false, change: forget },
    { weight: 6, to: (workspace) => workspace.drifted === null && ran(workspace), change: assess },
    { weight: 8, to: ({ checksFailed, checksPassed }) => checksFailed === 0 && checksPassed > 0, change: fail },
    { weight: 8, to: ({ checksFailed }) => checksFailed > 0, change: set({ checksFailed: 0 }) },
    {
      weight: 3,
      to: ({ checksErrored, checksPassed }) => checksErrored === 0 && checksPassed > 0,
      change: set({ checksErrored: 1 }),
    },
    { weight: 3, to: ({ checksErrored }) => checksErrored > 0, change: set({ checksErrored: 0 }) },
    { weight: 2, to: ({ checksUnknown }) => checksUnknown > 0, change: set({ checksUnknown: 0 }) },
    { weight: 2, to: ({ checksUnknown }) => checksUnknown === 0, change: set({ checksUnknown: 1 }) },
    { weight: 7, to: ran, change: set({ toolVersion: state.newestTool }) },
    { weight: 7, to: ran, change: upgrade },
    { weight: 9, to: anyone, change: run },
    { weight: 1, to: anyone, change: rename },
  ];
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
  comeAndGo(state, random, now, night, nursery);
}
