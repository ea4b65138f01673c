import { platform } from '../services/platform.ts';
import { eachListed } from './listed.ts';
import { readPages } from './pages.ts';
import { askPools, PAGE_SIZE } from './pools.ts';
import { probeFirst } from './probe.ts';
import { type Extraction, type Source, text } from './source.ts';

/** The agents of every pool. */
export const agents: Source = {
  name: 'agents',
  kind: 'platform',
  probe: (service) =>
    probeFirst(service, platform['agent-pools'].list, { 'page[size]': 1 }, (pool) => {
      const id = text(pool, 'id');
      return id === undefined ? undefined : service.call(platform.agents.list, { agent_pool_id: id, 'page[size]': 1 });
    }),
  async extract(run) {
    const listed = poolIds(await run.shared('agent pools', () => askPools(run)));
    const again = async () => poolIds(await askPools(run));
    await eachListed(run, listed, again, String, (pool) => landAgents(run, pool));
  },
};

function poolIds(pages: readonly { readonly items: readonly unknown[] }[]): readonly string[] {
  return pages.flatMap(({ items }) => items.flatMap((item) => text(item, 'id') ?? []));
}

async function landAgents(run: Extraction, pool: string): Promise<void> {
  const pages = await readPages(run, platform.agents.list, { agent_pool_id: pool, 'page[size]': PAGE_SIZE });
  for (const page of pages) {
    await run.land.line({ pool_id: pool }, page.text);
    run.land.expect(page.items.length);
  }
}
