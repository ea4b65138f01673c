import { expect } from 'vitest';
import { RELATED } from '../../../sandbox/platform/agent-pools.ts';
import type {
  AgentPoolRecord,
  AgentRecord,
  PlatformContext,
  SavedViewRecord,
} from '../../../sandbox/platform/context.ts';
import { toExplorerQuery } from '../../../sandbox/platform/explorer.ts';
import { type ExplorerResult, runExplorerQuery } from '../../../sandbox/platform/explorer-query.ts';
import { createExplorerViews } from '../../../sandbox/platform/explorer-views.ts';
import { sourceAddress, type Workspace } from '../../../sandbox/platform/workspaces.ts';
import { HttpError } from '../../../sandbox/router.ts';
import type { Flavor } from '../../../sandbox/types.ts';
import { filled, object, type Rows, type Tables, time, wholeSeconds } from './values.ts';

const target = 'acme';

export function platformTables(state: PlatformContext, flavor: Flavor): Tables {
  const { workspaces, pools, agents, views } = state;
  return {
    workspaces: workspaces.map((workspace) => workspaceRow(workspace, state.organization, flavor)),
    tf_versions: usage(workspaces, ({ toolVersion }) => (toolVersion ? [{ version: toolVersion }] : []), flavor),
    providers: usage(workspaces, ({ stack }) => stack.providers.map(releaseOf), flavor),
    modules: usage(workspaces, ({ stack }) => stack.modules.map(releaseOf), flavor, true),
    saved_views: views.map((view) => viewRow(view, flavor)),
    saved_view_rows: views.flatMap((view) => resultRows(state, view, flavor)),
    saved_view_results: views.map((view) => resultRow(state, view, flavor)),
    agent_pools: pools.map((pool) => poolRow(pool, agents, flavor)),
    agent_pool_relationships: flavor === 'hashicorp' ? pools.map((pool) => organizationRow(pool, state)) : [],
    agent_pool_workspaces: pools.flatMap((pool) => [
      ...pool.attached.map((workspace_id) => relation(pool, workspace_id, 'attached')),
      ...pool.allowed.map((workspace_id) => relation(pool, workspace_id, 'allowed')),
    ]),
    agents: agents.map((agent) => agentRow(agent, flavor)),
  };
}

function workspaceRow(w: Workspace, organization: string, flavor: Flavor) {
  const live = {
    resource_count: w.rumCount === null ? null : String(w.rumCount),
    source_module_id: w.stack.modules.length > 2 ? `mod-${w.id.slice(3)}` : null,
  };
  return {
    target,
    all_checks_succeeded: w.checksFailed === 0 && w.checksErrored === 0 && w.checksUnknown === 0,
    current_rum_count: w.rumCount,
    checks_errored: w.checksErrored,
    checks_failed: w.checksFailed,
    checks_passed: w.checksPassed,
    checks_unknown: w.checksUnknown,
    current_run_applied_at: wholeSeconds(w.appliedAt),
    current_run_external_id: w.runId,
    current_run_status: w.runStatus,
    drifted: w.drifted,
    external_id: w.id,
    module_count: w.stack.modules.length,
    modules: w.stack.modulesText,
    organization_name: organization,
    project_external_id: w.project.id,
    project_name: w.project.name,
    provider_count: w.stack.providers.length,
    providers: w.stack.providersText,
    resources_drifted: w.resourcesDrifted,
    resources_undrifted: w.resourcesUndrifted,
    state_version_iac_version: w.stateVersion,
    vcs_repo_identifier: w.repository,
    workspace_created_at: wholeSeconds(w.createdAt),
    workspace_name: w.name,
    workspace_iac_version: w.toolVersion,
    workspace_updated_at: wholeSeconds(w.updatedAt),
    tags: flavor === 'spec' || w.repository === null ? null : `owner:${w.repository.slice(5)}, managed`,
    extra: flavor === 'spec' ? null : object(withoutNulls(live)),
  };
}

function withoutNulls(all: Readonly<Record<string, string | null>>): Record<string, string> {
  return Object.fromEntries(Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== null));
}

type Release = Readonly<Record<'name' | 'source' | 'version', string>> & { readonly registry: string };

function releaseOf({ product, version }: Workspace['stack']['providers'][number]): Release {
  return { name: product.name, source: sourceAddress(product), version, registry: product.registry };
}

type Used = Readonly<Record<string, string>>;

/** Who uses what, in the order of the workspaces. */
function usage(
  workspaces: readonly Workspace[],
  used: (workspace: Workspace) => readonly Used[],
  flavor: Flavor,
  isModule = false,
): Rows {
  const users = new Map<string, string[]>();
  for (const workspace of workspaces) {
    for (const thing of used(workspace)) {
      const key = JSON.stringify(thing);
      users.set(key, [...(users.get(key) ?? []), workspace.name]);
    }
  }
  return [...users].map(([key, names]) => {
    const { registry, ...columns } = JSON.parse(key) as Used;
    const registryType = registry === undefined ? {} : { registry_type: registry };
    const live = { curated: String(registry === 'public'), ...(!isModule && registryType) };
    return {
      target,
      ...columns,
      ...(isModule && registryType),
      workspace_count: names.length,
      workspaces: names.join(', '),
      ordinal: null,
      extra: flavor === 'spec' ? null : registry === undefined ? identifier : live,
    };
  });
}

const identifier = { unique_identifier: expect.stringMatching(/^tfv-\w{16}$/u) };

function viewRow({ id, name, queryType, query, createdAt }: SavedViewRecord, flavor: Flavor) {
  const { filter, fields, sort } = query;
  const flat = { type: queryType, filter, ...(fields && { fields }), ...(sort && { sort }) };
  const nested = {
    type: queryType,
    filter: filter.map(({ field, operator, value }) => ({ [field.replaceAll('_', '-')]: { [operator]: value } })),
    ...(fields && { fields: { [queryType]: fields } }),
    ...(sort && { sort }),
  };
  return {
    target,
    view_id: id,
    name,
    query_type: queryType,
    query: flavor === 'spec' ? flat : nested,
    created_at: time(createdAt),
    extra: null,
  };
}

/** The sandbox answers the query; names and forms of what it answers are ours to expect. */
function ask(state: PlatformContext, view: SavedViewRecord, flavor: Flavor): ExplorerResult | HttpError {
  try {
    return runExplorerQuery(createExplorerViews(state, flavor), toExplorerQuery(view), flavor);
  } catch (error) {
    if (error instanceof HttpError) return error;
    throw error;
  }
}

function resultRows(state: PlatformContext, view: SavedViewRecord, flavor: Flavor): Rows {
  const answer = ask(state, view, flavor);
  if (answer instanceof HttpError) return [];
  const { rows, columns, view: explorer } = answer;
  return rows.map((row, index) => ({
    target,
    view_id: view.id,
    position: index + 1,
    row_id: explorer.rowId(row),
    ordinal: null,
    row_type: explorer.rowType,
    attributes: Object.fromEntries(
      columns.map((column) => {
        const value = column.value(row);
        const moment = column.type === 'datetime' && value !== null;
        return [column.name, moment ? new Date(Number(value)).toISOString().replace('Z', '+00:00') : value];
      }),
    ),
    extra: null,
  }));
}

/** Some views ask for a field that is gone: that is an answer about the view. */
function resultRow(state: PlatformContext, view: SavedViewRecord, flavor: Flavor) {
  const answer = ask(state, view, flavor);
  const refused = answer instanceof HttpError;
  return {
    target,
    view_id: view.id,
    status: refused ? 'failed' : 'ok',
    result_rows: refused ? null : answer.rows.length,
    error: refused ? expect.stringContaining(answer.message) : null,
    extra: null,
  };
}

const COUNTED = new Set(['idle', 'busy', 'unknown']);

function poolRow(pool: AgentPoolRecord, agents: readonly AgentRecord[], flavor: Flavor) {
  const { id, name, createdAt, organizationScoped, attached, allowed } = pool;
  const live = { organization: 1, ...Object.fromEntries(Object.keys(RELATED).map((name) => [name, 0])) };
  return {
    target,
    pool_id: id,
    name,
    created_at: time(createdAt),
    organization_scoped: organizationScoped,
    agent_count: agents.filter(({ poolId, status }) => poolId === id && COUNTED.has(status)).length,
    relationships: {
      agents: null,
      'authentication-tokens': null,
      workspaces: attached.length,
      'allowed-workspaces': allowed.length,
      ...(flavor === 'hashicorp' && live),
    },
    extra: null,
  };
}

function organizationRow({ id }: AgentPoolRecord, { organization }: PlatformContext) {
  const related = { relationship: 'organization', related_type: 'organizations', related_id: organization };
  return { target, pool_id: id, ...related, extra: null };
}

function relation(pool: AgentPoolRecord, workspace_id: string, kind: string) {
  return { target, pool_id: pool.id, workspace_id, relation: kind, extra: null };
}

function agentRow({ id, poolId, name, status, ipAddress, createdAt, lastPingAt }: AgentRecord, flavor: Flavor) {
  return {
    target,
    agent_id: id,
    pool_id: poolId,
    name: filled(name),
    status,
    ip_address: ipAddress,
    last_ping_at: time(lastPingAt),
    extra: flavor === 'spec' ? null : { 'created-at': new Date(createdAt).toISOString() },
  };
}
