import { ServiceError } from '../http/service-error.ts';
import type { Answer } from '../services/answer.ts';
import type { Service } from '../services/connect.ts';
import type { Operation } from '../services/operation.ts';
import { scheduler } from '../services/scheduler.ts';
import { probeFirst } from './probe.ts';
import { type Extraction, nameIn, text } from './source.ts';

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

export async function askVolumes(run: Extraction): Promise<VolumeList> {
  const pages: string[] = [];
  const volumes: ListedVolume[] = [];
  for await (const page of run.service.pages(scheduler.volumes.list, { type: 'csi' }, run.options)) {
    pages.push(page.text);
    for (const item of page.items) {
      volumes.push(volumeOf(item, nameIn(item, 'ID', 'volumes', volumes.length)));
    }
  }
  return { pages, volumes };
}

export function volumeOf(item: unknown, id: string): ListedVolume {
  return { id, namespace: text(item, 'Namespace'), plugin: text(item, 'PluginID') };
}

/** Three sources start from the list of volumes: it is asked for once. */
export function sharedVolumes(run: Extraction): Promise<VolumeList> {
  return run.shared('volumes', () => askVolumes(run));
}

/** Items a page where the document requires a number (scheduler-autoscaler-mesh.md, "Volumes", rule 2). */
const PER_PAGE = 100;

/**
 * Lands every page of a listing that the storage plugins answer, plugin by plugin, for each plugin that a volume names. A
 * plugin that cannot list at all, or runs nowhere any more, is an answer about the plugin: what it holds is then unknown, and
 * kept as such.
 */
export async function landByPlugin(run: Extraction, operation: Operation): Promise<void> {
  const { volumes } = await sharedVolumes(run);
  const plugins = [...new Set(volumes.flatMap(({ plugin }) => plugin ?? []))].sort();
  await run.each(plugins, async (plugin) => {
    const pages: string[] = [];
    try {
      const args = { plugin_id: plugin, per_page: PER_PAGE };
      for await (const page of run.service.pages(operation, args, run.options)) pages.push(page.text);
    } catch (error) {
      if (!cannotList(error)) throw error;
      await run.land.line({ plugin_id: plugin, error: error.words });
      return;
    }
    for (const page of pages) await run.land.line({ plugin_id: plugin }, page);
  });
}

/** Whether a listing of storage plugins is permitted: asked of the first plugin that a volume names. */
export function probePlugins(service: Service, operation: Operation): Promise<Answer> {
  return probeFirst(service, scheduler.volumes.list, { type: 'csi' }, async (volume) => {
    const plugin_id = text(volume, 'PluginID');
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
    error.words,
  );
}
