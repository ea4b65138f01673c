import { platform } from '../services/platform/operations.ts';
import { fetchPools, PAGE_SIZE } from './pools.ts';
import { checkListAndRead } from './probe.ts';
import { listThenRead } from './shared/list-and-read.ts';
import { fetchPages } from './shared/snapshot-pages.ts';
import { type ExtractContext, optionalString, type SourceDefinition } from './source.ts';

/** The agents of every pool. */
export const agents: SourceDefinition = {
  name: 'agents',
  kind: 'platform',
  checkAccess: (service) =>
    checkListAndRead(service, platform['agent-pools'].list, { 'page[size]': 1 }, (pool) => {
      const id = optionalString(pool, 'id');
      return id === undefined ? undefined : service.call(platform.agents.list, { agent_pool_id: id, 'page[size]': 1 });
    }),
  async extract(run) {
    const listed = poolIds(await run.once('agent pools', () => fetchPools(run)));
    const again = async () => poolIds(await fetchPools(run));
    await listThenRead(run, listed, again, String, (pool) => landAgents(run, pool));
  },
};

function poolIds(pages: readonly { readonly items: readonly unknown[] }[]): readonly string[] {
  return pages.flatMap(({ items }) => items.flatMap((item) => optionalString(item, 'id') ?? []));
}

async function landAgents(run: ExtractContext, pool: string): Promise<void> {
  const pages = await fetchPages(run, platform.agents.list, { agent_pool_id: pool, 'page[size]': PAGE_SIZE });
  for (const page of pages) {
    await run.landing.writeJson({ pool_id: pool }, page.text);
    run.landing.expectRows(page.items.length);
  }
}
