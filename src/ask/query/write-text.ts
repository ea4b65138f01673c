import { open, writeFile } from 'node:fs/promises';
import { quoteIdent, quoteLiteral } from '../../warehouse/sql-files.ts';
import { DuckDBTypeId } from '../../warehouse/values.ts';
import type { TextFormat } from './formats.ts';
import type { PreparedQuery, QuerySession } from './session.ts';
import { isNumber, textSql } from './sql-text.ts';

/** Takes a part of the output; resolves when the next may follow. */
export type WriteText = (text: string) => Promise<void>;

/** Writes a result part by part, about 2,000 rows at a time. Returns the number of rows. */
export async function writeText(
  session: QuerySession,
  query: PreparedQuery,
  format: TextFormat,
  write: WriteText,
): Promise<number> {
  let count = 0;
  for await (const chunk of session.chunks(query, `${format.rowSql(query.columns)} as line`)) {
    const rows = chunk.getColumnValues(0) as readonly string[];
    await write((count === 0 ? format.begin(query.columns) : format.separator) + rows.join(format.separator));
    count += rows.length;
  }
  await write(count === 0 ? format.empty(query.columns) : format.end);
  return count;
}

/**
 * Writes the same text to the session's output file by DuckDB's own writer, which uses all cores. Without quotes and delimiters its
 * CSV writer copies each row as it is; DuckDB writes JSON the same way.
 */
export async function copyText(session: QuerySession, query: PreparedQuery, format: TextFormat): Promise<number> {
  const { columns } = query;
  const options = ['format csv', 'header false', `quote ''`, `escape ''`, `delimiter e'\\n'`, 'use_tmp_file false'];
  // With a prefix, DuckDB writes the line break between rows; without one, after each.
  const begin = format.begin(columns);
  if (begin !== '') {
    options.push(`prefix ${quoteLiteral(begin)}`, `suffix ${quoteLiteral(format.end)}`);
    options.push(`new_line ${quoteLiteral(format.separator)}`);
  }
  const count = await session.copy(query, `${format.rowSql(columns)} as line`, options.join(', '));
  if (count === 0) await writeFile(session.output, format.empty(columns));
  return count;
}

/** Writes the same text as the format `csv` to the session's output file, by DuckDB's CSV writer. */
export async function copyCsv(session: QuerySession, query: PreparedQuery): Promise<number> {
  const columns = query.columns.map((column) => {
    const isAsText = isNumber(column.type) || column.type.typeId === DuckDBTypeId.BOOLEAN;
    return `${isAsText ? column.sql : textSql(column)} as ${quoteIdent(column.name)}`;
  });
  return session.copy(query, columns.join(', '), 'format csv, header true, use_tmp_file false');
}

/** Bytes that are written to a file at once. */
const WRITE_BYTES = 256 * 1024;

/** Gives `work` a function that appends to a file. */
export async function appendText<T>(path: string, work: (write: WriteText) => Promise<T>): Promise<T> {
  const file = await open(path, 'a');
  let pending: Buffer[] = [];
  let size = 0;
  const flush = async () => {
    const parts = pending;
    pending = [];
    size = 0;
    await file.appendFile(Buffer.concat(parts));
  };
  try {
    const result = await work(async (text) => {
      const part = Buffer.from(text);
      pending.push(part);
      size += part.length;
      if (size >= WRITE_BYTES) await flush();
    });
    await flush();
    return result;
  } finally {
    await file.close();
  }
}

/** Writes a Parquet file with the types of the result. */
export async function copyParquet(session: QuerySession, query: PreparedQuery): Promise<number> {
  const columns = query.columns.map(({ sql, name }) => `${sql} as ${quoteIdent(name)}`);
  return session.copy(query, columns.join(', '), 'format parquet, compression zstd, use_tmp_file false');
}
