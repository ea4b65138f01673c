import { ServiceError } from '../../http/errors.ts';
import type { ServiceClient } from '../../services/client.ts';
import type { Operation } from '../../services/operation.ts';
import type { ServiceResponse } from '../../services/response.ts';
import { scheduler } from '../../services/scheduler/operations.ts';
import { type ExtractContext, optionalString, requiredString } from '../source.ts';
import { checkListAndRead } from './list-and-read.ts';

export interface ListedVolume {
  readonly id: string;
  readonly namespace: string | undefined;
  readonly plugin: string | undefined;
}

interface VolumeList {
  /** JSON texts of the pages. */
  readonly pages: readonly string[];
  readonly volumes: readonly ListedVolume[];
}

export async function fetchVolumes({ client }: ExtractContext): Promise<VolumeList> {
  const pages: string[] = [];
  const volumes: ListedVolume[] = [];
  for await (const page of client.pages(scheduler.volumes.list, { type: 'csi' })) {
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

/** The list of volumes, which three sources need. */
export function fetchVolumesOnce(context: ExtractContext): Promise<VolumeList> {
  return context.once('volumes', () => fetchVolumes(context));
}

/**
 * Lists what each storage plugin has, for every plugin of a volume, and writes the pages. When a plugin cannot list, or no longer
 * runs, its error is written: what it has is then unknown.
 */
export async function extractByPlugin(context: ExtractContext, operation: Operation): Promise<void> {
  const { client, landing } = context;
  const { volumes } = await fetchVolumesOnce(context);
  const plugins = [...new Set(volumes.flatMap(({ plugin }) => plugin ?? []))].sort();
  await context.forEachLimited(plugins, async (plugin) => {
    const pages: string[] = [];
    try {
      for await (const page of client.pages(operation, { plugin_id: plugin })) pages.push(page.text);
    } catch (error) {
      if (!isUnsupported(error)) throw error;
      await landing.writeJson({ plugin_id: plugin, error: error.serviceMessage });
      return;
    }
    for (const page of pages) await landing.writeJson({ plugin_id: plugin }, page);
  });
}

/** Lists volumes, then what the plugin of the first one has. */
export function checkPluginAccess(client: ServiceClient, operation: Operation): Promise<ServiceResponse> {
  return checkListAndRead(client, scheduler.volumes.list, { type: 'csi' }, async (volume) => {
    const pluginId = optionalString(volume, 'PluginID');
    if (pluginId === undefined) return undefined;
    try {
      return await client.call(operation, { plugin_id: pluginId, per_page: 1 });
    } catch (error) {
      if (!isUnsupported(error)) throw error;
      return undefined;
    }
  });
}

/** Whether the plugin cannot list, or does not exist: docs/services/scheduler.md#external-volumes. */
function isUnsupported(error: unknown): error is ServiceError {
  if (!(error instanceof ServiceError) || error.failure === 'forbidden' || error.failure === 'unauthorized')
    return false;
  return /no such plugin|not (?:support|implement)|unsupported|unimplemented|\bLIST_(?:VOLUMES|SNAPSHOTS)\b/iu.test(
    error.serviceMessage,
  );
}
