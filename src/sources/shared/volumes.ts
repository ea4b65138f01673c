import { scheduler } from '../../services/scheduler/operations.ts';
import { type ExtractContext, optionalString, requiredString } from '../source.ts';

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
