import { platform } from '../../services/platform/operations.ts';
import { checkFirst, listThenRead } from './shared/list-and-read.ts';
import { fetchPages, fetchPools, PAGE_SIZE, type SnapshotPage } from './shared/snapshot-pages.ts';
import { type ExtractContext, optionalString, type SourceDefinition } from './source.ts';

/** The agents of every pool. */
export const agents: SourceDefinition = {
  name: 'agents',
  kind: 'platform',
  operations: [platform['agent-pools'].list, platform.agents.list],
  async extract(context) {
    await listThenRead(context, {
      items: poolIds(await context.once('agent pools', () => fetchPools(context))),
      relist: async () => poolIds(await fetchPools(context)),
      read: (pool) => extractPool(context, pool),
    });
  },
  checkAccess: checkFirst(platform['agent-pools'].list, { 'page[size]': 1 }, platform.agents.list, (pool) => {
    const agentPoolId = optionalString(pool, 'id');
    return agentPoolId === undefined ? undefined : { agent_pool_id: agentPoolId, 'page[size]': 1 };
  }),
};

function poolIds(pages: readonly SnapshotPage[]): readonly string[] {
  return pages.flatMap(({ items }) => items.flatMap((item) => optionalString(item, 'id') ?? []));
}

async function extractPool(context: ExtractContext, pool: string): Promise<void> {
  const pages = await fetchPages(context, platform.agents.list, { agent_pool_id: pool, 'page[size]': PAGE_SIZE });
  for (const page of pages) {
    await context.landing.writeJson({ pool_id: pool }, page.text);
    context.landing.expectRows(page.items.length);
  }
}
