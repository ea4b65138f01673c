import { ServiceError } from '../http/service-error.ts';
import { platform } from '../services/platform.ts';
import { landPages, readPages } from './pages.ts';
import { type Extraction, type Source, text } from './source.ts';

export const savedViews: Source = {
  name: 'saved_views',
  kind: 'platform',
  extract: (run) => landPages(run, platform.views.list, {}),
};

/**
 * What every saved view returns now. A view whose query the service refuses (its field is gone, say) is an answer about that
 * view, kept as such; anything else that fails makes the pull incomplete.
 */
export const savedViewRows: Source = {
  name: 'saved_view_rows',
  kind: 'platform',
  async extract(run) {
    const pages = await readPages(run, platform.views.list, {});
    const ids = pages.flatMap(({ items }) => items.flatMap((item) => text(item, 'id') ?? []));
    await run.each(ids, (id) => landView(run, id));
  },
};

async function landView(run: Extraction, id: string): Promise<void> {
  try {
    const pages = await readPages(run, platform.views.results, { view_id: id, 'page[size]': 100 });
    for (const page of pages) await run.land.line({ view_id: id, offset: page.offset }, page.text);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    if (error.failure === 'not-found') return; // deleted since it was listed
    if (error.failure !== 'invalid') throw error;
    await run.land.line({ view_id: id, error: error.words });
  }
}
