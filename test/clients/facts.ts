import type { RunningSandbox } from '../../sandbox/index.ts';
import { createExplorerViews } from '../../sandbox/platform/explorer-views.ts';
import type { Flavor } from '../../sandbox/types.ts';

/** The input of the programs with the vendors' clients: where the services are, and what they must find there. */
export function describeSandbox({ urls, tokens, services }: RunningSandbox, flavor: Flavor) {
  const { platform, secrets, scheduler } = services;
  const { workspaces, pools, agents, views, organization, projects } = platform.state;
  const [agent] = agents;
  const explorer = createExplorerViews({ organization, workspaces }, flavor);
  const hashicorp = flavor === 'hashicorp';
  return {
    flavor,
    urls,
    organization,
    tokens: Object.fromEntries(Object.entries(tokens).map(([kind, { write }]) => [kind, write])),
    workspaces: workspaces.slice(0, 5).map(({ id }) => id),
    projects: projects.slice(0, 2).map(({ id }) => id),
    agent: {
      id: agent!.id,
      pool: agent!.poolId,
      count: agents.filter(({ poolId }) => poolId === agent!.poolId).length,
    },
    volume: 'postgres-main',
    externalId: [...scheduler.state.volumes.values()].find(({ id }) => id === 'postgres-main')!.externalId,
    plugin: hashicorp ? 'aws-ebs0' : 'eb50',
    expected: {
      pools: pools.length,
      views: views.length,
      workspace_names: workspaces.slice(0, 2).map(({ name }) => name),
      rows: Object.fromEntries(
        ['workspaces', 'tf_versions', 'providers', 'modules'].map((view) => [view, explorer.get(view)!.rows().length]),
      ),
      mount: hashicorp ? 'consul' : 'mesh',
      roles: secrets.state.roles.size,
      keys: secrets.state.keys.size,
      policies: scheduler.state.policies.size,
      volumes: scheduler.state.volumes.size,
      externals: scheduler.state.plugins.get(hashicorp ? 'aws-ebs0' : 'eb50')!.externals.size,
      snapshots: scheduler.state.plugins.get(hashicorp ? 'aws-ebs0' : 'eb50')!.snapshots.size,
    },
  };
}
