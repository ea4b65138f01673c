import { ServiceError } from '../http/service-error.ts';
import { platform } from '../services/platform.ts';
import { eachListed } from './listed.ts';
import { readPages } from './pages.ts';
import { PAGE_SIZE } from './pools.ts';
import { type Extraction, type Source, text } from './source.ts';

/**
 * What every saved view returns now. A view whose query the service refuses (its field is gone, say) is an answer about that
 * view, kept as such; anything else that fails makes the pull incomplete.
 */
export const savedViewRows: Source = {
  name: 'saved_view_rows',
  kind: 'platform',
  probe: (service) => service.call(platform.views.list),
  extract: async (run) => {
    await eachListed(
      run,
      await viewIds(run),
      () => viewIds(run),
      String,
      (id) => landView(run, id),
    );
  },
};

async function viewIds(run: Extraction): Promise<readonly string[]> {
  const pages = await readPages(run, platform.views.list, {});
  return pages.flatMap(({ items }) => items.flatMap((item) => text(item, 'id') ?? []));
}

async function landView(run: Extraction, id: string): Promise<void> {
  try {
    const pages = await readPages(run, platform.views.results, { view_id: id, 'page[size]': PAGE_SIZE });
    for (const page of pages) await run.land.line({ view_id: id, offset: page.offset }, page.text);
  } catch (error) {
    if (!(error instanceof ServiceError) || error.failure !== 'invalid') throw error;
    await run.land.line({ view_id: id, error: error.words });
  }
}
