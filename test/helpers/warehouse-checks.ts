import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { openDatabase } from '../../src/warehouse/database.ts';
import { createSqlFiles } from '../../src/warehouse/sql-files.ts';
import { loadTables } from '../../src/warehouse/tables.ts';

const tables = [...(await loadTables(createSqlFiles([PACKAGE_ROOT]))).values()].filter(({ source }) => source);

export async function hashFile(file: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(file))
    .digest('hex');
}

/** The current rows of a warehouse by table, without times: equal for equal responses of the services. */
export async function readContents(file: string): Promise<Readonly<Record<string, unknown>>> {
  const database = await openDatabase(file, { readOnly: true });
  try {
    const contents: Record<string, unknown> = {};
    for (const { name, columns } of tables) {
      const compared = columns.filter((column) => column.name !== 'checked_at').map((column) => `"${column.name}"`);
      contents[name] = await database.rows(`select ${compared.join(', ')} from ${name} order by all`);
    }
    return contents;
  } finally {
    database.close();
  }
}

/**
 * Opens a published warehouse as a reader would, and names what none may have: versions of a row that overlap (a key that is
 * open twice among them), a run that is half done, a source that a complete run does not have.
 */
export async function findInconsistencies(file: string): Promise<readonly string[]> {
  const database = await openDatabase(file, { readOnly: true });
  try {
    const overlapping = tables.map(({ name, key }) => {
      const sameKey = ['target', ...key].map((column) => `"${column}"`).join(', ');
      return `select '${name} overlaps' as wrong from (
        select valid_to, lead(valid_from) over (partition by ${sameKey} order by valid_from) as next_from from ${name}_history
      ) where next_from < coalesce(valid_to, 'infinity')`;
    });
    const rows = await database.rows(
      `${overlapping.join(' union all ')}
       union all select run_id || ' is ' || status from runs where status = 'running'
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
