import type { ArgsOf } from '../services/operation.ts';
import { scheduler } from '../services/scheduler.ts';
import { eachListed } from './listed.ts';
import { probeFirst } from './probe.ts';
import { requireAbout, type Source, text } from './source.ts';
import { askVolumes, type ListedVolume, sharedVolumes, volumeOf } from './volume-list.ts';

/** CSI volumes, and the allocations that claim them, which only reading a volume shows. */
export const volumes: Source = {
  name: 'volumes',
  kind: 'scheduler',
  probe: (service) =>
    probeFirst(service, scheduler.volumes.list, { type: 'csi' }, (item) => {
      const id = text(item, 'ID');
      return id === undefined ? undefined : service.call(scheduler.volumes.read, readArgs(volumeOf(item, id)));
    }),
  async extract(run) {
    const { pages, volumes: listed } = await sharedVolumes(run);
    for (const page of pages) await run.land.line({ kind: 'list' }, page);
    run.land.expect(listed.length);
    const again = async () => (await askVolumes(run)).volumes;
    await eachListed(run, listed, again, nameOf, async (volume) => {
      const answer = await run.service.call(scheduler.volumes.read, readArgs(volume), run.options);
      requireAbout(answer.json(), 'ID', volume.id, 'volumes');
      await run.land.line({ kind: 'read' }, answer.text);
    });
  },
};

/** `default` is what the service takes by itself; the documents know no such parameter of reading a volume. */
function readArgs({ id, namespace }: ListedVolume): ArgsOf<typeof scheduler.volumes.read> {
  return { volume_id: id, ...(namespace !== undefined && namespace !== 'default' && { namespace }) };
}

function nameOf({ id, namespace }: ListedVolume): string {
  return namespace ? `${namespace}/${id}` : id;
}
