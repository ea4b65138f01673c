import type { ServiceClient } from '../../services/client.ts';
import { platform } from '../../services/platform/operations.ts';
import { PAGE_SIZE } from '../pools.ts';
import { extractPages, type SnapshotPage } from '../shared/snapshot-pages.ts';
import type { ExtractContext, SourceDefinition } from '../source.ts';
import { fetchCsv } from './csv-export.ts';
import { fetchPartitioned, type PartitionKey } from './partition.ts';
import { createRowFormatter } from './row-formatter.ts';

/**
 * The views of the explorer: the column that a row is known by, and what a query that is too much is divided by. Every row
 * has a name or a version (of the tool) of its own; the version of a module may be missing.
 */
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
 * A view of the explorer, by CSV export; where the export is unusable, or the target says `explorer: json`, by JSON pages.
 * Either is asked in parts where the whole is too much.
 */
export function explorerView(view: keyof typeof VIEWS): SourceDefinition {
  const { column, fields } = VIEWS[view];
  const divisible = { view, fields };
  const csv = (run: ExtractContext) => fetchPartitioned(run, divisible, (each) => fetchCsv(each, view, column));
  const { columns, format } = createRowFormatter(view);
  const pages = (run: ExtractContext) =>
    fetchPartitioned(run, divisible, (each) => (filter) => {
      const write = ({ items }: SnapshotPage) => each.landing.writeCsv(columns, format(items));
      return extractPages(each, platform.explorer.query, { type: view, filter, 'page[size]': PAGE_SIZE }, write);
    });
  const first = (run: ExtractContext) => (run.client.target.explorer === 'json' ? pages(run) : csv(run));
  const checkAccess = (service: ServiceClient) =>
    service.call(platform.explorer.query, { type: view, 'page[size]': 1 });
  return { name: view, kind: 'platform', checkAccess, extract: first, fallbacks: [first, pages] };
}
