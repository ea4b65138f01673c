import { scheduler } from '../services/scheduler.ts';
import { eachListed } from './listed.ts';
import { requireAbout, type Source } from './source.ts';
import { askVolumes, type ListedVolume, sharedVolumes } from './volume-list.ts';

/** CSI volumes, and the allocations that claim them, which only reading a volume shows. */
export const volumes: Source = {
  name: 'volumes',
  kind: 'scheduler',
  probe: (service) => service.call(scheduler.volumes.list, { type: 'csi' }),
  async extract(run) {
    const { pages, volumes: listed } = await sharedVolumes(run);
    for (const page of pages) await run.land.line({ kind: 'list' }, page);
    run.land.expect(listed.length);
    const again = async () => (await askVolumes(run)).volumes;
    await eachListed(run, listed, again, nameOf, async ({ id, namespace }) => {
      const args = { volume_id: id, ...(namespace && { namespace }) };
      const answer = await run.service.call(scheduler.volumes.read, args, run.options);
      requireAbout(answer.json(), 'ID', id, 'volumes');
      await run.land.line({ kind: 'read' }, answer.text);
    });
  },
};

function nameOf({ id, namespace }: ListedVolume): string {
  return namespace ? `${namespace}/${id}` : id;
}
