import type { Random } from '../prng.ts';
import type { Stacks } from './stacks.ts';
import type { PlatformState, Workspace } from './state.ts';

const HOUR = 3_600_000;

export type Change = (workspace: Workspace, random: Random, now: number) => void;
export type Test = (workspace: Workspace) => boolean;

export const drift: Change = (workspace, random) => {
  const resources = workspace.resourcesDrifted + workspace.resourcesUndrifted;
  workspace.drifted = true;
  workspace.resourcesDrifted = random.int(1, Math.max(1, Math.min(12, resources)));
  workspace.resourcesUndrifted = Math.max(0, resources - workspace.resourcesDrifted);
};

export const settle: Change = (workspace) => {
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

export interface Happening {
  readonly weight: number;
  /** To whom it can happen. */
  readonly to: Test;
  readonly change: Change;
}

/** How much of the usual share passes the test: recoveries weigh more the more there is to recover, so a year stays level. */
const pressure = (workspaces: readonly Workspace[], test: Test, usualShare: number): number =>
  workspaces.filter(test).length / Math.max(1, workspaces.length * usualShare);

/** What happens to workspaces in a night, each as often as its weight says. */
export function happenings({ workspaces, newestTool }: PlatformState, stacks: Stacks): readonly Happening[] {
  const upgrade: Change = (workspace, random) => {
    workspace.stack = stacks.upgraded(workspace.stack, random);
  };
  const drifting: Test = ({ drifted }) => drifted === true;
  const clean: Test = ({ drifted }) => drifted === false;
  const unassessed: Test = ({ drifted, runId }) => drifted === null && runId !== null;
  const failing: Test = ({ checksFailed }) => checksFailed > 0;
  const erroring: Test = ({ checksErrored }) => checksErrored > 0;
  const unknown: Test = ({ checksUnknown }) => checksUnknown > 0;
  const checked: Test = ({ checksPassed }) => checksPassed > 0;
  const recovery = (weight: number, to: Test, usualShare: number, change: Change): Happening => ({
    weight: weight * pressure(workspaces, to, usualShare),
    to,
    change,
  });
  return [
    { weight: 22, to: clean, change: drift },
    recovery(19, drifting, 0.12, settle),
    recovery(3, drifting, 0.12, forget),
    { weight: 4, to: clean, change: forget },
    recovery(6, unassessed, 0.07, assess),
    { weight: 9, to: (workspace) => checked(workspace) && !failing(workspace), change: fail },
    recovery(8, failing, 0.06, set({ checksFailed: 0 })),
    { weight: 3, to: (workspace) => checked(workspace) && !erroring(workspace), change: set({ checksErrored: 1 }) },
    recovery(3, erroring, 0.025, set({ checksErrored: 0 })),
    { weight: 2, to: (workspace) => checked(workspace) && !unknown(workspace), change: set({ checksUnknown: 1 }) },
    recovery(2, unknown, 0.03, set({ checksUnknown: 0 })),
    { weight: 7, to: ran, change: set({ toolVersion: newestTool }) },
    { weight: 7, to: ran, change: upgrade },
    { weight: 9, to: anyone, change: run },
    { weight: 1, to: anyone, change: rename },
  ];
}
