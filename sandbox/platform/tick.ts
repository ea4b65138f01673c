import { HOUR_MS, MINUTE_MS } from '../../src/core/clock.ts';
import type { Random } from '../random.ts';
import { FORTNIGHT } from '../types.ts';
import type { AgentLife, AgentRecord, AgentStatus, PlatformContext, PlatformEstate } from './context.ts';
import {
  applyEvent,
  assess,
  drift,
  loseAssessment,
  resolveDrift,
  type WorkspaceChange,
  type WorkspaceTest,
} from './events.ts';
import { createAgent, isAlive, pingAgeMs, type WorkspaceSeeder } from './seed.ts';
import type { Workspace } from './workspaces.ts';

/** Share of the workspaces that change in a day. In a small organization at least `MIN_CHANGES` do, so that reports show some. */
const CHANGED_SHARE = 0.02;
const MIN_CHANGES = 20;

interface PlatformTick {
  readonly state: PlatformContext;
  readonly estate: PlatformEstate;
  readonly seeder: WorkspaceSeeder;
  readonly random: Random;
  readonly day: number;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** Advances all resources to the given day. */
export function tickPlatform(tick: PlatformTick): void {
  const { state, estate, random, day, now } = tick;
  tickWorkspaces(tick);
  const silenced = silencedPools(tick);
  const living = state.agents.filter(({ poolId }) => !silenced.has(poolId));
  for (const agent of living) tickAgent(agent, random, now, estate.agentLife);
  replaceDeadAgents(tick, silenced);
  for (const event of estate.eventsOn(day)) applyEvent(event, state, now, random);
}

/** The pools of today's outages, whose agents stop responding on the first day and stay dead. */
function silencedPools({ state, estate, day, now }: PlatformTick): ReadonlySet<string> {
  const silenced = new Set<string>();
  for (const { pool: name, from, to } of estate.outages) {
    const pool = state.pools.find((candidate) => candidate.name === name);
    const today = day % FORTNIGHT;
    if (!pool || today < from || today > to) continue;
    silenced.add(pool.id);
    for (const agent of state.agents.filter(({ poolId }) => poolId === pool.id)) {
      if (today === from) Object.assign(agent, { status: 'unknown', lastPingAt: now - 40 * MINUTE_MS });
      else agent.status = 'errored';
    }
  }
  return silenced;
}

function tickWorkspaces(tick: PlatformTick): void {
  const { state, estate, seeder, random, day, now } = tick;
  for (const [releaseDay, version] of estate.toolReleases) {
    if (releaseDay === day) state.newestTool = version;
  }
  mutateSome(state, random, now, listMutations(tick));
  flap(state, random, day, now);
  replaceSome(state, random, now, seeder);
}

function mutateSome(state: PlatformContext, random: Random, now: number, mutations: readonly Mutation[]): void {
  const changes = Math.max(MIN_CHANGES, Math.round(state.workspaces.length * CHANGED_SHARE));
  for (let count = 0; count < changes; count++) {
    const [, appliesTo, apply] = random.weighted(mutations, ([weight]) => weight);
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
function flap(state: PlatformContext, random: Random, day: number, now: number): void {
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
function replaceSome(state: PlatformContext, random: Random, now: number, seeder: WorkspaceSeeder): void {
  const turnover = Math.max(1, Math.round(state.workspaces.length / 500));
  const deleted = deleteSome(state.workspaces, turnover, random);
  for (let count = 0; count < turnover; count++) {
    const created = seeder.createWorkspace(now, random);
    const createdAt = now - random.int(1, 20) * HOUR_MS;
    state.workspaces.push({ ...created, createdAt, updatedAt: now - HOUR_MS });
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

function tickAgent(agent: AgentRecord, random: Random, now: number, life: AgentLife): void {
  const before = agent.status;
  agent.status = nextStatus(agent, random, life);
  const hasJustDied = before !== agent.status && agent.status !== 'errored';
  if (isAlive(agent.status) || hasJustDied) agent.lastPingAt = now - pingAgeMs(agent.status, random);
}

function nextStatus(agent: AgentRecord, random: Random, life: AgentLife): AgentStatus {
  const roll = random.next();
  switch (agent.status) {
    case 'idle':
    case 'busy':
      if (roll < life.becomesUnknown) return 'unknown';
      if (roll < life.becomesUnknown + life.exits) return 'exited';
      return roll < 0.6 ? 'idle' : 'busy';
    case 'unknown':
      // After two hours without a ping, unknown becomes errored: docs/services/platform.md#agents.
      return roll < life.unknownRecovers ? 'idle' : 'errored';
    case 'errored':
      return roll < life.erroredRecovers ? 'idle' : 'errored';
    case 'exited':
      return 'exited';
  }
}

/** Dead agents are deleted in time, and each is replaced by a new one, except in the pools of an outage. */
function replaceDeadAgents({ state, estate, random, now }: PlatformTick, silenced: ReadonlySet<string>): void {
  const dead = state.agents.filter(
    ({ status, poolId }) => (status === 'exited' || status === 'errored') && !silenced.has(poolId),
  );
  for (const agent of dead) {
    if (!random.chance(estate.agentLife.replaced)) continue;
    state.agents.splice(state.agents.indexOf(agent), 1);
    const created = createAgent(estate, agent.poolId, now, random, 'idle');
    state.agents.push({ ...created, createdAt: now - random.int(1, 20) * HOUR_MS });
  }
}

/** Something that happens to workspaces; the weight is its frequency relative to the other mutations. */
type Mutation = readonly [weight: number, appliesTo: WorkspaceTest, apply: WorkspaceChange];

function run(statuses: readonly string[]): WorkspaceChange {
  return (workspace, random, now) => {
    workspace.runId = random.id('run-', 16);
    workspace.runStatus = random.pick(statuses);
    workspace.appliedAt = workspace.runStatus === 'applied' ? now - random.int(1, 20) * HOUR_MS : null;
    if (workspace.runStatus !== 'applied') return;
    workspace.stateVersion = workspace.toolVersion;
    workspace.rumCount = Math.max(0, (workspace.rumCount ?? 4) + random.int(-3, 5));
  };
}

const failChecks: WorkspaceChange = (workspace, random) => {
  workspace.checksFailed = random.int(1, 3);
};

function set(values: Partial<Workspace>): WorkspaceChange {
  return (workspace) => Object.assign(workspace, values);
}

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
function listMutations({ state, estate, seeder: { stacks } }: PlatformTick): readonly Mutation[] {
  const { workspaces, newestTool } = state;
  const upgradeStack: WorkspaceChange = (workspace, random) => {
    workspace.stack = stacks.upgrade(workspace.stack, random);
  };
  const rename: WorkspaceChange = (workspace, random) => {
    workspace.name = estate.rename(workspace.name, random);
  };
  const recovery = (weight: number, appliesTo: WorkspaceTest, usualShare: number, apply: WorkspaceChange): Mutation => {
    const pressure = workspaces.filter(appliesTo).length / Math.max(1, workspaces.length * usualShare);
    return [weight * pressure, appliesTo, apply];
  };
  const usualDrift = estate.driftedShare + 0.01;
  return [
    [22, isClean, drift],
    recovery(19, isDrifting, usualDrift, resolveDrift),
    recovery(3, isDrifting, usualDrift, loseAssessment),
    [4, isClean, loseAssessment],
    recovery(6, isUnassessed, 0.07, assess),
    [9, checkedAndNot(isFailing), failChecks],
    recovery(8, isFailing, 0.06, set({ checksFailed: 0 })),
    [3, checkedAndNot(isErroring), set({ checksErrored: 1 })],
    recovery(3, isErroring, 0.025, set({ checksErrored: 0 })),
    [2, checkedAndNot(isUnknown), set({ checksUnknown: 1 })],
    recovery(2, isUnknown, 0.03, set({ checksUnknown: 0 })),
    [7, hasRun, set({ toolVersion: newestTool })],
    [7, hasRun, upgradeStack],
    [9, () => true, run(estate.laterRunStatuses)],
    [1, () => true, rename],
  ];
}
