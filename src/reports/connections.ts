import pLimit from 'p-limit';
import type { Database, Statements } from '../warehouse/database.ts';
import type { SqlFiles } from '../warehouse/sql-files.ts';

/** What runs the statements of reports. */
export type Queries = Pick<Statements, 'rows'>;

/** Connections of a reader. To plan the statement of a report takes a processor as long as to run it, so two run at a time. */
const CONNECTIONS = 2;

/** Runs each statement on the next connection that is free. The database's own is left to statements that need its temporary tables. */
export async function shareConnections(database: Database, files: SqlFiles): Promise<Queries> {
  const free = [...(await database.siblings(CONNECTIONS))];
  // The published warehouse is read-only, so the macro that the queries call exists in these connections only.
  const macro = await files.render('warehouse/semver_key', { kind: 'temp macro' });
  await allInOrder(free.map((connection) => connection.run(macro)));
  const limit = pLimit(free.length);
  return {
    rows: (sql, params) =>
      limit(async () => {
        const connection = free.pop() as Statements;
        try {
          return await connection.rows(sql, params);
        } finally {
          free.push(connection);
        }
      }),
  };
}

/** The results of work that is under way, or the error of the first that fails in this order. None is under way any more then. */
export async function allInOrder<T>(work: readonly Promise<T>[]): Promise<readonly T[]> {
  const settled = await Promise.allSettled(work);
  return settled.map((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  });
}
