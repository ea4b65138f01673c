import type { OperationArgs } from '../services/operation.ts';
import { scheduler } from '../services/scheduler/operations.ts';
import { checkListAndRead, listThenRead } from './shared/list-and-read.ts';
import { fetchVolumes, fetchVolumesOnce, type ListedVolume, parseListedVolume } from './shared/plugins.ts';
import { assertSubject, optionalString, type SourceDefinition } from './source.ts';

/** CSI volumes and the allocations that claim them. The claims are returned only by reading each volume. */
export const volumes: SourceDefinition = {
  name: 'volumes',
  kind: 'scheduler',
  operations: [scheduler.volumes.list, scheduler.volumes.read],
  async extract(context) {
    const { client, landing } = context;
    const list = await fetchVolumesOnce(context);
    for (const page of list.pages) await landing.writeJson({ kind: 'list' }, page);
    landing.expectRows(list.volumes.length);
    await listThenRead(context, {
      items: list.volumes,
      relist: async () => (await fetchVolumes(context)).volumes,
      toName: ({ id, namespace }) => (namespace ? `${namespace}/${id}` : id),
      // The right to list volumes in all namespaces does not include the right to read them.
      describe: ({ id, namespace }) => `volume ${id} in namespace ${namespace ?? 'default'}`,
      read: async (volume) => {
        const response = await client.call(scheduler.volumes.read, readArgs(volume));
        assertSubject(response.json(), 'ID', volume.id, 'volumes');
        await landing.writeJson({ kind: 'read' }, response.text);
      },
    });
  },
  checkAccess: (client) =>
    checkListAndRead(client, scheduler.volumes.list, { type: 'csi' }, (item) => {
      const id = optionalString(item, 'ID');
      return id === undefined ? undefined : client.call(scheduler.volumes.read, readArgs(parseListedVolume(item, id)));
    }),
};

/** The API documents have no parameter `namespace`, so it is sent only for a namespace other than `default`. */
function readArgs({ id, namespace }: ListedVolume): OperationArgs<typeof scheduler.volumes.read> {
  return { volume_id: id, ...(namespace !== undefined && namespace !== 'default' && { namespace }) };
}
