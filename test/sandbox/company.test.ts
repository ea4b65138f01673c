import { describe, expect, onTestFinished, test } from 'vitest';
import { type RunningSandbox, startSandbox } from '../../sandbox/index.ts';

const TIB = 1024n ** 4n;

async function start(options: Parameters<typeof startSandbox>[0] = {}): Promise<RunningSandbox> {
  const sandbox = await startSandbox(options);
  onTestFinished(() => sandbox.close());
  return sandbox;
}

/** Every text that an administrator could have typed. */
function typedTexts({ services: { platform, secrets, scheduler, mesh, autoscaler } }: RunningSandbox): string[] {
  const { projects, workspaces, pools, agents, views } = platform.state;
  const { volumes, plugins, policies } = scheduler.state;
  return [
    ...projects.map(({ name }) => name),
    ...workspaces.flatMap(({ name, repository, stack }) => [
      name,
      repository ?? '-',
      ...stack.modules.map(({ product }) => product.name),
    ]),
    ...pools.map(({ name }) => name),
    ...agents.map(({ name }) => name ?? '-'),
    ...views.map(({ name }) => name),
    ...secrets.state.keys.keys(),
    ...secrets.state.providers.keys(),
    ...secrets.state.roles.keys(),
    ...[...volumes.values()].flatMap(({ id, namespace, name, pluginId }) => [id, namespace, name, pluginId]),
    ...[...volumes.values()].flatMap(({ topologies }) => topologies.flatMap((topology) => Object.values(topology))),
    ...[...plugins.values()].flatMap(({ externals, snapshots }) => [
      ...[...externals.values()].map(({ status }) => status || '-'),
      ...[...snapshots.values()].flatMap(({ parameters }) => Object.values(parameters ?? {})),
    ]),
    ...[...policies.values()].flatMap(({ name, description }) => [name, description || '-']),
    ...mesh.state.roots.map(({ Name }) => Name),
    ...[...mesh.state.leaves.values()].map(({ Service }) => Service),
    ...[...autoscaler.state.gauges, ...autoscaler.state.samples].flatMap(({ Labels }) => Object.values(Labels)),
  ];
}

/** A text that no spreadsheet, page, terminal or shell takes for anything else. */
const PLAIN = /^(?:-|[A-Za-z0-9][A-Za-z0-9 .:/,()_-]{0,60})$/u;

function story(days: number, sandbox: RunningSandbox): Map<number, RunningSandbox['services']['platform']['state']> {
  const states = new Map([[0, structuredClone(sandbox.services.platform.state)]]);
  for (let day = 1; day <= days; day++) {
    sandbox.tick();
    states.set(day, structuredClone(sandbox.services.platform.state));
  }
  return states;
}

describe('the estate of the company', () => {
  test.each(['spec', 'hashicorp'] as const)('has plain names on every day of a month (%s)', async (flavor) => {
    const sandbox = await start({ flavor });
    for (let day = 0; day < 30; day++) {
      expect(typedTexts(sandbox).filter((text) => !PLAIN.test(text))).toEqual([]);
      sandbox.tick();
    }
  });

  test('the hostile one does not, which the check above would notice', async () => {
    const texts = typedTexts(await start({ seed: 'hostile' }));
    const hostile = texts.filter((text) => !PLAIN.test(text));
    expect(hostile).toEqual(expect.arrayContaining(["=cmd|' /C calc'!A0", '<script>alert(1)</script>', 'two\nlines']));
  });

  test.each([10, 240, 10_000])('gives %i workspaces names of their own', async (workspaces) => {
    const sandbox = await start({ workspaces });
    sandbox.tick();
    const { state } = sandbox.services.platform;
    const names = state.workspaces.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(
      names.filter((name) => !/^[a-z-]+-(?:prod|staging|dev)-[a-z]+-[a-z]+-\d(?:-c\d\d)?(?:-v\d)?$/u.test(name)),
    ).toEqual([]);
    expect(new Set(state.pools.map(({ name }) => name)).size).toBe(state.pools.length);
  });

  test('ten workspaces belong to several projects and all stages', async () => {
    const { workspaces } = (await start({ workspaces: 10 })).services.platform.state;
    expect(new Set(workspaces.map(({ project }) => project.name)).size).toBeGreaterThan(2);
    for (const stage of ['prod', 'staging', 'dev'])
      expect(workspaces.some(({ name }) => name.includes(`-${stage}-`))).toBe(true);
  });

  test('has volumes and snapshots of the size that a company has', async () => {
    const { plugins } = (await start()).services.scheduler.state;
    const externals = [...plugins.values()].flatMap((plugin) => [...plugin.externals.values()]);
    const snapshots = [...plugins.values()].flatMap((plugin) => [...plugin.snapshots.values()]);
    for (const { capacityBytes } of externals) expect(capacityBytes).toBeLessThanOrEqual(TIB);
    const sum = snapshots.reduce((bytes, { sizeBytes }) => bytes + sizeBytes, 0n);
    expect([sum > TIB, sum < 100n * TIB]).toEqual([true, true]);
  });
});

describe('the fortnight of the company', () => {
  test('moves the workspaces to the newest version, and is not finished', async () => {
    const states = story(13, await start());
    const upgraded = [...states.values()].map(
      ({ workspaces, newestTool }) =>
        workspaces.filter(({ toolVersion }) => toolVersion === newestTool).length / workspaces.length,
    );
    expect(upgraded[0]).toBeLessThan(0.15);
    for (const [day, share] of upgraded.entries())
      if (day > 0) expect(share).toBeGreaterThan(upgraded[day - 1]! - 0.01);
    expect(upgraded.at(-1)).toBeGreaterThan(0.7);
    expect(upgraded.at(-1)).toBeLessThan(0.95);
  });

  test('has an incident that makes workspaces drift, and later they do not', async () => {
    const states = story(13, await start());
    const drifting = (day: number, project: string) =>
      states.get(day)!.workspaces.filter((w) => w.project.name === project && w.drifted).length;
    expect(drifting(8, 'network') - drifting(7, 'network')).toBeGreaterThanOrEqual(3);
    expect(drifting(13, 'network')).toBeLessThan(drifting(8, 'network'));
  });

  test('loses all agents of one pool, and only of that', async () => {
    const states = story(14, await start());
    const deadPools = (day: number) => {
      const { pools, agents } = states.get(day)!;
      const alive = new Set(
        agents.filter(({ status }) => ['idle', 'busy'].includes(status)).map(({ poolId }) => poolId),
      );
      const staffed = new Set(agents.map(({ poolId }) => poolId));
      return pools.filter(({ id }) => staffed.has(id) && !alive.has(id)).map(({ name }) => name);
    };
    expect(deadPools(9)).toEqual([]);
    for (const day of [10, 11, 12, 13]) expect(deadPools(day)).toEqual(['onprem-frankfurt']);
    expect(deadPools(14)).toEqual([]);
  });

  test('leaves a key without rotation, and opens the anonymous policy', async () => {
    const sandbox = await start();
    const anonymous = () => sandbox.services.scheduler.state.policies.get('anonymous')!.rules;
    const versions = () => sandbox.services.secrets.state.keys.get('payments-signing')!.versions.length;
    const [before, rules] = [versions(), anonymous()];
    for (let day = 1; day < 14; day++) sandbox.tick();
    expect(versions()).toBe(before);
    expect(rules).not.toContain('write');
    expect(anonymous()).toContain('write');
  });
});
