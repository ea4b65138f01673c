import { createHash } from 'node:crypto';
import { HttpError } from '../responses.ts';
import type { Request, Resource, Response, Route } from '../types.ts';
import type { SchedulerAccess } from './access.ts';
import type { SchedulerContext } from './context.ts';
import type { Plugins, StoragePlugin } from './plugins.ts';
import type { Volumes } from './volumes.ts';

/** What a client asks about the cluster beside its objects, with the flavor of the real products: plugins and namespaces. */
export class Cluster implements Resource {
  readonly #context: SchedulerContext;
  readonly #plugins: Plugins;
  readonly #volumes: Volumes;
  readonly #access: SchedulerAccess;

  constructor(context: SchedulerContext, plugins: Plugins, volumes: Volumes, access: SchedulerAccess) {
    this.#context = context;
    this.#plugins = plugins;
    this.#volumes = volumes;
    this.#access = access;
  }

  get routes(): readonly Route[] {
    if (this.#context.flavor === 'spec') return [];
    return [
      { method: 'GET', path: '/plugins', handle: (request) => this.#listPlugins(request) },
      { method: 'GET', path: '/plugin/csi/:plugin_id', handle: (request) => this.#readPlugin(request) },
      { method: 'GET', path: '/namespaces', handle: (request) => this.#listNamespaces(request) },
    ];
  }

  #listPlugins({ query }: Request): Response {
    const type = query.get('type') ?? '';
    if (type !== '' && type !== 'csi') throw new HttpError(404, 'resource not found');
    const prefix = query.get('prefix') ?? '';
    const found = [...this.#plugins.records.values()].filter(({ id }) => id.startsWith(prefix));
    return this.#context.json(found.map((plugin) => this.#stub(plugin)));
  }

  #readPlugin({ params }: Request): Response {
    const plugin = this.#plugins.records.get(params.plugin_id!);
    if (!plugin) throw new HttpError(404, 'plugin not found');
    return this.#context.json({
      ...this.#stub(plugin),
      Version: plugin.version,
      Controllers: {},
      Nodes: {},
      Allocations: [],
    });
  }

  #stub({ id, provider, capabilities }: StoragePlugin) {
    const isControllerRequired = capabilities.length > 0;
    const nodes = this.#context.nodes.length;
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
  #listNamespaces(request: Request): Response {
    const acl = this.#access.aclFor(request);
    const names = new Set(['default', ...[...this.#volumes.records.values()].map(({ namespace }) => namespace)]);
    const seen = [...names].sort().filter((name) => acl === undefined || acl.seesNamespace(name));
    return this.#context.json(seen.map((name, index) => namespaceObject(name, index + 1)));
  }
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
