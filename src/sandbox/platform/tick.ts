import { HOUR_MS } from '../../core/clock.ts';
import type { Random } from '../random.ts';
import type { AgentPoolRecord } from './agent-pool-body.ts';
import type { AgentRecord, AgentStatus } from './agents.ts';
import {
  createAgent,
  createPool,
  createSavedView,
  equals,
  type PlatformState,
  pingAgeMs,
  type WorkspaceSeeder,
} from './seed.ts';
import { TOOL_RELEASES } from './seed-data.ts';
import type { Stacks, Workspace } from './workspaces.ts';

const SECOND_MS = 1000;
/** Share of the workspaces that change in a day. In a small organization at least `MIN_CHANGES` do, so that reports show some. */
const CHANGED_SHARE = 0.02;
const MIN_CHANGES = 20;

/** Advances all resources to the given day. */
export function tickPlatform(
  state: PlatformState,
  random: Random,
  day: number,
  now: number,
  seeder: WorkspaceSeeder,
): void {
  tickWorkspaces(state, random, day, now, seeder);
  for (const agent of state.agents) tickAgent(agent, random, now);
  replaceDeadAgents(state, random, now);
  applyPoolEvents(state, day, now, random);
  applyViewEvents(state, random, day, now);
}

function tickWorkspaces(state: PlatformState, random: Random, day: number, now: number, seeder: WorkspaceSeeder): void {
  for (const [releaseDay, version] of TOOL_RELEASES) {
    if (releaseDay === day) state.newestTool = version;
  }
  mutateSome(state, random, now, seeder.stacks);
  flap(state, random, day, now);
  replaceSome(state, random, now, day, seeder);
}

function mutateSome(state: PlatformState, random: Random, now: number, stacks: Stacks): void {
  const mutations = listMutations(state, stacks);
  const changes = Math.max(MIN_CHANGES, Math.round(state.workspaces.length * CHANGED_SHARE));
  for (let count = 0; count < changes; count++) {
    const { appliesTo, apply } = random.weighted(mutations, ({ weight }) => weight);
    const workspace = findFromRandom(state.workspaces, random, appliesTo);
    if (!workspace) continue;
    apply(workspace, random, now);
    workspace.updatedAt = now - random.int(1, 22) * HOUR_MS - random.int(0, HOUR_MS - 1);
  }
}

/** The first workspace from a random position on that passes the test. */
function findFromRandom(workspaces: readonly Workspace[], random: Random, test: WorkspaceTest): Workspace | undefined {
  const start = random.int(0, Math.max(0, workspaces.length - 1));
  for (let step = 0; step < workspaces.length; step++) {
    const workspace = workspaces[(start + step) % workspaces.length]!;
    if (test(workspace)) return workspace;
  }
  return undefined;
}

/** Some workspaces drift and fail every other day, for the reports to detect. */
function flap(state: PlatformState, random: Random, day: number, now: number): void {
  for (const [index, id] of state.flapping.entries()) {
    const workspace = state.workspaces.find((candidate) => candidate.id === id);
    if (!workspace) continue;
    const isBad = (day + index) % 2 === 0;
    if (isBad !== (workspace.drifted === true)) (isBad ? drift : resolveDrift)(workspace, random, now);
    if (index === 0) workspace.checksFailed = isBad ? 2 : 0;
    workspace.updatedAt = now - HOUR_MS;
  }
}

/** Deletes one workspace in five hundred and creates as many, at least one each. Pools no longer refer to the deleted ones. */
function replaceSome(state: PlatformState, random: Random, now: number, day: number, seeder: WorkspaceSeeder): void {
  const turnover = Math.max(1, Math.round(state.workspaces.length / 500));
  const deleted = deleteSome(state.workspaces, turnover, random);
  for (let count = 0; count < turnover; count++) {
    const created = seeder.createWorkspace(1_000_000 * day + count, now, random);
    state.workspaces.push({
      ...created,
      createdAt: now - random.int(1, 20) * HOUR_MS,
      updatedAt: now - HOUR_MS,
    });
  }
  for (const pool of state.pools) {
    pool.attached = pool.attached.filter((id) => !deleted.has(id));
    pool.allowed = pool.allowed.filter((id) => !deleted.has(id));
  }
}

/** Deletes random workspaces in one pass over the list; returns their ids. */
function deleteSome(workspaces: Workspace[], count: number, random: Random): ReadonlySet<string> {
  const deleted = new Set<string>();
  for (let turn = 0; turn < count && workspaces.length > 0; turn++) deleted.add(random.pick(workspaces).id);
  let kept = 0;
  for (const workspace of workspaces) {
    if (!deleted.has(workspace.id)) workspaces[kept++] = workspace;
  }
  workspaces.length = kept;
  return deleted;
}

function tickAgent(agent: AgentRecord, random: Random, now: number): void {
  const before = agent.status;
  agent.status = nextStatus(agent, random);
  const isAlive = agent.status === 'idle' || agent.status === 'busy';
  const hasJustDied = before !== agent.status && agent.status !== 'errored';
  if (isAlive || hasJustDied) agent.lastPingAt = now - pingAgeMs(agent.status, random);
}

function nextStatus(agent: AgentRecord, random: Random): AgentStatus {
  const roll = random.next();
  switch (agent.status) {
    case 'idle':
    case 'busy':
      if (roll < 0.05) return 'unknown';
      if (roll < 0.08) return 'exited';
      return roll < 0.6 ? 'idle' : 'busy';
    case 'unknown':
      // After two hours without a ping, unknown becomes errored: docs/services/platform.md#agents.
      return roll < 0.3 ? 'idle' : 'errored';
    case 'errored':
      return roll < 0.08 ? 'idle' : 'errored';
    case 'exited':
      return 'exited';
  }
}

/** Dead agents are deleted in time, and each is replaced by a new one. */
function replaceDeadAgents(state: PlatformState, random: Random, now: number): void {
  const dead = state.agents.filter(({ status }) => status === 'exited' || status === 'errored');
  for (const agent of dead) {
    if (!random.chance(0.12)) continue;
    state.agents.splice(state.agents.indexOf(agent), 1);
    const created = createAgent(agent.poolId, now, random, 'idle');
    state.agents.push({ ...created, createdAt: now - random.int(1, 20) * HOUR_MS });
  }
}

/** Events on certain days, so that every rule about pools finds and loses something in two weeks. */
function applyPoolEvents(state: PlatformState, day: number, now: number, random: Random): void {
  const gpu = findPool(state, 'gpu-batch');
  const gpuAgents = state.agents.filter(({ poolId }) => poolId === gpu?.id);
  if (day === 3) for (const agent of gpuAgents) agent.status = 'unknown';
  if (day === 4 || day === 5) for (const agent of gpuAgents) agent.status = 'errored';
  if (day === 6) {
    for (const agent of gpuAgents) Object.assign(agent, { status: 'idle', lastPingAt: now - 9 * SECOND_MS });
  }
  if (day === 2) {
    const plan = { name: 'tmp-migration', isScoped: true, attached: 0, allowed: 0, agents: 0 };
    state.pools.push({ ...createPool(plan, now, random, state.workspaces), createdAt: now - 6 * HOUR_MS });
  }
  if (day === 9) deletePools(state.pools, 'tmp-migration');
  const audit = findPool(state, 'audit');
  if (day === 7 && audit) Object.assign(audit, { organizationScoped: false, allowed: [...audit.attached].sort() });
}

function findPool(state: PlatformState, name: string): AgentPoolRecord | undefined {
  return state.pools.find((pool) => pool.name === name);
}

function deletePools(pools: AgentPoolRecord[], name: string): void {
  pools.splice(0, pools.length, ...pools.filter((pool) => pool.name !== name));
}

/** A view is created on day 3, changed on day 6, and deleted on day 10. */
function applyViewEvents({ views }: PlatformState, random: Random, day: number, now: number): void {
  const name = 'Errored runs this week';
  const index = views.findIndex((view) => view.name === name);
  const view = views[index];
  if (day === 3) {
    const query = { filter: [equals('current_run_status', 'errored')] };
    views.push(createSavedView([name, 'workspaces', 0, query], now, random));
  }
  if (day === 6 && view) view.query = { ...view.query, fields: ['workspace_name', 'current_run_status'] };
  if (day === 10 && view) views.splice(index, 1);
}

type Change = (workspace: Workspace, random: Random, now: number) => void;
type WorkspaceTest = (workspace: Workspace) => boolean;

/** Something that happens to workspaces. */
export interface Mutation {
  /** Frequency relative to the other mutations. */
  readonly weight: number;
  readonly appliesTo: WorkspaceTest;
  readonly apply: Change;
}

const drift: Change = (workspace, random) => {
  const resources = workspace.resourcesDrifted + workspace.resourcesUndrifted;
  workspace.drifted = true;
  workspace.resourcesDrifted = random.int(1, Math.max(1, Math.min(12, resources)));
  workspace.resourcesUndrifted = Math.max(0, resources - workspace.resourcesDrifted);
};

const resolveDrift: Change = (workspace) => {
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
function listMutations({ workspaces, newestTool }: PlatformState, stacks: Stacks): readonly Mutation[] {
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
