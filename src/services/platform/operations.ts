import { defineOperation, explorerPageParams, pageParams, pathParam, queryParam } from '../operation.ts';
import { organizationAccess } from '../permission.ts';
import {
  createPoolBody,
  createViewBody,
  explorerQueryEncoder,
  toHashicorpQuery,
  toHashicorpView,
  updatePoolBody,
  updateViewBody,
  validatePoolQuery,
  validateViewBody,
} from './bodies.ts';
import { validateExplorerArgs } from './explorer.ts';

/** Operations on agent pools, agents, the explorer and saved views. */

const MANAGE_POOLS = organizationAccess('manage-agent-pools', 'manage agent pools');
const READ_ALL = organizationAccess(
  'read-workspaces',
  'owners, or a team that reads all workspaces or projects, or the organization token',
);
/** docs/services/platform.md#saved-views. */
const READ_VIEW = organizationAccess(
  'read-workspaces',
  'read the workspaces and projects that the query of the view covers',
);
const read = { kind: 'platform', method: 'GET', mutates: false, retryPolicy: 'safe', reversible: true } as const;
const write = { kind: 'platform', mutates: true, retryPolicy: 'if-unprocessed', reversible: true } as const;
const DOCS = 'docs/services/platform.md';
const POOLS = '/organizations/{organization_name}/agent-pools';
const EXPLORER = '/organizations/{organization_name}/explorer';
const include = queryParam('related resources to include: workspaces');
const viewId = pathParam('ID of the saved view (sq-…)');
const explorerParams = {
  type: { ...queryParam('view: workspaces, tf_versions, providers, modules'), required: true },
  filter: queryParam('FIELD:OPERATOR:VALUE, repeatable, joined by AND', 'filters'),
  sort: queryParam('field to sort by, prefix `-` for descending order'),
  fields: queryParam('fields to return, comma-separated; all by default', 'names'),
} as const;
const explorerRules = {
  validate: validateExplorerArgs,
  queryEncoder: explorerQueryEncoder,
  hashicorp: toHashicorpQuery,
} as const;
const poolExample =
  '{"data": {"type": "agent-pools", "attributes": {"name": "edge", "organization-scoped": false}, "relationships": {"allowed-workspaces": {"data": [{"id": "ws-…", "type": "workspaces"}]}}}}';
const viewExample =
  '{"data": {"name": "drifted", "query_type": "workspaces", "query": {"type": "workspaces", "filter": [{"field": "drifted", "operator": "is", "value": ["true"]}], "fields": ["workspace_name"], "sort": ["workspace_name"]}}}';

export const platform = {
  'agent-pools': {
    list: defineOperation({
      ...read,
      name: 'platform.agent-pools.list',
      path: POOLS,
      description: 'lists the agent pools of the organization',
      params: {
        q: queryParam('part of the name'),
        sort: queryParam('name or created-at, prefix `-` for descending order'),
        'filter[allowed_workspaces][name]': queryParam('only pools that the named workspace may use'),
        include,
        ...pageParams,
      },
      validate: validatePoolQuery,
      responseType: 'document',
      permission: MANAGE_POOLS,
      docsUrl: `${DOCS}#agent-pools`,
      pagination: 'page',
    }),
    show: defineOperation({
      ...read,
      name: 'platform.agent-pools.show',
      path: '/agent-pools/{id}',
      description: 'shows an agent pool',
      params: { id: pathParam('ID of the pool (apool-…)'), include },
      validate: validatePoolQuery,
      responseType: 'document',
      permission: MANAGE_POOLS,
      docsUrl: `${DOCS}#agent-pools`,
    }),
    create: defineOperation({
      ...write,
      retryPolicy: 'never',
      name: 'platform.agent-pools.create',
      method: 'POST',
      path: POOLS,
      description: 'creates an agent pool',
      params: {},
      body: { schema: createPoolBody, required: true, example: poolExample },
      responseType: 'document',
      permission: MANAGE_POOLS,
      docsUrl: `${DOCS}#agent-pools`,
    }),
    update: defineOperation({
      ...write,
      name: 'platform.agent-pools.update',
      method: 'PATCH',
      path: '/agent-pools/{id}',
      description: 'updates the name, scope or allowed workspaces of an agent pool',
      params: { id: pathParam('ID of the pool (apool-…)') },
      body: { schema: updatePoolBody, required: true, example: poolExample },
      responseType: 'document',
      permission: MANAGE_POOLS,
      docsUrl: `${DOCS}#agent-pools`,
    }),
    delete: defineOperation({
      ...write,
      reversible: false,
      name: 'platform.agent-pools.delete',
      method: 'DELETE',
      path: '/agent-pools/{agent_pool_id}',
      description: 'deletes an agent pool that no workspace uses',
      params: { agent_pool_id: pathParam('ID of the pool (apool-…)') },
      responseType: 'any',
      permission: MANAGE_POOLS,
      docsUrl: `${DOCS}#agent-pools`,
    }),
  },
  agents: {
    list: defineOperation({
      ...read,
      name: 'platform.agents.list',
      path: '/agent-pools/{agent_pool_id}/agents',
      description: 'lists the agents of a pool',
      params: {
        agent_pool_id: pathParam('ID of the pool (apool-…)'),
        'filter[last-ping-since]': queryParam('only agents that pinged since then (ISO 8601)', 'timestamp'),
        ...pageParams,
      },
      responseType: 'document',
      permission: MANAGE_POOLS,
      docsUrl: `${DOCS}#agents`,
      pagination: 'page',
    }),
    show: defineOperation({
      ...read,
      name: 'platform.agents.show',
      path: '/agents/{id}',
      description: 'shows an agent',
      params: { id: pathParam('ID of the agent (agent-…)') },
      responseType: 'document',
      permission: MANAGE_POOLS,
      docsUrl: `${DOCS}#agents`,
    }),
    delete: defineOperation({
      ...write,
      reversible: false,
      name: 'platform.agents.delete',
      method: 'DELETE',
      path: '/agents/{id}',
      description: 'deletes an agent whose status is unknown, errored or exited',
      params: { id: pathParam('ID of the agent (agent-…)') },
      responseType: 'any',
      permission: MANAGE_POOLS,
      docsUrl: `${DOCS}#agents`,
    }),
  },
  explorer: {
    query: defineOperation({
      ...read,
      ...explorerRules,
      name: 'platform.explorer.query',
      path: EXPLORER,
      description: 'queries an explorer view, as pages of JSON',
      params: { ...explorerParams, ...explorerPageParams },
      responseType: 'document',
      permission: READ_ALL,
      docsUrl: `${DOCS}#explorer-queries`,
      pagination: 'page',
    }),
    export: defineOperation({
      ...read,
      ...explorerRules,
      name: 'platform.explorer.export',
      path: `${EXPLORER}/export/csv`,
      description: 'queries an explorer view, all rows as CSV',
      params: explorerParams,
      responseType: 'csv',
      permission: READ_ALL,
      docsUrl: `${DOCS}#csv-export`,
    }),
  },
  views: {
    list: defineOperation({
      ...read,
      name: 'platform.views.list',
      path: `${EXPLORER}/views`,
      description: 'lists the saved views',
      params: {},
      responseType: 'document',
      permission: READ_ALL,
      docsUrl: `${DOCS}#saved-views`,
      pagination: 'page',
    }),
    show: defineOperation({
      ...read,
      name: 'platform.views.show',
      path: `${EXPLORER}/views/{view_id}`,
      description: 'shows a saved view',
      params: { view_id: viewId },
      responseType: 'document',
      permission: READ_VIEW,
      docsUrl: `${DOCS}#saved-views`,
    }),
    create: defineOperation({
      ...write,
      retryPolicy: 'never',
      name: 'platform.views.create',
      method: 'POST',
      path: `${EXPLORER}/views`,
      description: 'creates a saved view',
      params: {},
      body: { schema: createViewBody, required: true, example: viewExample },
      validate: validateViewBody,
      hashicorp: toHashicorpView,
      responseType: 'document',
      permission: READ_VIEW,
      docsUrl: `${DOCS}#saved-views`,
    }),
    update: defineOperation({
      ...write,
      name: 'platform.views.update',
      method: 'PATCH',
      path: `${EXPLORER}/views/{view_id}`,
      description: 'replaces the name and the query of a saved view',
      params: { view_id: viewId },
      body: { schema: updateViewBody, required: true, example: viewExample },
      validate: validateViewBody,
      hashicorp: toHashicorpView,
      responseType: 'document',
      permission: READ_VIEW,
      docsUrl: `${DOCS}#saved-views`,
    }),
    delete: defineOperation({
      ...write,
      reversible: false,
      name: 'platform.views.delete',
      method: 'DELETE',
      path: `${EXPLORER}/views/{view_id}`,
      description: 'deletes a saved view, and returns it',
      params: { view_id: viewId },
      responseType: 'document',
      permission: READ_VIEW,
      docsUrl: `${DOCS}#saved-views`,
    }),
    results: defineOperation({
      ...read,
      name: 'platform.views.results',
      path: `${EXPLORER}/views/{view_id}/results`,
      description: 'runs a saved view, as pages of JSON',
      params: { view_id: viewId, ...explorerPageParams },
      responseType: 'document',
      permission: READ_VIEW,
      docsUrl: `${DOCS}#saved-views`,
      pagination: 'page',
    }),
    csv: defineOperation({
      ...read,
      name: 'platform.views.csv',
      path: `${EXPLORER}/views/{view_id}/csv`,
      fallbackPath: `${EXPLORER}/views/{view_id}/export/csv`,
      description: 'runs a saved view, all rows as CSV',
      params: { view_id: viewId },
      responseType: 'csv',
      permission: READ_VIEW,
      docsUrl: `${DOCS}#saved-views`,
    }),
  },
} as const;
