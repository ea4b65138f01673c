import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { quoteLiteral } from '../../src/warehouse/sql-files.ts';

interface LogLine {
  readonly add?: { readonly path: string };
  readonly remove?: { readonly path: string };
}

/** SQL: the rows of a Delta table, by the commits of its log alone, as a program reads them that knows nothing of us. */
export async function bareTable(folder: string): Promise<string> {
  const log = join(folder, '_delta_log');
  const commits = (await readdir(log)).filter((name) => /^\d{20}\.json$/u.test(name)).sort();
  const live = new Set<string>();
  for (const [version, name] of commits.entries()) {
    if (Number(name.slice(0, 20)) !== version) throw new Error(`${log} has no version ${version}`);
    const lines = (await readFile(join(log, name), 'utf8')).split('\n').filter(Boolean);
    for (const { add, remove } of lines.map((line) => JSON.parse(line) as LogLine)) {
      if (add) live.add(add.path);
      if (remove && !live.delete(remove.path)) throw new Error(`${name} removes ${remove.path}, which is not there`);
    }
  }
  const files = [...live].map((path) => quoteLiteral(join(folder, decodeURIComponent(path))));
  return `read_parquet([${files.join(', ')}], union_by_name = true)`;
}

/** SQL: the rows of a table as docs/lake.md explains them. @param runs those of `runs_changes`; @param identity what identifies a row */
export function rowsAsOf(table: string, runs: string, identity: string, at: string): string {
  return `(
    select * from (
      select * from ${table}
      where publish in (select publish from ${runs}) and as_of <= timestamptz ${quoteLiteral(at)}
      qualify row_number() over (partition by ${identity}, as_of order by publish desc) = 1
    )
    where op <> 'void'
    qualify row_number() over (partition by ${identity} order by as_of desc) = 1 and op <> 'delete'
  )`;
}
