import type { SqlFiles } from '../../warehouse/sql-files.ts';
import { loadTables, loadViews } from '../../warehouse/tables.ts';

/** The names that a query may use: columns by table, `T_history` and the table macros `T_at` included. */
type QueryNames = ReadonlyMap<string, readonly string[]>;

export function readNames(files: SqlFiles): QueryNames {
  const tables = new Map<string, readonly string[]>();
  for (const { name, source, columns } of [...loadTables(files).values(), ...loadViews(files)]) {
    const names = columns.map((column) => column.name);
    tables.set(name, names);
    if (!source) continue;
    tables.set(`${name}_history`, [...names, 'valid_from', 'valid_to']);
    tables.set(`${name}_at(`, names);
  }
  return tables;
}

const KEYWORDS =
  'all and as asc between by case cast count count(distinct cross date_diff date_trunc desc describe distinct else end except exists explain filter from full group having in inner intersect interval is join lateral left like limit max min not now() null offset on or order over partition pivot qualify regexp_matches right select string_agg sum summarize then try_cast union union all unnest using values when where window with'.split(
    ' ',
  );

/** What may follow `text`: the candidates, and the word that they complete. */
export function completeSql(text: string, tables: QueryNames): readonly [readonly string[], string] {
  const word = /[\w.]*$/u.exec(text)?.[0] ?? '';
  const [qualifier, part] = word.includes('.') ? (word.split('.', 2) as [string, string]) : [undefined, word];
  if (qualifier !== undefined) {
    const columns = tables.get(qualifier) ?? allColumns(tables);
    return [matches(columns, part).map((column) => `${qualifier}.${column}`), word];
  }
  if (/\b(?:from|join|describe|summarize)\s+\w*$/iu.test(text)) return [matches([...tables.keys()], part), part];
  const used = [...tables.keys()].filter((table) => new RegExp(`\\b${table.replace('(', '\\(')}`, 'iu').test(text));
  const columns = used.length > 0 ? used.flatMap((table) => tables.get(table) ?? []) : allColumns(tables);
  return [matches([...columns, ...tables.keys(), ...KEYWORDS], part), part];
}

function allColumns(tables: QueryNames): readonly string[] {
  return [...tables.values()].flat();
}

function matches(names: readonly string[], part: string): readonly string[] {
  const start = part.toLowerCase();
  return [...new Set(names)].filter((name) => name.toLowerCase().startsWith(start)).sort();
}
