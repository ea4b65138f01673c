import { booleanAt, listAt, numberAt, textAt } from '../../core/json-path.ts';
import { plural } from '../../core/plural.ts';
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
  async extract(context) {
    const pages = await context.once('agent pools', () => fetchPools(context));
    for (const pool of pages.flatMap(({ items }) => items)) landUnlisted(context, pool);
    await landPages(context, {}, pages);
  },
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
      read: async ({ key, item }) => {
        const pages = await fetchPages(context, poolAgents.list, { agent_pool_id: key, 'page[size]': PAGE_SIZE });
        const count = numberAt(item, 'attributes', 'agent-count') ?? 0;
        if (count <= 0 || pages.some(({ items }) => items.length > 0))
          return landPages(context, { pool_id: key }, pages);
        const reason = `the service counts ${plural(count, 'agent')} and lists none`;
        context.landing.addUnknown({ column: 'pool_id', value: key, reason });
      },
      onGone: leavePart(context, 'pool_id'),
    });
  },
  checkAccess: checkFirst(pools.list, poolAgents.list, 'agent_pool_id'),
};

/** The workspaces that a pool does not list are unknown, and not gone. Pools of early products had no scope, and no `allowed-workspaces`. */
function landUnlisted({ landing }: ExtractContext, pool: unknown): void {
  const isScoped = booleanAt(pool, 'attributes', 'organization-scoped') === false;
  const names = ['workspaces', ...(isScoped ? ['allowed-workspaces'] : [])];
  const isListed = (name: string) =>
    listAt(pool, 'relationships', name, 'data')?.every((one) => textAt(one, 'id') !== null) === true;
  const missing = names.filter((name) => !isListed(name));
  if (missing.length === 0) return;
  const reason = `the service does not list its ${missing.join(' and ')} with their IDs`;
  landing.addUnknown({ column: 'pool_id', value: textAt(pool, 'id'), reason, isUnsupported: true });
}

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
