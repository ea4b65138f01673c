import { HOUR_MS } from '../../core/duration.ts';
import type { Random } from '../prng.ts';
import type { PlatformState } from './state.ts';
import type { Stacks, Workspace } from './workspaces.ts';

type Change = (workspace: Workspace, random: Random, now: number) => void;
export type WorkspaceTest = (workspace: Workspace) => boolean;

/** Something that happens to workspaces. */
export interface Mutation {
  /** Frequency relative to the other mutations. */
  readonly weight: number;
  readonly appliesTo: WorkspaceTest;
  readonly apply: Change;
}

export const drift: Change = (workspace, random) => {
  const resources = workspace.resourcesDrifted + workspace.resourcesUndrifted;
  workspace.drifted = true;
  workspace.resourcesDrifted = random.int(1, Math.max(1, Math.min(12, resources)));
  workspace.resourcesUndrifted = Math.max(0, resources - workspace.resourcesDrifted);
};

export const resolveDrift: Change = (workspace) => {
  workspace.drifted = false;
  workspace.resourcesUndrifted += workspace.resourcesDrifted;
  workspace.resourcesDrifted = 0;
};

const loseAssessment: Change = (workspace) => {
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
  workspace.appliedAt = workspace.runStatus === 'applied' ? now - random.int(1, 20) * HOUR_MS : null;
  if (workspace.runStatus !== 'applied') return;
  workspace.stateVersion = workspace.toolVersion;
  workspace.rumCount = Math.max(0, (workspace.rumCount ?? 4) + random.int(-3, 5));
};

const failChecks: Change = (workspace, random) => {
  workspace.checksFailed = random.int(1, 3);
};

const rename: Change = (workspace, random) => {
  workspace.name = `${workspace.name.slice(0, 60)}-r${random.int(2, 99)}`;
};

function set(values: Partial<Workspace>): Change {
  return (workspace) => Object.assign(workspace, values);
}

const isAny: WorkspaceTest = () => true;
const hasRun: WorkspaceTest = ({ runId }) => runId !== null;
const isDrifting: WorkspaceTest = ({ drifted }) => drifted === true;
const isClean: WorkspaceTest = ({ drifted }) => drifted === false;
const isUnassessed: WorkspaceTest = ({ drifted, runId }) => drifted === null && runId !== null;
const isFailing: WorkspaceTest = ({ checksFailed }) => checksFailed > 0;
const isErroring: WorkspaceTest = ({ checksErrored }) => checksErrored > 0;
const isUnknown: WorkspaceTest = ({ checksUnknown }) => checksUnknown > 0;

function checkedAndNot(test: WorkspaceTest): WorkspaceTest {
  return (workspace) => workspace.checksPassed > 0 && !test(workspace);
}

/** The mutations of a day. Recoveries weigh more the more there is to recover, so that a year remains level. */
export function listMutations({ workspaces, newestTool }: PlatformState, stacks: Stacks): readonly Mutation[] {
  const upgradeStack: Change = (workspace, random) => {
    workspace.stack = stacks.upgrade(workspace.stack, random);
  };
  const recovery = (weight: number, appliesTo: WorkspaceTest, usualShare: number, apply: Change): Mutation => {
    const pressure = workspaces.filter(appliesTo).length / Math.max(1, workspaces.length * usualShare);
    return { weight: weight * pressure, appliesTo, apply };
  };
  return [
    { weight: 22, appliesTo: isClean, apply: drift },
    recovery(19, isDrifting, 0.12, resolveDrift),
    recovery(3, isDrifting, 0.12, loseAssessment),
    { weight: 4, appliesTo: isClean, apply: loseAssessment },
    recovery(6, isUnassessed, 0.07, assess),
    { weight: 9, appliesTo: checkedAndNot(isFailing), apply: failChecks },
    recovery(8, isFailing, 0.06, set({ checksFailed: 0 })),
    { weight: 3, appliesTo: checkedAndNot(isErroring), apply: set({ checksErrored: 1 }) },
    recovery(3, isErroring, 0.025, set({ checksErrored: 0 })),
    { weight: 2, appliesTo: checkedAndNot(isUnknown), apply: set({ checksUnknown: 1 }) },
    recovery(2, isUnknown, 0.03, set({ checksUnknown: 0 })),
    { weight: 7, appliesTo: hasRun, apply: set({ toolVersion: newestTool }) },
    { weight: 7, appliesTo: hasRun, apply: upgradeStack },
    { weight: 9, appliesTo: isAny, apply: run },
    { weight: 1, appliesTo: isAny, apply: rename },
  ];
}
