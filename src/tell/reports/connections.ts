import pLimit from 'p-limit';
import type { Database, SqlParams, Statements } from '../../warehouse/database.ts';
import { defineMissing } from '../../warehouse/deadlines.ts';
import { renderDefinitions } from '../../warehouse/migrate.ts';
import { quoteLiteral, type SqlFiles } from '../../warehouse/sql-files.ts';
import { fillParams } from '../../warehouse/sql-params.ts';
import type { Row } from '../../warehouse/values.ts';

/** What runs the statements of reports. */
export type Queries = Pick<Statements, 'rows'>;

/** Connections of a reader. To plan the statement of a report takes a processor as long as to run it, so two run at a time. */
const CONNECTIONS = 2;

/**
 * Runs each statement on the next connection that is free. The database's own is left to statements that need its temporary tables.
 * @param times those of the statements, for which the state of the sources is read once: most statements need it
 */
export async function shareConnections(
  database: Database,
  files: SqlFiles,
  times: readonly string[],
): Promise<Queries> {
  const free = [...(await database.siblings(CONNECTIONS))];
  const macros = await makeMacros(files);
  const literals = times.map((time) => `timestamptz ${quoteLiteral(time)}`);
  const states = literals.map((time) => files.render('warehouse/kept_state', { time }));
  const begin = [
    macros,
    files.render('warehouse/forget_kept_states', {}),
    files.render('warehouse/keep_states', { states: states.join('\nunion all\n') }),
  ].join('\n');
  const hideMacro = files.render('warehouse/read_kept_states', { times: literals.join(', ') });
  const prepare = async (connection: Statements) => {
    const [created] = await connection.script(begin);
    // Without any state there is no row whose time could be wrong: the macro of the warehouse stays.
    if (Number(created?.Count) > 0) await connection.script(hideMacro);
  };
  await allInOrder(free.map(prepare));
  const limit = pLimit(free.length);
  const withStates = (text: string) =>
    limit(async () => {
      const connection = free.pop() as Statements;
      try {
        return await connection.script(text);
      } finally {
        free.push(connection);
      }
    });
  const alone = pLimit(1);
  const withoutStates = (text: string): Promise<Row[]> =>
    alone(async () => {
      const connection = (await database.siblings(CONNECTIONS + 1)).at(-1) as Statements;
      await connection.script(macros);
      await defineMissing(connection, files);
      return connection.script(text);
    });
  return {
    rows: async (sql: string, params: SqlParams = {}) => {
      const text = fillParams(sql, params);
      return withStates(text).catch(() => withoutStates(text)); // it may ask for a time that is not prepared
    },
  };
}

/** The published warehouse is read-only, and an earlier version may have written it: what the queries call exists in these connections. */
async function makeMacros(files: SqlFiles): Promise<string> {
  const semverKey = files.render('warehouse/semver_key', { scope: 'temp ' });
  return [semverKey, ...(await renderDefinitions(files, 'temp '))].join('\n');
}

/** The results of work that is under way, or the error of the first that fails in this order. None is under way any more then. */
export async function allInOrder<const T extends readonly unknown[]>(
  work: T,
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  await Promise.allSettled(work);
  return Promise.all(work);
}
