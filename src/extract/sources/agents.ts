import { platform } from '../../services/platform/operations.ts';
import { checkFirst, leavePart, listThenRead } from './shared/list-and-read.ts';
import { fetchPages, listKeys, PAGE_SIZE, type SnapshotPage } from './shared/snapshot-pages.ts';
import type { ExtractContext, SourceDefinition } from './source.ts';

const { 'agent-pools': pools, agents: poolAgents } = platform;

/** Agent pools, with the workspaces that are attached to them or allowed to use them. */
export const agentPools: SourceDefinition = {
  name: 'agent_pools',
  kind: 'platform',
  operations: [pools.list],
  extract: async (context) => landPages(context, {}, await context.once('agent pools', () => fetchPools(context))),
  checkAccess: (client) => client.call(pools.list, { 'page[size]': 1 }),
};

export const agents: SourceDefinition = {
  name: 'agents',
  kind: 'platform',
  operations: [pools.list, poolAgents.list],
  async extract(context) {
    await listThenRead(context, {
      items: listKeys(await context.once('agent pools', () => fetchPools(context))),
      relist: async () => listKeys(await fetchPools(context)),
      toPart: ({ key: value }) => ({ column: 'pool_id', value }),
      read: async ({ key }) => {
        const args = { agent_pool_id: key, 'page[size]': PAGE_SIZE };
        await landPages(context, { pool_id: key }, await fetchPages(context, poolAgents.list, args));
      },
      onGone: leavePart(context, 'pool_id'),
    });
  },
  checkAccess: checkFirst(pools.list, poolAgents.list, 'agent_pool_id'),
};

function fetchPools(context: ExtractContext): Promise<readonly SnapshotPage[]> {
  return fetchPages(context, pools.list, { 'page[size]': PAGE_SIZE });
}

async function landPages(
  { landing }: ExtractContext,
  fields: Readonly<Record<string, string>>,
  pages: readonly SnapshotPage[],
): Promise<void> {
  for (const { text, items } of pages) {
    await landing.writeJson(fields, text);
    landing.expectRows(items.length);
  }
}
