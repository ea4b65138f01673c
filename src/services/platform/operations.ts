import { defineOperations, pathParam, queryParam } from '../operation.ts';
import * as bodies from './bodies.ts';
import { explorerQueryEncoder, validateExplorerArgs } from './explorer.ts';

const read = { responseType: 'document' } as const;
const create = { ...read, method: 'POST', retryPolicy: 'never' } as const;
const update = { ...read, method: 'PATCH' } as const;
const remove = { method: 'DELETE' } as const;
const POOLS = '/organizations/{organization_name}/agent-pools';
const EXPLORER = '/organizations/{organization_name}/explorer';
const VIEWS = `${EXPLORER}/views`;
const poolId = pathParam('ID of the pool (apool-…)');
/** docs/services/platform.md#agent-pools. */
const include = {
  ...queryParam('related resources to include: workspaces'),
  values: ['workspaces'],
  hashicorpValues: ['workspaces', 'stacks', 'hyok-configurations'],
  isList: true,
} as const;
const page = queryParam('page to read, from 1', 'integer');
/** The API documents show no maximum. */
const pages = { 'page[number]': page, 'page[size]': queryParam('rows per page, 20 by default', 'integer') } as const;
/** The default of the explorer is not documented. */
const explorerPages = {
  'page[number]': page,
  'page[size]': queryParam('rows per page; the service has a default', 'integer'),
} as const;
const managePools = {
  permission: { text: 'manage agent pools', rights: [{ scope: 'organization', access: 'manage-agent-pools' }] },
} as const;
const pool = { ...managePools, path: '/agent-pools/{id}' } as const;
const agent = { ...managePools, path: '/agents/{id}', params: { id: pathParam('ID of the agent (agent-…)') } } as const;
const explorerParams = {
  type: { ...queryParam('view: workspaces, tf_versions, providers, modules'), required: true },
  filter: queryParam('FIELD:OPERATOR:VALUE, repeatable, joined by AND', 'filters'),
  sort: queryParam('field to sort by, prefix `-` for descending order'),
  fields: queryParam('fields to return, comma-separated; all by default', 'names'),
} as const;
const readAll = [{ scope: 'organization', access: 'read-workspaces' }] as const;
const READ_ALL = {
  text: 'owners, or a team that reads all workspaces or projects, or the organization token',
  rights: readAll,
} as const;
const explorer = {
  ...read,
  validate: validateExplorerArgs,
  queryEncoder: explorerQueryEncoder,
  permission: READ_ALL,
} as const;
const views = {
  path: VIEWS,
  /** docs/services/platform.md#saved-views. */
  permission: { text: 'read the workspaces and projects that the query of the view covers', rights: readAll },
  section: 'saved-views',
} as const;
const view = {
  ...views,
  path: `${VIEWS}/{view_id}`,
  params: { view_id: pathParam('ID of the saved view (sq-…)') },
} as const;
const viewBody = { validate: bodies.validateView, hashicorp: bodies.toHashicorpView } as const;

export const platform = defineOperations('platform', {
  'agent-pools': {
    list: {
      ...read,
      ...managePools,
      path: POOLS,
      description: 'lists the agent pools of the organization',
      params: {
        q: queryParam('part of the name'),
        sort: {
          ...queryParam('name or created-at, prefix `-` for descending order'),
          values: ['name', '-name', 'created-at', '-created-at'],
        },
        'filter[allowed_workspaces][name]': queryParam('only pools that the named workspace may use'),
        include,
        ...pages,
      },
      pagination: 'page',
    },
    show: {
      ...read,
      ...pool,
      describes: { id: ['data', 'id'] },
      description: 'shows an agent pool',
      params: { id: poolId, include },
    },
    create: { ...create, ...managePools, path: POOLS, description: 'creates an agent pool', body: bodies.createPool },
    update: {
      ...update,
      ...pool,
      description: 'updates the name, scope or allowed workspaces of an agent pool',
      params: { id: poolId },
      body: bodies.updatePool,
    },
    delete: {
      ...remove,
      ...managePools,
      path: '/agent-pools/{agent_pool_id}',
      description: 'deletes an agent pool that no workspace uses',
      params: { agent_pool_id: poolId },
    },
  },
  agents: {
    list: {
      ...read,
      ...managePools,
      path: '/agent-pools/{agent_pool_id}/agents',
      description: 'lists the agents of a pool',
      params: {
        agent_pool_id: poolId,
        'filter[last-ping-since]': queryParam('only agents that pinged since then (ISO 8601)', 'timestamp'),
        ...pages,
      },
      pagination: 'page',
    },
    show: { ...read, ...agent, describes: { id: ['data', 'id'] }, description: 'shows an agent' },
    delete: { ...remove, ...agent, description: 'deletes an agent whose status is unknown, errored or exited' },
  },
  explorer: {
    query: {
      ...explorer,
      path: EXPLORER,
      description: 'queries an explorer view, as pages of JSON',
      params: { ...explorerParams, ...explorerPages },
      pagination: 'page',
      section: 'explorer-queries',
    },
    export: {
      ...explorer,
      path: `${EXPLORER}/export/csv`,
      description: 'queries an explorer view, all rows as CSV',
      params: explorerParams,
      responseType: 'csv',
      section: 'csv-export',
    },
  },
  workspaces: {
    list: {
      ...read,
      path: '/organizations/{organization_name}/workspaces',
      description: 'lists the workspaces that the token may read',
      params: { include: queryParam('related resources to include, comma-separated: current_run, project'), ...pages },
      permission: READ_ALL,
      pagination: 'page',
      section: 'list-of-workspaces',
    },
  },
  views: {
    list: { ...read, ...views, description: 'lists the saved views', permission: READ_ALL, pagination: 'page' },
    show: { ...read, ...view, describes: { view_id: ['data', 'id'] }, description: 'shows a saved view' },
    create: { ...create, ...views, ...viewBody, description: 'creates a saved view', body: bodies.createView },
    update: {
      ...update,
      ...view,
      ...viewBody,
      description: 'replaces the name and the query of a saved view',
      body: bodies.updateView,
    },
    delete: { ...remove, ...view, ...read, description: 'deletes a saved view, and returns it' },
    results: {
      ...read,
      ...view,
      path: `${view.path}/results`,
      description: 'runs a saved view, as pages of JSON',
      params: { ...view.params, ...explorerPages },
      pagination: 'page',
    },
    csv: {
      ...read,
      ...view,
      path: `${view.path}/csv`,
      fallbackPath: `${view.path}/export/csv`,
      description: 'runs a saved view, all rows as CSV',
      responseType: 'csv',
    },
  },
});

/**
 * The relationships of an agent pool that do not use it: its own ones, and those that say who may use it. Any other one uses the pool,
 * also one that Tidemark does not know: docs/services/platform.md#agent-pools. Read by the rules and, just before an action, by the guards.
 */
export const NO_POOL_USE =
  'workspaces|agents|authentication-tokens|organization|(allowed|excluded)-(workspaces|projects|stacks|modules)';
