import { isSecretField } from '../core/redact/secret-fields.ts';
import type { LandingFile } from '../landing/store.ts';
import { canonicalColumn } from '../services/platform/explorer.ts';
import type { SqlParams } from '../warehouse/database.ts';
import { quoteIdent, quoteLiteral, type SqlFiles } from '../warehouse/sql-files.ts';
import { ORDINAL, type Table } from '../warehouse/tables.ts';

const MEBIBYTE = 1024 * 1024;

/** A query for each CSV file, which has rows of the source's main table, or one for all JSON lines, where they have rows of the table. */
export function renderRowQueries(
  files: SqlFiles,
  table: Table,
  landed: readonly (LandingFile & { readonly path: string })[],
): readonly { readonly query: string; readonly params: SqlParams }[] {
  const csv = table.name === table.source ? landed.filter(({ format }) => format === 'csv') : [];
  const json = landed.filter(({ format }) => format === 'ndjson');
  const isCompared = files.has(`load/${table.name}_csv`);
  const longest = Math.max(MEBIBYTE, ...json.map(({ longestLine = 0 }) => longestLine + 1024));
  const params = { files: json.map(({ path }) => path), longest_line: longest };
  // Where both files are missing no row would be read, and all would be gone.
  if (csv.length === 0 && json.length > 0 && (files.has(`load/${table.name}`) || !isCompared)) {
    return [{ query: files.read(`load/${table.name}`), params }];
  }
  return csv.map((file) => {
    const rows = files.render('load/explorer_csv', csvLoadParts(table, file));
    const query = isCompared && json.length > 0 ? files.render(`load/${table.name}_csv`, { rows }) : rows;
    return { query, params: { ...params, file: file.path } };
  });
}

/** Read as text, by the rule for JSON: the CSV reader of DuckDB 1.5 silently turns an invalid timestamp into null. */
const TIME = 'timestamptz';
/**
 * Read as text too where the rows were JSON: a value that cannot be read is unknown in its row alone. In an export the reader refuses it: the
 * cells of a row may have moved, and JSON is asked for instead.
 */
const TRIED: ReadonlySet<string | undefined> = new Set(['bigint', 'boolean']);

/** Times of documented columns have whole seconds, whichever way a view was read: the documents have no fractions in a CSV, and some services write them. */
const FRACTION = quoteLiteral('(:\\d\\d)\\.\\d+');

const MAX_LINE_BYTES = 256 * MEBIBYTE;
/** A reader has several buffers in memory. One of less than two lines makes DuckDB 1.5 take the start of a line for its end. */
const MIN_BUFFER_BYTES = 8 * MEBIBYTE;

/** What `load/explorer_csv` is rendered with. */
function csvLoadParts(table: Table, { columns: header = [], bareNulls = [], bytes, longestLine = 0 }: LandingFile) {
  const types = new Map(table.columns.map((column) => [column.name, column.type]));
  types.delete(ORDINAL); // a field of this name is not ours
  const columnType = (name: string) => types.get(canonicalColumn(name));
  // Where null is written without quotes, a text between quotes is none, unless it is empty. DuckDB tells them apart only where it reads
  // all as text.
  const hasBare = bareNulls.length > 0;
  const isTried = (type: string | undefined) => header.includes('extra') && TRIED.has(type); // JSON lands its other fields in one column
  const isText = (type: string | undefined) => hasBare || type === TIME || isTried(type);
  const readAs = (name: string) => (isText(columnType(name)) ? 'varchar' : (columnType(name) ?? 'varchar'));
  const nulls = ['', ...bareNulls].map(quoteLiteral).join(', ');
  const struct = header.map((name) => `${quoteIdent(name)}: ${quoteLiteral(readAs(name))}`).join(', ');
  const toValue = (name: string): string => {
    const column = quoteIdent(name);
    const type = columnType(name);
    if (hasBare && type === 'varchar') return `nullif(${column}, '')`;
    const text = hasBare ? `if(${column} in (${nulls}), null, ${column})` : column;
    if (type === TIME)
      return `read_time(if(contains(${text}, '.'), regexp_replace(${text}, ${FRACTION}, '\\1'), ${text}))`;
    if (isTried(type)) return `try_cast(${text} as ${type})`;
    if (hasBare) return `${text}::${type}`;
    // JSON pages land unknown fields as one JSON column. DuckDB rewrites it, so that it compares equal to a column from CSV.
    return name === 'extra' ? `json_merge_patch('{}', ${column})` : column;
  };
  const known = header.filter((name) => columnType(name));
  const named = known.map((name) => `${toValue(name)} as ${quoteIdent(canonicalColumn(name))}`);
  const others = header.filter((name) => !columnType(name) && !isSecretField(name)).sort();
  const pairs = others.map((name) => `${quoteLiteral(name)}, nullif(${quoteIdent(name)}, '')`).join(', ');
  const extra = others.length === 0 ? [] : [`json_merge_patch('{}', json_object(${pairs})) as extra`];
  // A row has several lines if a cell has line breaks, and a row of tf_versions may name every workspace.
  const longest = Math.max(longestLine, table.members ? Math.min(bytes, MIN_BUFFER_BYTES) : 0);
  const maxLine = Math.min(MAX_LINE_BYTES, Math.max(2 * MEBIBYTE, longest + 1024));
  return {
    select: [...named, ...extra].join(', '),
    columns: `{${struct}}`,
    nulls: `[${nulls}]`,
    quotedNulls: String(!hasBare),
    maxLine: String(maxLine),
    bufferSize: String(Math.max(MIN_BUFFER_BYTES, maxLine * 2)),
  };
}
