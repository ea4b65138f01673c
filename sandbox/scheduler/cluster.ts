import { createHash } from 'node:crypto';
import { HttpError } from '../responses.ts';
import type { Request, Response, RouteTable } from '../types.ts';
import { findAcl } from './access.ts';
import type { SchedulerContext } from './context.ts';
import type { StoragePlugin } from './records.ts';

/** Its support ended on 2026-04-21. */
export const NOMAD_VERSION = '1.9.7';

/** What a client asks about the cluster beside its objects, with the flavor of the real products: plugins and namespaces. */
export const clusterRoutes: RouteTable<SchedulerContext> = {
  'GET /plugins': { right: 'list-plugins', handle: listPlugins },
  'GET /plugin/csi/:plugin_id': { right: 'read-plugin', handle: readPlugin },
  'GET /agent/self': { right: 'read-agent', handle: showAgent },
  'GET /namespaces': { right: 'any', handle: listNamespaces },
};

function showAgent(_request: Request, context: SchedulerContext): Response {
  const version = { Revision: '', Version: NOMAD_VERSION, VersionPrerelease: '', VersionMetadata: '' };
  const config = { Region: 'global', Datacenter: 'dc1', Version: version };
  const member = { Name: 'server-1.global', Tags: { region: 'global', build: NOMAD_VERSION }, Status: 'alive' };
  return context.json({ config, member, stats: {} });
}

function listPlugins({ query }: Request, context: SchedulerContext): Response {
  const type = query.get('type') ?? '';
  if (type !== '' && type !== 'csi') throw new HttpError(404, 'resource not found');
  const prefix = query.get('prefix') ?? '';
  const found = [...context.plugins.values()].filter(({ id }) => id.startsWith(prefix));
  return context.json(found.map((plugin) => pluginStub(context, plugin)));
}

function readPlugin({ params }: Request, context: SchedulerContext): Response {
  const plugin = context.plugins.get(params.plugin_id!);
  if (!plugin) throw new HttpError(404, 'plugin not found');
  return context.json({
    ...pluginStub(context, plugin),
    Version: plugin.version,
    Controllers: {},
    Nodes: {},
    Allocations: [],
  });
}

function pluginStub(context: SchedulerContext, { id, provider, capabilities }: StoragePlugin) {
  const isControllerRequired = capabilities.length > 0;
  const nodes = context.nodes.length;
  return {
    ControllerRequired: isControllerRequired,
    ControllersExpected: isControllerRequired ? 2 : 0,
    ControllersHealthy: isControllerRequired ? 2 : 0,
    CreateIndex: 12,
    ID: id,
    ModifyIndex: 20,
    NodesExpected: nodes,
    NodesHealthy: nodes,
    Provider: provider,
  };
}

/** Only the namespaces in which the token may do something. */
function listNamespaces(request: Request, context: SchedulerContext): Response {
  const acl = findAcl(context, request);
  const names = new Set(['default', ...[...context.volumes.values()].map(({ namespace }) => namespace)]);
  const seen = [...names].sort().filter((name) => acl === undefined || acl.seesNamespace(name));
  return context.json(seen.map((name, index) => namespaceObject(name, index + 1)));
}

function namespaceObject(name: string, index: number) {
  return {
    Capabilities: null,
    ConsulConfiguration: null,
    CreateIndex: index,
    Description: name === 'default' ? 'Default shared namespace' : '',
    Hash: createHash('sha256').update(name).digest('base64'),
    Meta: null,
    ModifyIndex: index,
    Name: name,
    NodePoolConfiguration: null,
    OptionalExtraClaims: null,
    Quota: '',
    RequiredExtraClaims: null,
    VaultConfiguration: null,
  };
}
