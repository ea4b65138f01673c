import { beforeAll, describe, expect, test } from 'vitest';
import type { AgentPoolRecord, AgentRecord, PlatformContext } from '../../sandbox/platform/context.ts';
import { PlatformService } from '../../sandbox/platform/index.ts';

const START = new Date('2026-10-01T02:15:00Z');
const DAY = 86_400_000;
const DAYS = 15;

const create = (seed: number, scale = 1) =>
  new PlatformService({ seed, scale, flavor: 'spec', explorer: true, estate: 'hostile', start: START });
const snapshot = (state: PlatformContext): PlatformContext => structuredClone(state);
const text = (state: PlatformContext): string => JSON.stringify(state);

function play(seed: number): PlatformContext[] {
  const service = create(seed);
  const days = [snapshot(service.state)];
  for (let day = 1; day < DAYS; day++) {
    service.tick(day, new Date(START.getTime() + day * DAY));
    days.push(snapshot(service.state));
  }
  return days;
}

let days: PlatformContext[];

beforeAll(() => {
  days = play(1);
});

const alive = ({ status }: AgentRecord) => status === 'idle' || status === 'busy';
const idsOn = <T extends { id: string }>(list: (state: PlatformContext) => readonly T[], test: (item: T) => boolean) =>
  days.map(
    (state) =>
      new Set(
        list(state)
          .filter(test)
          .map(({ id }) => id),
      ),
  );

/** The number of days on which something entered the set, and on which something left it. */
function moves(sets: readonly ReadonlySet<string>[]): { came: number; went: number } {
  let came = 0;
  let went = 0;
  for (const [day, set] of sets.entries()) {
    const before = sets[day - 1];
    if (!before) continue;
    if ([...set].some((id) => !before.has(id))) came++;
    if ([...before].some((id) => !set.has(id))) went++;
  }
  return { came, went };
}

describe('over fifteen days', () => {
  test('the same seed gives the same data, another seed other data', () => {
    expect(play(1).map(text)).toEqual(days.map(text));
    expect(text(play(2)[0]!)).not.toBe(text(days[0]!));
  });

  test.each([
    ['drift', (w: PlatformContext['workspaces'][number]) => w.drifted === true],
    ['assessment lost', (w: PlatformContext['workspaces'][number]) => w.drifted === null],
    ['failing checks', (w: PlatformContext['workspaces'][number]) => w.checksFailed > 0],
    ['errored checks', (w: PlatformContext['workspaces'][number]) => w.checksErrored > 0],
    ['errored runs', (w: PlatformContext['workspaces'][number]) => w.runStatus === 'errored'],
  ])('%s appears and goes', (_, test) => {
    const { came, went } = moves(idsOn(({ workspaces }) => workspaces, test));
    expect(came).toBeGreaterThan(1);
    expect(went).toBeGreaterThan(1);
  });

  test('tool versions and provider versions move', () => {
    const used = (state: PlatformContext) => new Set(state.workspaces.map(({ toolVersion }) => toolVersion));
    expect(used(days[0]!)).not.toContain('1.14.0');
    expect(used(days.at(-1)!)).toContain('1.14.0');
    const cells = days.map((state) => state.workspaces.map(({ stack }) => stack.providersText).join());
    expect(new Set(cells).size).toBeGreaterThan(8);
  });

  test('agents die, are silent for more than a day, and are deleted', () => {
    const dead = days.map((state, day) => {
      const dayAgo = START.getTime() + (day - 1) * DAY;
      return state.agents.filter((agent) => !alive(agent) && (agent.lastPingAt ?? 0) < dayAgo);
    });
    expect(dead.every((agents) => agents.length > 0)).toBe(true);
    expect(new Set(dead.flat().map(({ status }) => status))).toEqual(new Set(['unknown', 'errored', 'exited']));
    expect(moves(dead.map((agents) => new Set(agents.map(({ id }) => id)))).went).toBeGreaterThan(2);
    const kept = new Set(days.at(-1)!.agents.map(({ id }) => id));
    expect(days.some(({ agents }) => agents.some(({ id, status }) => status === 'exited' && !kept.has(id)))).toBe(true);
  });

  test('pools lose all live agents, are empty, and are scoped, for some days only', () => {
    const livePool = ({ agents }: PlatformContext, pool: AgentPoolRecord) =>
      agents.some((a) => a.poolId === pool.id && alive(a));
    const without = days.map((state) => new Set(state.pools.filter((p) => !livePool(state, p)).map((p) => p.id)));
    const empty = days.map(
      (state) =>
        new Set(
          state.pools
            .filter((p) => p.attached.length === 0 && !state.agents.some(({ poolId }) => poolId === p.id))
            .map(({ id }) => id),
        ),
    );
    const unscoped = idsOn(
      ({ pools }) => pools,
      (p) => p.organizationScoped && p.attached.length < 5,
    );
    for (const sets of [without, empty, unscoped]) {
      expect(sets.every((set) => set.size > 0)).toBe(true);
      const { came, went } = moves(sets);
      expect(came).toBeGreaterThan(0);
      expect(went).toBeGreaterThan(0);
    }
  });

  test('no day deletes more than a few percent of the rows', () => {
    for (const [day, state] of days.entries()) {
      const before = days[day - 1];
      if (!before) continue;
      const now = new Set(state.workspaces.map(({ id }) => id));
      const gone = before.workspaces.filter(({ id }) => !now.has(id));
      expect(gone.length / before.workspaces.length).toBeLessThan(0.03);
    }
  });

  test('only changed workspaces have a new time', () => {
    for (const [day, state] of days.entries()) {
      const before = new Map(days[day - 1]?.workspaces.map((workspace) => [workspace.id, workspace]));
      for (const workspace of state.workspaces) {
        const old = before.get(workspace.id);
        if (old && old.updatedAt === workspace.updatedAt) expect(workspace).toEqual(old);
      }
    }
  });
});

test('fifty thousand workspaces start in about a second, and a day changes about one in fifty', () => {
  const service = create(1, 50_000 / 240);
  expect(service.state.workspaces).toHaveLength(50_000);
  const before = new Map(service.state.workspaces.map((workspace) => [workspace.id, workspace.updatedAt]));
  service.tick(1, new Date(START.getTime() + DAY));
  const changed = service.state.workspaces.filter(({ id, updatedAt }) => before.get(id) !== updatedAt).length;
  expect(changed).toBeGreaterThan(800);
  expect(changed).toBeLessThan(1400);
});
