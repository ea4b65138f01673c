import { ServiceError } from '../http/service-error.ts';
import type { Operation } from '../services/operation.ts';
import { scheduler } from '../services/scheduler.ts';
import { gone } from './agents.ts';
import { type Extraction, type Source, text } from './source.ts';

/** Items a page where the document requires a number (scheduler-autoscaler-mesh.md, "Volumes", rule 2). */
const PER_PAGE = 100;

/** ACL policies with their rules, which only reading one shows. */
export const aclPolicies: Source = {
  name: 'acl_policies',
  kind: 'scheduler',
  async extract(run) {
    const names: string[] = [];
    for await (const page of run.service.pages(scheduler.policies.list, {}, run.options)) {
      names.push(...page.items.flatMap((item) => text(item, 'Name') ?? []));
    }
    await run.each(names, async (name) => {
      const [answer] = await run.service
        .call(scheduler.policies.read, { policy_name: name }, run.options)
        .then((found) => [found], gone);
      if (!answer) return;
      await run.land.line({ name }, answer.text);
      run.land.expect(1);
    });
  },
};

interface ListedVolume {
  readonly id: string;
  readonly namespace: string | undefined;
  readonly plugin: string | undefined;
}

interface VolumeList {
  readonly pages: readonly string[];
  readonly volumes: readonly ListedVolume[];
}

function volumeList(run: Extraction): Promise<VolumeList> {
  return run.shared('volumes', async () => {
    const pages: string[] = [];
    const volumes: ListedVolume[] = [];
    for await (const page of run.service.pages(scheduler.volumes.list, { type: 'csi' }, run.options)) {
      pages.push(page.text);
      for (const item of page.items) {
        volumes.push({
          id: text(item, 'ID') ?? '',
          namespace: text(item, 'Namespace'),
          plugin: text(item, 'PluginID'),
        });
      }
    }
    return { pages, volumes };
  });
}

/** CSI volumes, and the allocations that claim them, which only reading a volume shows. */
export const volumes: Source = {
  name: 'volumes',
  kind: 'scheduler',
  async extract(run) {
    const { pages, volumes: listedVolumes } = await volumeList(run);
    for (const page of pages) await run.land.line({ kind: 'list' }, page);
    run.land.expect(listedVolumes.length);
    await run.each(listedVolumes, async ({ id, namespace }) => {
      const args = { volume_id: id, ...(namespace && { namespace }) };
      const [answer] = await run.service.call(scheduler.volumes.read, args, run.options).then((found) => [found], gone);
      if (answer) await run.land.line({ kind: 'read' }, answer.text);
    });
  },
};

/**
 * Lands every page of a listing that the storage plugins answer, plugin by plugin, for each plugin that a volume names. A
 * plugin that cannot list at all is an answer about the plugin: what it holds is then unknown, and kept as such.
 */
async function landByPlugin(run: Extraction, operation: Operation): Promise<void> {
  const { volumes: listedVolumes } = await volumeList(run);
  const plugins = [...new Set(listedVolumes.flatMap(({ plugin }) => plugin ?? []))].sort();
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

/** The words of a plugin without the capability (scheduler-autoscaler-mesh.md, "Volumes", rule 3; live-services.md C1). */
function cannotList(error: unknown): error is ServiceError {
  return error instanceof ServiceError && /not support|unsupported|unimplemented/iu.test(error.words);
}

export const externalVolumes: Source = {
  name: 'external_volumes',
  kind: 'scheduler',
  extract: (run) => landByPlugin(run, scheduler['external-volumes'].list),
};

export const volumeSnapshots: Source = {
  name: 'volume_snapshots',
  kind: 'scheduler',
  extract: (run) => landByPlugin(run, scheduler.snapshots.list),
};
