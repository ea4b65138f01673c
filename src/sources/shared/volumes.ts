import { ServiceError } from '../../http/errors.ts';
import type { ServiceClient } from '../../services/client.ts';
import type { Operation } from '../../services/operation.ts';
import type { ServiceResponse } from '../../services/response.ts';
import { scheduler } from '../../services/scheduler/operations.ts';
import { checkListAndRead } from '../probe.ts';
import { type ExtractContext, optionalString, requiredString } from '../source.ts';

export interface ListedVolume {
  readonly id: string;
  readonly namespace: string | undefined;
  readonly plugin: string | undefined;
}

export interface VolumeList {
  /** Pages as they came. */
  readonly pages: readonly string[];
  readonly volumes: readonly ListedVolume[];
}

export async function fetchVolumes(run: ExtractContext): Promise<VolumeList> {
  const pages: string[] = [];
  const volumes: ListedVolume[] = [];
  for await (const page of run.client.pages(scheduler.volumes.list, { type: 'csi' }, run.requestOptions)) {
    pages.push(page.text);
    for (const item of page.items) {
      volumes.push(parseListedVolume(item, requiredString(item, 'ID', 'volumes', volumes.length)));
    }
  }
  return { pages, volumes };
}

export function parseListedVolume(item: unknown, id: string): ListedVolume {
  return { id, namespace: optionalString(item, 'Namespace'), plugin: optionalString(item, 'PluginID') };
}

/** Three sources start from the list of volumes: it is asked for once. */
export function fetchVolumesOnce(run: ExtractContext): Promise<VolumeList> {
  return run.once('volumes', () => fetchVolumes(run));
}

/** Items a page where the document requires a number (scheduler-autoscaler-mesh.md, "Volumes", rule 2). */
const PER_PAGE = 100;

/**
 * Lands every page of a listing that the storage plugins answer, plugin by plugin, for each plugin that a volume names. A
 * plugin that cannot list at all, or runs nowhere any more, is an answer about the plugin: what it holds is then unknown, and
 * kept as such.
 */
export async function extractByPlugin(run: ExtractContext, operation: Operation): Promise<void> {
  const { volumes } = await fetchVolumesOnce(run);
  const plugins = [...new Set(volumes.flatMap(({ plugin }) => plugin ?? []))].sort();
  await run.forEachLimited(plugins, async (plugin) => {
    const pages: string[] = [];
    try {
      const args = { plugin_id: plugin, per_page: PER_PAGE };
      for await (const page of run.client.pages(operation, args, run.requestOptions)) pages.push(page.text);
    } catch (error) {
      if (!cannotList(error)) throw error;
      await run.landing.writeJson({ plugin_id: plugin, error: error.serviceMessage });
      return;
    }
    for (const page of pages) await run.landing.writeJson({ plugin_id: plugin }, page);
  });
}

/** Whether a listing of storage plugins is permitted: asked of the first plugin that a volume names. */
export function checkPluginAccess(service: ServiceClient, operation: Operation): Promise<ServiceResponse> {
  return checkListAndRead(service, scheduler.volumes.list, { type: 'csi' }, async (volume) => {
    const plugin_id = optionalString(volume, 'PluginID');
    if (plugin_id === undefined) return undefined;
    try {
      return await service.call(operation, { plugin_id, per_page: 1 });
    } catch (error) {
      if (!cannotList(error)) throw error;
      return undefined;
    }
  });
}

/** The words of a plugin without the capability, or that is gone (scheduler-autoscaler-mesh.md, "Volumes", rule 3; live-services.md C1). */
function cannotList(error: unknown): error is ServiceError {
  if (!(error instanceof ServiceError) || error.failure === 'forbidden' || error.failure === 'unauthorized')
    return false;
  return /no such plugin|not (?:support|implement)|unsupported|unimplemented|\bLIST_(?:VOLUMES|SNAPSHOTS)\b/iu.test(
    error.serviceMessage,
  );
}
