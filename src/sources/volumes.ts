import type { OperationArgs } from '../services/operation.ts';
import { scheduler } from '../services/scheduler/operations.ts';
import { checkListAndRead } from './probe.ts';
import { listThenRead } from './shared/list-and-read.ts';
import { fetchVolumes, fetchVolumesOnce, type ListedVolume, parseListedVolume } from './shared/volumes.ts';
import { assertSubject, optionalString, type SourceDefinition } from './source.ts';

/** CSI volumes, and the allocations that claim them, which only reading a volume shows. */
export const volumes: SourceDefinition = {
  name: 'volumes',
  kind: 'scheduler',
  checkAccess: (service) =>
    checkListAndRead(service, scheduler.volumes.list, { type: 'csi' }, (item) => {
      const id = optionalString(item, 'ID');
      return id === undefined ? undefined : service.call(scheduler.volumes.read, readArgs(parseListedVolume(item, id)));
    }),
  async extract(run) {
    const { pages, volumes: listed } = await fetchVolumesOnce(run);
    for (const page of pages) await run.landing.writeJson({ kind: 'list' }, page);
    run.landing.expectRows(listed.length);
    const again = async () => (await fetchVolumes(run)).volumes;
    await listThenRead(run, listed, again, nameOf, async (volume) => {
      const answer = await run.client.call(scheduler.volumes.read, readArgs(volume), run.requestOptions);
      assertSubject(answer.json(), 'ID', volume.id, 'volumes');
      await run.landing.writeJson({ kind: 'read' }, answer.text);
    });
  },
};

/** `default` is what the service takes by itself; the documents know no such parameter of reading a volume. */
function readArgs({ id, namespace }: ListedVolume): OperationArgs<typeof scheduler.volumes.read> {
  return { volume_id: id, ...(namespace !== undefined && namespace !== 'default' && { namespace }) };
}

function nameOf({ id, namespace }: ListedVolume): string {
  return namespace ? `${namespace}/${id}` : id;
}
