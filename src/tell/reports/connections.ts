import pLimit from 'p-limit';
import { errorMessage } from '../../core/errors.ts';
import { bounded, type Database, MAX_QUERY_MS, type SqlParams, type Statements } from '../../warehouse/database.ts';
import { defineMissing } from '../../warehouse/migrate.ts';
import { quoteLiteral, type SqlFiles } from '../../warehouse/sql-files.ts';
import { fillParams } from '../../warehouse/sql-params.ts';
import type { Row } from '../../warehouse/values.ts';

export type Queries = Pick<Statements, 'rows'>;

/** Connections of a reader. To plan the statement of a report takes a processor as long as to run it, so two run at a time. */
const CONNECTIONS = 2;

/** What `queries/warehouse/read_kept_states.sql` fails with. */
const NOT_PREPARED = 'the state of the sources is not prepared for this time';

/**
 * Runs each statement on the next connection that is free. The database's own is left to statements that need its temporary tables.
 * @param times those of the statements, for which the state of the sources is read once: most statements need it
 */
export async function shareConnections(
  database: Database,
  files: SqlFiles,
  times: readonly string[],
): Promise<Queries> {
  const literals = times.map((time) => `timestamptz ${quoteLiteral(time)}`);
  const states = literals.map((time) => files.render('warehouse/kept_state', { time }));
  const forget = files.render('warehouse/forget_kept_states', {});
  const keep = files.render('warehouse/keep_states', { states: states.join('\nunion all\n') });
  const begin = `${forget}\n${keep}`;
  const hideMacro = files.render('warehouse/read_kept_states', { times: literals.join(', ') });
  const prepare = async (connection: Statements) => {
    const [created] = await connection.script(begin);
    // Without any state there is no row whose time could be wrong: the macro of the warehouse stays.
    const useStates = Number(created?.Count) > 0 ? hideMacro : forget;
    await connection.script(useStates);
    return { connection, useStates };
  };
  const connections = await database.siblings(CONNECTIONS);
  await defineMissing(connections, files);
  const free = [...(await allInOrder(connections.map(prepare)))];
  const limit = pLimit(free.length);
  return {
    rows: (sql: string, params: SqlParams = {}, limitMs = MAX_QUERY_MS) =>
      limit(async () => {
        const text = fillParams(sql, params);
        const taken = free.pop() as (typeof free)[number];
        try {
          return await bounded(taken.connection, limitMs, () =>
            taken.connection.script(text).catch((error: unknown) => {
              if (!errorMessage(error).includes(NOT_PREPARED)) throw error;
              return runWithoutStates(taken, text);
            }),
          );
        } finally {
          free.push(taken);
        }
      }),
  };
  /** Once more: it may ask for a time that is not prepared. */
  async function runWithoutStates({ connection, useStates }: (typeof free)[number], text: string): Promise<Row[]> {
    await connection.script(forget);
    try {
      return await connection.script(text);
    } finally {
      await connection.script(useStates);
    }
  }
}

/** The results of work that is under way, or the error of the first that fails in this order. None is under way any more then. */
export async function allInOrder<const T extends readonly unknown[]>(
  work: T,
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  await Promise.allSettled(work);
  return Promise.all(work);
}
