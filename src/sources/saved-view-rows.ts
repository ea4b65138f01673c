import { ServiceError } from '../http/errors.ts';
import { platform } from '../services/platform/operations.ts';
import { PAGE_SIZE } from './pools.ts';
import { listThenRead } from './shared/list-and-read.ts';
import { fetchPages } from './shared/snapshot-pages.ts';
import { type ExtractContext, optionalString, type SourceDefinition } from './source.ts';

/**
 * What every saved view returns now. A view whose query the service refuses (its field is gone, say) is an answer about that
 * view, kept as such; anything else that fails makes the pull incomplete.
 */
export const savedViewRows: SourceDefinition = {
  name: 'saved_view_rows',
  kind: 'platform',
  checkAccess: (service) => service.call(platform.views.list),
  extract: async (run) => {
    await listThenRead(
      run,
      await viewIds(run),
      () => viewIds(run),
      String,
      (id) => landView(run, id),
    );
  },
};

async function viewIds(run: ExtractContext): Promise<readonly string[]> {
  const pages = await fetchPages(run, platform.views.list, {});
  return pages.flatMap(({ items }) => items.flatMap((item) => optionalString(item, 'id') ?? []));
}

async function landView(run: ExtractContext, id: string): Promise<void> {
  try {
    const pages = await fetchPages(run, platform.views.results, { view_id: id, 'page[size]': PAGE_SIZE });
    for (const page of pages) await run.landing.writeJson({ view_id: id, offset: page.offset }, page.text);
  } catch (error) {
    if (!(error instanceof ServiceError) || error.failure !== 'invalid') throw error;
    await run.landing.writeJson({ view_id: id, error: error.serviceMessage });
  }
}
