import { inPath, inQuery, operation, pageParams } from './operation.ts';
import { createPool, createView, updatePool, updateView } from './platform-bodies.ts';
import { checkExplorer, checkViewBody } from './platform-checks.ts';
import { explorerQuery, hashicorpExplorer, hashicorpView } from './platform-flavor.ts';

/** The 17 operations of platform.md: agent pools, agents, explorer, saved views. */

const MANAGE_POOLS = 'manage agent pools';
const READ_ALL = 'owners, or a team that reads all workspaces or projects, or the organization token';
const read = { kind: 'platform', method: 'GET', changes: false, repeat: 'read', reversible: true } as const;
const write = { kind: 'platform', changes: true, repeat: 'unsent', reversible: true } as const;
const pools = 'platform.md, Endpoints, Agent pools and agents';
const explorer = 'platform.md, Endpoints, Explorer queries';
const POOLS = '/organizations/{organization_name}/agent-pools';
const EXPLORER = '/organizations/{organization_name}/explorer';
const include = inQuery('related resources to include: workspaces');
const viewId = inPath('id of the saved view (sq-…)');
const explorerParams = {
  type: { ...inQuery('view: workspaces, tf_versions, providers, modules'), required: true },
  filter: inQuery('FIELD:OPERATOR:VALUE, repeatable, joined by AND', 'filters'),
  sort: inQuery('field to sort by, `-` first for descending'),
  fields: inQuery('fields to return, comma-separated; all by default', 'names'),
} as const;
const explorerForms = { check: checkExplorer, query: explorerQuery, hashicorp: hashicorpExplorer } as const;
const poolExample =
  '{"data": {"type": "agent-pools", "attributes": {"name": "edge", "organization-scoped": false}, "relationships": {"allowed-workspaces": {"data": [{"id": "ws-…", "type": "workspaces"}]}}}}';
const viewExample =
  '{"data": {"name": "drifted", "query_type": "workspaces", "query": {"type": "workspaces", "filter": [{"field": "drifted", "operator": "is", "value": ["true"]}], "fields": ["workspace_name"], "sort": ["workspace_name"]}}}';

export const platform = {
  'agent-pools': {
    list: operation({
      ...read,
      name: 'platform.agent-pools.list',
      path: POOLS,
      about: 'lists the agent pools of the organization',
      params: {
        q: inQuery('part of a name to search for'),
        sort: inQuery('name or created-at, `-` first for descending'),
        'filter[allowed_workspaces][name]': inQuery('pools that the named workspace may use'),
        include,
        ...pageParams,
      },
      answers: 'document',
      permission: MANAGE_POOLS,
      rule: `${pools}: List pools`,
      paging: 'page',
    }),
    show: operation({
      ...read,
      name: 'platform.agent-pools.show',
      path: '/agent-pools/{id}',
      about: 'shows an agent pool',
      params: { id: inPath('id of the pool (apool-…)'), include },
      answers: 'document',
      permission: MANAGE_POOLS,
      rule: `${pools}: Show pool`,
    }),
    create: operation({
      ...write,
      repeat: 'never',
      name: 'platform.agent-pools.create',
      method: 'POST',
      path: POOLS,
      about: 'creates an agent pool',
      params: {},
      body: { schema: createPool, required: true, example: poolExample },
      answers: 'document',
      permission: MANAGE_POOLS,
      rule: `${pools}: Create pool; Create and update pool body`,
    }),
    update: operation({
      ...write,
      name: 'platform.agent-pools.update',
      method: 'PATCH',
      path: '/agent-pools/{id}',
      about: 'changes name, scope or allowed workspaces of a pool',
      params: { id: inPath('id of the pool (apool-…)') },
      body: { schema: updatePool, required: true, example: poolExample },
      answers: 'document',
      permission: MANAGE_POOLS,
      rule: `${pools}: Update pool; Create and update pool body`,
    }),
    delete: operation({
      ...write,
      name: 'platform.agent-pools.delete',
      method: 'DELETE',
      path: '/agent-pools/{agent_pool_id}',
      about: 'deletes an agent pool that no workspace uses',
      params: { agent_pool_id: inPath('id of the pool (apool-…)') },
      answers: 'any',
      permission: MANAGE_POOLS,
      rule: `${pools}: Delete pool`,
    }),
  },
  agents: {
    list: operation({
      ...read,
      name: 'platform.agents.list',
      path: '/agent-pools/{agent_pool_id}/agents',
      about: 'lists the agents of a pool',
      params: {
        agent_pool_id: inPath('id of the pool (apool-…)'),
        'filter[last-ping-since]': inQuery('only agents that pinged since then (ISO 8601)', 'timestamp'),
        ...pageParams,
      },
      answers: 'document',
      permission: MANAGE_POOLS,
      rule: `${pools}: List agents`,
      paging: 'page',
    }),
    show: operation({
      ...read,
      name: 'platform.agents.show',
      path: '/agents/{id}',
      about: 'shows an agent',
      params: { id: inPath('id of the agent (agent-…)') },
      answers: 'document',
      permission: MANAGE_POOLS,
      rule: `${pools}: Show agent`,
    }),
    delete: operation({
      ...write,
      name: 'platform.agents.delete',
      method: 'DELETE',
      path: '/agents/{id}',
      about: 'deletes an agent whose status is unknown, errored or exited',
      params: { id: inPath('id of the agent (agent-…)') },
      answers: 'any',
      permission: MANAGE_POOLS,
      rule: `${pools}: Delete agent; States and transitions`,
    }),
  },
  explorer: {
    query: operation({
      ...read,
      ...explorerForms,
      name: 'platform.explorer.query',
      path: EXPLORER,
      about: 'queries a view of the explorer, in pages of JSON',
      params: { ...explorerParams, ...pageParams },
      answers: 'document',
      permission: READ_ALL,
      rule: `${explorer}: Execute a query; Filter syntax`,
      paging: 'page',
    }),
    export: operation({
      ...read,
      ...explorerForms,
      name: 'platform.explorer.export',
      path: `${EXPLORER}/export/csv`,
      about: 'queries a view of the explorer, all rows as CSV',
      params: explorerParams,
      answers: 'csv',
      permission: READ_ALL,
      rule: `${explorer}: Export CSV; Filter syntax`,
    }),
  },
  views: {
    list: operation({
      ...read,
      name: 'platform.views.list',
      path: `${EXPLORER}/views`,
      about: 'lists the saved views',
      params: {},
      answers: 'document',
      permission: READ_ALL,
      rule: `${explorer}: List saved views`,
      paging: 'page',
    }),
    show: operation({
      ...read,
      name: 'platform.views.show',
      path: `${EXPLORER}/views/{view_id}`,
      about: 'shows a saved view',
      params: { view_id: viewId },
      answers: 'document',
      permission: READ_ALL,
      rule: `${explorer}: Show saved view`,
    }),
    create: operation({
      ...write,
      repeat: 'never',
      name: 'platform.views.create',
      method: 'POST',
      path: `${EXPLORER}/views`,
      about: 'saves a query as a view',
      params: {},
      body: { schema: createView, required: true, example: viewExample },
      check: checkViewBody,
      hashicorp: hashicorpView,
      answers: 'document',
      permission: READ_ALL,
      rule: `${explorer}: Create saved view; Saved view body`,
    }),
    update: operation({
      ...write,
      name: 'platform.views.update',
      method: 'PATCH',
      path: `${EXPLORER}/views/{view_id}`,
      about: 'replaces name and query of a saved view',
      params: { view_id: viewId },
      body: { schema: updateView, required: true, example: viewExample },
      check: checkViewBody,
      hashicorp: hashicorpView,
      answers: 'document',
      permission: READ_ALL,
      rule: `${explorer}: Update saved view; Saved view body`,
    }),
    delete: operation({
      ...write,
      name: 'platform.views.delete',
      method: 'DELETE',
      path: `${EXPLORER}/views/{view_id}`,
      about: 'deletes a saved view',
      params: { view_id: viewId },
      answers: 'any',
      permission: READ_ALL,
      rule: `${explorer}: Delete saved view`,
    }),
    results: operation({
      ...read,
      name: 'platform.views.results',
      path: `${EXPLORER}/views/{view_id}/results`,
      about: 'runs a saved view, in pages of JSON',
      params: { view_id: viewId, ...pageParams },
      answers: 'document',
      permission: READ_ALL,
      rule: `${explorer}: Re-run saved view`,
      paging: 'page',
    }),
    csv: operation({
      ...read,
      name: 'platform.views.csv',
      path: `${EXPLORER}/views/{view_id}/csv`,
      otherPath: `${EXPLORER}/views/{view_id}/export/csv`,
      about: 'runs a saved view, all rows as CSV',
      params: { view_id: viewId },
      answers: 'csv',
      permission: READ_ALL,
      rule: `${explorer}: Re-run saved view as CSV`,
    }),
  },
} as const;
