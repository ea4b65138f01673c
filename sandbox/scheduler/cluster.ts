import { createHash } from 'node:crypto';
import { HttpError } from '../responses.ts';
import type { Request, Resource, Response, Route } from '../types.ts';
import type { SchedulerAccess } from './access.ts';
import type { StoragePlugin } from './plugins.ts';
import type { SchedulerRecords } from './seed.ts';

/** Its support ended on 2026-04-21. */
export const NOMAD_VERSION = '1.9.7';

/** What a client asks about the cluster beside its objects, with the flavor of the real products: plugins and namespaces. */
export class Cluster implements Resource {
  readonly #records: SchedulerRecords;
  readonly #access: SchedulerAccess;

  constructor(records: SchedulerRecords, access: SchedulerAccess) {
    this.#records = records;
    this.#access = access;
  }

  get routes(): readonly Route[] {
    if (this.#records.context.flavor === 'spec') return [];
    return [
      { method: 'GET', path: '/plugins', right: 'list-plugins', handle: (request) => this.#listPlugins(request) },
      {
        method: 'GET',
        path: '/plugin/csi/:plugin_id',
        right: 'read-plugin',
        handle: (request) => this.#readPlugin(request),
      },
      { method: 'GET', path: '/agent/self', right: 'read-agent', handle: () => this.#self() },
      { method: 'GET', path: '/namespaces', right: 'any', handle: (request) => this.#listNamespaces(request) },
    ];
  }

  #self(): Response {
    const version = { Revision: '', Version: NOMAD_VERSION, VersionPrerelease: '', VersionMetadata: '' };
    const config = { Region: 'global', Datacenter: 'dc1', Version: version };
    const member = { Name: 'server-1.global', Tags: { region: 'global', build: NOMAD_VERSION }, Status: 'alive' };
    return this.#records.context.json({ config, member, stats: {} });
  }

  #listPlugins({ query }: Request): Response {
    const type = query.get('type') ?? '';
    if (type !== '' && type !== 'csi') throw new HttpError(404, 'resource not found');
    const prefix = query.get('prefix') ?? '';
    const found = [...this.#records.plugins.records.values()].filter(({ id }) => id.startsWith(prefix));
    return this.#records.context.json(found.map((plugin) => this.#stub(plugin)));
  }

  #readPlugin({ params }: Request): Response {
    const plugin = this.#records.plugins.records.get(params.plugin_id!);
    if (!plugin) throw new HttpError(404, 'plugin not found');
    return this.#records.context.json({
      ...this.#stub(plugin),
      Version: plugin.version,
      Controllers: {},
      Nodes: {},
      Allocations: [],
    });
  }

  #stub({ id, provider, capabilities }: StoragePlugin) {
    const isControllerRequired = capabilities.length > 0;
    const nodes = this.#records.context.nodes.length;
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
    const names = new Set([
      'default',
      ...[...this.#records.volumes.records.values()].map(({ namespace }) => namespace),
    ]);
    const seen = [...names].sort().filter((name) => acl === undefined || acl.seesNamespace(name));
    return this.#records.context.json(seen.map((name, index) => namespaceObject(name, index + 1)));
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
