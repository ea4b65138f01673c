import type { Target } from '../../../config/config.ts';
import { TidemarkError } from '../../../core/errors.ts';
import { valueAt } from '../../../core/json-path.ts';
import { ServiceError } from '../../../http/errors.ts';
import type { ExplorerView } from '../../../services/platform/explorer.ts';
import { platform } from '../../../services/platform/operations.ts';
import { describeFailure } from '../shared/list-and-read.ts';
import { extractPages, PAGE_SIZE, type SnapshotPage, sendPages } from '../shared/snapshot-pages.ts';
import { type ExtractContext, optionalString, requiredString, type SourceDefinition } from '../source.ts';
import { createRowFormatter, fetchCsv, landUntold } from './csv-export.ts';
import { type FetchPartition, fetchPartitioned } from './partition.ts';
import { landWorkspaceList } from './workspace-list.ts';

/** The explorer views, with the column that identifies a row and the one to partition by. */
const VIEWS: Readonly<Record<ExplorerView, { readonly column: string; readonly field: string }>> = {
  workspaces: { column: 'external_id', field: 'workspace_name' },
  tf_versions: { column: 'version', field: 'version' },
  providers: { column: 'name', field: 'name' },
  modules: { column: 'name', field: 'name' },
};

/**
 * An explorer view, by CSV export, or by JSON pages if the export is unusable or the target has `explorer: json`. Either is
 * partitioned if the whole view overloads the service. With `explorer: workspaces`, what the list of workspaces tells of it.
 */
export function explorerView(view: ExplorerView): SourceDefinition {
  const { column, field } = VIEWS[view];

  const extractQuery = async (context: ExtractContext, fetch: FetchPartition) => {
    await fetchPartitioned(context, view, field, fetch);
    if (view === 'modules') await landPublicModules(context);
  };
  const extractCsv = async (context: ExtractContext) => {
    const untold = new Set<string>();
    await extractQuery(context, fetchCsv(view, column, untold));
    landUntold(context, untold);
  };
  const extractJson = async (context: ExtractContext) => {
    const { columns, format, findUntold } = createRowFormatter(view, [column, ...KEY]);
    await extractQuery(context, (partition, filter) =>
      extractPages(partition, platform.explorer.query, { type: view, filter, 'page[size]': PAGE_SIZE }, ({ items }) =>
        partition.landing.writeCsv(columns, format(items)),
      ),
    );
    landUntold(context, findUntold(context.client.target));
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

/** What a row of the list is found by. */
const KEY = ['name', 'source', 'version'];

/**
 * Lands the list of public modules beside the rows, which do not tell their registry: `queries/load/modules_csv.sql` compares them. The rows
 * of the real products tell it. Where the list cannot be read whole, the registry of every module is unknown.
 */
async function landPublicModules(context: ExtractContext): Promise<void> {
  const { client, landing } = context;
  const { flavor, missingColumns } = client.target;
  if (flavor === 'hashicorp' || KEY.some((name) => missingColumns.includes(name))) return;
  const start = await landing.checkpoint();
  const args = { type: 'modules', filter: ['registry_type:is:public'], 'page[size]': PAGE_SIZE };
  const write = ({ text, items }: SnapshotPage) => {
    for (const [index, item] of items.entries()) assertKey(valueAt(item, 'attributes'), index);
    return landing.writeJson({}, text);
  };
  try {
    await sendPages(context, platform.explorer.query, args, write, () => landing.rollback(start));
  } catch (error) {
    if (!isUnanswered(error)) throw error;
    await landing.rollback(start);
    const reason = error instanceof ServiceError ? describeFailure(error) : error.message;
    landing.addNote(`which modules are public is unknown: ${reason}`);
  }
}

/** A row that does not tell what it is found by would make its module private. A module may have no version. @throws TidemarkError DATA */
function assertKey(attributes: unknown, index: number): void {
  for (const name of KEY) {
    const mayLack = name === 'version' && valueAt(attributes, name) !== undefined;
    (mayLack ? optionalString : requiredString)(attributes, name, 'the list of public modules', index);
  }
}

/** The service does not answer, or its pages are no list. A bound that is reached, or a disk that is full, is no such failure. */
function isUnanswered(error: unknown): error is TidemarkError {
  if (error instanceof ServiceError) return error.failure !== 'aborted';
  return error instanceof TidemarkError && error.constructor === TidemarkError && error.code === 'DATA';
}
