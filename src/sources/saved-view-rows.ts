import { isRejection, ServiceError } from '../http/errors.ts';
import { platform } from '../services/platform/operations.ts';
import { listThenRead } from './shared/list-and-read.ts';
import { fetchPages, PAGE_SIZE } from './shared/snapshot-pages.ts';
import { type ExtractContext, optionalString, type SourceDefinition } from './source.ts';

/**
 * The rows that every saved view returns. When the service rejects the query of a view, because a field no longer exists for
 * example, the error is written for that view. Every other failure fails the source.
 */
export const savedViewRows: SourceDefinition = {
  name: 'saved_view_rows',
  kind: 'platform',
  operations: [platform.views.list, platform.views.results],
  async extract(context) {
    const relist = () => listViewIds(context);
    await listThenRead(context, { items: await relist(), relist, read: (id) => extractView(context, id) });
  },
  checkAccess: (client) => client.call(platform.views.list),
};

async function listViewIds(context: ExtractContext): Promise<readonly string[]> {
  const pages = await fetchPages(context, platform.views.list, {});
  return pages.flatMap(({ items }) => items.flatMap((item) => optionalString(item, 'id') ?? []));
}

async function extractView(context: ExtractContext, id: string): Promise<void> {
  const { landing } = context;
  try {
    const pages = await fetchPages(context, platform.views.results, { view_id: id, 'page[size]': PAGE_SIZE });
    for (const page of pages) await landing.writeJson({ view_id: id, offset: page.offset }, page.text);
  } catch (error) {
    if (!(error instanceof ServiceError) || !isRejection(error)) throw error;
    await landing.writeJson({ view_id: id, error: error.serviceMessage });
  }
}
