import type { Target } from '../../../config/config.ts';
import type { ExplorerView } from '../../../services/platform/explorer.ts';
import { platform } from '../../../services/platform/operations.ts';
import { extractPages, PAGE_SIZE } from '../shared/snapshot-pages.ts';
import type { ExtractContext, SourceDefinition } from '../source.ts';
import { createRowFormatter, fetchCsv } from './csv-export.ts';
import { type FetchPartition, fetchPartitioned, type PartitionKey } from './partition.ts';
import { landPublicModules } from './public-modules.ts';
import { landWorkspaceList } from './workspace-list.ts';

const NAME = { name: 'name', nullable: false };
/** A module may have no version. */
const VERSION = { name: 'version', nullable: true };

/** The explorer views, with the column that identifies a row and the fields to partition by. */
const VIEWS: Readonly<Record<ExplorerView, { readonly column: string; readonly fields: PartitionKey['fields'] }>> = {
  workspaces: { column: 'external_id', fields: [{ name: 'workspace_name', nullable: false }] },
  tf_versions: { column: 'version', fields: [{ name: 'version', nullable: false }] },
  providers: { column: 'name', fields: [NAME, VERSION] },
  modules: { column: 'name', fields: [NAME, VERSION] },
};

/**
 * An explorer view, by CSV export, or by JSON pages if the export is unusable or the target has `explorer: json`. Either is
 * partitioned if the whole view overloads the service. With `explorer: workspaces`, what the list of workspaces tells of it.
 */
export function explorerView(view: ExplorerView): SourceDefinition {
  const { column, fields } = VIEWS[view];
  const key = { view, fields };

  const extractQuery = async (context: ExtractContext, createFetch: (context: ExtractContext) => FetchPartition) => {
    await fetchPartitioned(context, key, createFetch);
    if (view === 'modules') await landPublicModules(context);
  };
  const extractCsv = (context: ExtractContext) =>
    extractQuery(context, (partition) => fetchCsv(partition, view, column));
  const extractJson = async (context: ExtractContext) => {
    const { columns, format, assertComplete } = createRowFormatter(view);
    await extractQuery(context, (partition) => (filter) => {
      const args = { type: view, filter, 'page[size]': PAGE_SIZE };
      return extractPages(partition, platform.explorer.query, args, ({ items }) =>
        partition.landing.writeCsv(columns, format(items)),
      );
    });
    assertComplete(context.client.target);
  };
  const listed = view === 'workspaces' || view === 'tf_versions' ? view : undefined;
  const isListed = ({ explorer }: Target) => explorer === 'workspaces' && listed !== undefined;
  const extract = (context: ExtractContext) => {
    const { target } = context.client;
    if (listed && isListed(target)) return landWorkspaceList(context, listed, ['current_run', 'project']);
    return target.explorer === 'json' ? extractJson(context) : extractCsv(context);
  };
  /** A service may refuse what it is asked to include, or fail with it. */
  const extractLess = (context: ExtractContext) =>
    listed && isListed(context.client.target) ? landWorkspaceList(context, listed, []) : extractJson(context);

  return {
    name: view,
    kind: 'platform',
    ...(listed === undefined && { needsExplorer: true }),
    operations: [platform.explorer.query, platform.explorer.export, ...(listed ? [platform.workspaces.list] : [])],
    extract,
    fallbacks: [extract, extractLess],
    checkAccess: (client) =>
      isListed(client.target)
        ? client.call(platform.workspaces.list, { 'page[size]': 1 })
        : client.call(platform.explorer.query, { type: view, 'page[size]': 1 }),
  };
}
