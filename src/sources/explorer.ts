import type { Service } from '../services/connect.ts';
import { platform } from '../services/platform.ts';
import { byCsv } from './explorer-csv.ts';
import { type Divisible, wholeOrParts } from './explorer-parts.ts';
import { rowWriter } from './explorer-rows.ts';
import { landPages, type SetPage } from './pages.ts';
import { PAGE_SIZE } from './pools.ts';
import type { Extraction, Source } from './source.ts';

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
} as const satisfies Record<string, { column: string; fields: Divisible['fields'] }>;

/**
 * A view of the explorer, by CSV export; where the export is unusable, or the target says `explorer: json`, by JSON pages.
 * Either is asked in parts where the whole is too much.
 */
export function explorerView(view: keyof typeof VIEWS): Source {
  const { column, fields } = VIEWS[view];
  const divisible = { view, fields };
  const csv = (run: Extraction) => wholeOrParts(run, divisible, (each) => byCsv(each, view, column));
  const { columns, lines } = rowWriter(view);
  const pages = (run: Extraction) =>
    wholeOrParts(run, divisible, (each) => (filter) => {
      const write = ({ items }: SetPage) => each.land.rows(columns, lines(items));
      return landPages(each, platform.explorer.query, { type: view, filter, 'page[size]': PAGE_SIZE }, write);
    });
  const first = (run: Extraction) => (run.service.target.explorer === 'json' ? pages(run) : csv(run));
  const probe = (service: Service) => service.call(platform.explorer.query, { type: view, 'page[size]': 1 });
  return { name: view, kind: 'platform', probe, extract: first, otherwise: [first, pages] };
}
