import type { Request, Resource, Response, Route } from '../types.ts';
import type { Allocations } from './allocations.ts';
import type { SchedulerContext } from './context.ts';
import { type ExternalVolumeRecord, type Plugins, providerNodeId, type StoragePlugin } from './plugins.ts';
import { checkBlockingQuery, paginate } from './requests.ts';
import type { Volumes } from './volumes.ts';

/** docs/services/scheduler.md#external-volumes. */
export class ExternalVolumes implements Resource {
  readonly #context: SchedulerContext;
  readonly #plugins: Plugins;
  readonly #allocations: Allocations;
  readonly #volumes: Volumes;

  constructor(context: SchedulerContext, plugins: Plugins, allocations: Allocations, volumes: Volumes) {
    this.#context = context;
    this.#plugins = plugins;
    this.#allocations = allocations;
    this.#volumes = volumes;
  }

  get routes(): readonly Route[] {
    return [{ method: 'GET', path: '/volumes/external', handle: (request) => this.#list(request) }];
  }

  #list(request: Request): Response {
    checkBlockingQuery(request);
    const plugins = this.#plugins.selectOrAll(request, 'LIST_VOLUMES');
    const held = plugins.flatMap((plugin) =>
      [...plugin.externals.values()].map((external) => ({ ...external, plugin })),
    );
    const page = paginate(request, this.#context.flavor, held);
    return this.#context.pluginList({
      // One driver honours the size of a page and never names a next one.
      NextToken: plugins.some(({ hidesPages }) => hidesPages) ? '' : page.nextToken,
      Volumes: page.items.map((external) => this.#object(external.plugin, external)),
    });
  }

  #object(plugin: StoragePlugin, external: ExternalVolumeRecord) {
    return {
      ExternalID: external.id,
      CapacityBytes: external.capacityBytes,
      SnapshotID: external.snapshotId,
      PublishedExternalNodeIDs: this.#publishedNodes(plugin, external),
      IsAbnormal: external.abnormal,
      Status: external.status,
      ...(this.#context.flavor === 'hashicorp' ? { CloneID: '', VolumeContext: null } : {}),
    };
  }

  /** The nodes of running allocations that claim the volume. */
  #publishedNodes(plugin: StoragePlugin, external: ExternalVolumeRecord): string[] {
    const nodes = this.#volumes
      .findByExternal(plugin.id, external.id)
      .flatMap(({ claims }) => claims)
      .filter(({ allocationId }) => this.#allocations.isRunning(allocationId))
      .map(({ allocationId }) => providerNodeId(this.#allocations.records.get(allocationId)!.nodeId));
    // A driver without a node says so with one empty ID.
    if (nodes.length === 0 && this.#context.flavor === 'hashicorp') return [''];
    return [...new Set(nodes)];
  }
}
