import pLimit from 'p-limit';
import type { Database, Statements } from '../../warehouse/database.ts';
import { defineMissing } from '../../warehouse/migrate.ts';
import type { SqlFiles } from '../../warehouse/sql-files.ts';

export type Queries = Pick<Statements, 'rows' | 'each'>;

/** Connections of a reader. To plan the statement of a report takes a processor as long as to run it, so two run at a time. */
const CONNECTIONS = 2;

/**
 * Runs each statement on the next connection that is free, in their order: one is free when all rows are taken. The database's own is left to
 * statements that need its temporary tables.
 */
export async function shareConnections(database: Database, files: SqlFiles): Promise<Queries> {
  const connections = await database.siblings(CONNECTIONS);
  await defineMissing(connections, files);
  const free = [...connections];
  const limit = pLimit(free.length);
  const use = <T>(work: (connection: Statements) => Promise<T>) =>
    limit(() => {
      const connection = free.pop() as Statements;
      return work(connection).finally(() => free.push(connection));
    });
  return {
    rows: (...query) => use(({ rows }) => rows(...query)),
    each: (...query) => use(({ each }) => each(...query)),
  };
}
