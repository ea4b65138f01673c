import { ServiceError } from '../http/service-error.ts';
import { platform } from '../services/platform.ts';
import { readPages, type SetPage } from './pages.ts';
import { type Extraction, type Source, text } from './source.ts';

const PAGE_SIZE = 100;

function poolPages(run: Extraction): Promise<readonly SetPage[]> {
  return run.shared('agent pools', () => readPages(run, platform['agent-pools'].list, { 'page[size]': PAGE_SIZE }));
}

/** Pools with the workspaces attached to them and allowed to use them (platform.md, "Agent pool": relationships). */
export const agentPools: Source = {
  name: 'agent_pools',
  kind: 'platform',
  async extract(run) {
    for (const page of await poolPages(run)) {
      await run.land.line({}, page.text);
      run.land.expect(page.items.length);
    }
  },
};

/** The agents of every pool. */
export const agents: Source = {
  name: 'agents',
  kind: 'platform',
  async extract(run) {
    const pages = await poolPages(run);
    const ids = pages.flatMap(({ items }) => items.flatMap((item) => text(item, 'id') ?? []));
    await run.each(ids, (id) => landAgents(run, id));
  },
};

async function landAgents(run: Extraction, pool: string): Promise<void> {
  const pages = await readPages(run, platform.agents.list, { agent_pool_id: pool, 'page[size]': PAGE_SIZE }).catch(
    gone,
  );
  for (const page of pages) {
    await run.land.line({ pool_id: pool }, page.text);
    run.land.expect(page.items.length);
  }
}

/** A thing that was listed a moment ago and is not found now has been deleted in between. */
export function gone(error: unknown): readonly never[] {
  if (error instanceof ServiceError && error.failure === 'not-found') return [];
  throw error;
}
