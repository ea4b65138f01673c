import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { type Database, openDatabase } from '../../src/warehouse/database.ts';
import { createSqlFiles } from '../../src/warehouse/sql-files.ts';
import { historyTable, loadTables } from '../../src/warehouse/tables.ts';

const tables = [...(await loadTables(createSqlFiles([PACKAGE_ROOT]))).values()].filter(({ source }) => source);

/** What the data folder has after a pull that has left nothing behind. */
export const TIDY_DATA = ['landing', 'lock', 'lock.owner', 'warehouse.duckdb', 'work'];

export async function hashFile(file: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(file))
    .digest('hex');
}

/** The current rows of a warehouse by table, without times: equal for equal responses of the services. */
export async function readContents(file: string): Promise<Readonly<Record<string, unknown>>> {
  const database = await openDatabase(file, { readOnly: true, threads: 1 });
  try {
    const contents: Record<string, unknown> = Object.fromEntries(tables.map(({ name }) => [name, []]));
    for (const { name, columns } of await findFilled(database)) {
      const compared = columns.filter((column) => column.name !== 'checked_at').map((column) => `"${column.name}"`);
      contents[name] = await database.rows(`select ${compared.join(', ')} from ${name} order by all`);
    }
    return contents;
  } finally {
    database.close();
  }
}

/** The tables with a history: to read all the others takes longer than to read these. */
async function findFilled(database: Database): Promise<typeof tables> {
  // An estimate of 0 is exact.
  const rows = await database.rows('select table_name as name from duckdb_tables() where estimated_size > 0');
  const filled = new Set(rows.map(({ name }) => name));
  return tables.filter((table) => filled.has(historyTable(table)));
}

/**
 * Opens a published warehouse as a reader would, and names what none may have: versions of a row that overlap (a key that is
 * open twice among them), a run that is half done, a source that a complete run does not have.
 */
export async function findInconsistencies(file: string): Promise<readonly string[]> {
  const database = await openDatabase(file, { readOnly: true, threads: 1 });
  try {
    const overlapping = (await findFilled(database)).map(({ name, key }) => {
      const sameKey = ['target', ...key].map((column) => `"${column}"`).join(', ');
      return `select '${name} overlaps' as wrong from (
        select valid_to, lead(valid_from) over (partition by ${sameKey} order by valid_from) as next_from from ${name}_history
      ) where next_from < coalesce(valid_to, 'infinity')`;
    });
    const rows = await database.rows(
      `${overlapping.map((sql) => `${sql} union all `).join('')}
       select run_id || ' is ' || status as wrong from runs where status = 'running'
       union all
       select run_id || ' lacks sources' from pulls join runs using (run_id) where runs.status = 'complete'
       group by run_id having count(*) filter (where pulls.status = 'complete') <>
         (select max(n) from (select count(*) as n from pulls group by run_id))`,
    );
    return rows.map(({ wrong }) => String(wrong));
  } finally {
    database.close();
  }
}
