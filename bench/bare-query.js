// The reference for `tidemark sql`: writes the result of a query with DuckDB's Node API alone, by COPY to a file or row by row.

import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { DuckDBInstance } from '@duckdb/node-api';

const [database, query, target, format] = process.argv.slice(2);
const instance = await DuckDBInstance.create(database, { access_mode: 'READ_ONLY', memory_limit: '1GB' });
const connection = await instance.connect();
if (format === 'rows') await writeRows();
else
  await connection.run(
    `copy (${query}) to '${target}' (format ${format === 'ndjson' ? 'json' : format}${format === 'json' ? ', array true' : ''})`,
  );
connection.closeSync();
instance.closeSync();

async function writeRows() {
  const file = createWriteStream(target);
  const result = await connection.stream(query);
  for (;;) {
    const chunk = await result.fetchChunk();
    if (!chunk || chunk.rowCount === 0) break;
    const lines = chunk.getRows().map((row) => row.join('\t'));
    if (!file.write(`${lines.join('\n')}\n`)) await once(file, 'drain');
  }
  file.end();
  await once(file, 'close');
}
