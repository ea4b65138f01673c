import type { Target } from '../../../config/config.ts';
import { platform } from '../../../services/platform/operations.ts';
import { extractPages, PAGE_SIZE } from '../shared/snapshot-pages.ts';
import type { ExtractContext, SourceDefinition } from '../source.ts';
import { createAttributeCheck, createRowFormatter, fetchCsv } from './csv-export.ts';
import { fetchPartitioned, type PartitionKey } from './partition.ts';
import { landPublicModules } from './public-modules.ts';
import { landWorkspaceList } from './workspace-list.ts';

/** The explorer views, with the column that identifies a row and the fields to partition by. A module may have no version. */
const VIEWS = {
  workspaces: { column: 'external_id', fields: [{ name: 'workspace_name', nullable: false }] },
  tf_versions: { column: 'version', fields: [{ name: 'version', nullable: false }] },
  providers: {
    column: 'name',
    fields: [
      { name: 'name', nullable: false },
      { name: 'version', nullable: true },
    ],
  },
  modules: {
    column: 'name',
    fields: [
      { name: 'name', nullable: false },
      { name: 'version', nullable: true },
    ],
  },
} as const satisfies Record<string, { column: string; fields: PartitionKey['fields'] }>;

/**
 * An explorer view, by CSV export, or by JSON pages if the export is unusable or the target has `explorer: json`. Either is
 * partitioned if the whole view overloads the service. With `explorer: workspaces`, what the list of workspaces tells of it.
 */
export function explorerView(view: keyof typeof VIEWS): SourceDefinition {
  const { column, fields } = VIEWS[view];
  const key = { view, fields };
  const { columns, format } = createRowFormatter(view);

  const extractMore = (context: ExtractContext) =>
    view === 'modules' ? landPublicModules(context) : Promise.resolve();
  const extractCsv = async (context: ExtractContext) => {
    await fetchPartitioned(context, key, (partition) => fetchCsv(partition, view, column));
    await extractMore(context);
  };
  const extractJson = async (context: ExtractContext) => {
    const attributes = createAttributeCheck(view, context.client.target);
    await fetchPartitioned(context, key, (partition) => (filter) => {
      const args = { type: view, filter, 'page[size]': PAGE_SIZE };
      return extractPages(partition, platform.explorer.query, args, ({ items }) => {
        attributes.observe(items);
        return partition.landing.writeCsv(columns, format(items));
      });
    });
    attributes.verify();
    await extractMore(context);
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
