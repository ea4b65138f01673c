import { type Thresholds, thresholds } from '../config/schema.ts';
import { discoverFiles } from '../core/paths.ts';
import { firstLine, type Statements } from './database.ts';
import { quoteIdent, quoteLiteral, type SqlFiles } from './sql-files.ts';
import { fillParams, thresholdParams } from './sql-params.ts';

export const DEFAULT_THRESHOLDS: Thresholds = thresholds.parse({});

/** Where definitions are made: in the warehouse, or for one connection to a warehouse that an earlier version wrote. */
export type Scope = '' | 'temp ';

/** A connection to a warehouse. */
export type Connection = Pick<Statements, 'script'>;

/** A query of `queries/deadlines/` as a macro. */
type Kind = Readonly<ReturnType<typeof renderDeadlines>[number]>;

/** The queries of `queries/deadlines/`, with these thresholds. `name`: of the macro. */
export function renderDeadlines(files: SqlFiles, values: Thresholds, scope: Scope = '') {
  return [...discoverFiles(files.roots, 'queries/deadlines', '.sql').keys()].map((kind) => {
    const name = quoteIdent(`deadlines_of_${kind}`);
    const parts = { scope, name, file: quoteLiteral(`queries/deadlines/${kind}.sql`) };
    /** The macro of a query that fails, which a user may have written: a row whose end is not known. */
    const renderUnknown = (error: unknown) =>
      files.render('warehouse/deadlines_unknown', { ...parts, problem: quoteLiteral(firstLine(error)) });
    try {
      const text = files.read(`deadlines/${kind}`).replaceAll('$as_of', 'at_time');
      const query = fillParams(text, thresholdParams(values)).replace(/;$/u, '');
      return { name, sql: files.render('warehouse/deadlines_kind', { ...parts, query }), renderUnknown };
    } catch (error) {
      return { name, sql: renderUnknown(error), renderUnknown };
    }
  });
}

/** Makes `deadlines_at` of them. */
export async function defineDeadlines(
  database: Connection,
  files: SqlFiles,
  kinds: readonly Kind[],
  scope: Scope = '',
) {
  for (const { sql, renderUnknown } of kinds) {
    await database.script(sql).catch((error: unknown) => database.script(renderUnknown(error)));
  }
  const rows = kinds.map(({ name }) => `from ${name}(at_time)`).join('\nunion all\n');
  await database.script(files.render('warehouse/deadlines_at', { scope, kinds: rows }));
}
