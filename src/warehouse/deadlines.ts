import { type Thresholds, thresholds } from '../config/schema.ts';
import { discoverFiles } from '../core/paths.ts';
import { firstLine, type Statements } from './database.ts';
import { quoteIdent, quoteLiteral, type SqlFiles } from './sql-files.ts';
import { fillParams, thresholdParams } from './sql-params.ts';
import { loadTables, loadViews } from './tables.ts';

export const DEFAULT_THRESHOLDS: Thresholds = thresholds.parse({});

/** Where definitions are made: in the warehouse, or for one connection to a warehouse that an earlier version wrote. */
export type Scope = '' | 'temp ';

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
  database: Pick<Statements, 'script'>,
  files: SqlFiles,
  kinds: readonly Kind[],
  scope: Scope = '',
): Promise<void> {
  for (const { sql, renderUnknown } of kinds) {
    await database.script(sql).catch((error: unknown) => database.script(renderUnknown(error)));
  }
  const rows = kinds.map(({ name }) => `from ${name}(at_time)`).join('\nunion all\n');
  await database.script(files.render('warehouse/deadlines_at', { scope, kinds: rows }));
}

/**
 * Defines what a warehouse of an earlier version does not have, for this connection: tables and views without rows, because nothing is
 * known, and the calendar. The next run makes them in the warehouse.
 */
export async function defineMissing(
  database: Pick<Statements, 'script'>,
  files: SqlFiles,
  values: Thresholds = DEFAULT_THRESHOLDS,
): Promise<void> {
  const macros = new Set((await database.script(files.read('query/past_macros'))).map(({ name }) => name));
  // Before the tables without rows: what the calendar cannot read is unknown, and no empty calendar.
  if (!macros.has('deadlines_at')) {
    await defineDeadlines(database, files, renderDeadlines(files, values, 'temp '), 'temp ');
    macros.add('deadlines_at');
  }
  const tables = new Set((await database.script(files.read('query/present_tables'))).map(({ name }) => name));
  const relations = [...loadTables(files).values(), ...loadViews(files)];
  for (const { name, source, columns } of relations) {
    const isLog = source === undefined && !files.has(`warehouse/${name}_at`);
    if (macros.has(`${name}_at`) || (isLog && tables.has(name))) continue;
    const nulls = columns.map(({ name: column, type }) => `null::${type} as ${quoteIdent(column)}`).join(', ');
    const parts = { name: quoteIdent(isLog ? name : `${name}_at`), columns: nulls };
    await database.script(files.render(`warehouse/${isLog ? 'missing_log' : 'missing_relation'}`, parts));
  }
}
