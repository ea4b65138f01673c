import type { Config } from '../config/config.ts';
import type { Format } from '../core/choices.ts';
import type { Context } from '../core/context.ts';
import { isTextFormat, TEXT_FORMATS } from '../query/formats.ts';
import type { Screen } from '../query/rows.ts';
import { resolveParameters, type SavedQuery } from '../query/saved.ts';
import { type PreparedQuery, type QueryParams, QuerySession } from '../query/session.ts';
import { writeLines } from '../query/write-lines.ts';
import { writeTable } from '../query/write-table.ts';
import { type WriteText, writeText } from '../query/write-text.ts';
import { formatTable, writeResult } from './output.ts';

/** One query of a command or of the shell. */
export interface QueryRequest {
  readonly config: Config;
  readonly query: string;
  /** The saved query that `query` comes from: it checks the parameters and has defaults for them. */
  readonly saved?: SavedQuery | undefined;
  readonly params: QueryParams;
  readonly asOf?: Date | undefined;
  readonly timeoutSeconds?: number | undefined;
  readonly signal: AbortSignal;
}

/** Opens a session for one query, gives the query to `work`, and closes the session. */
export async function withQuery<T>(
  { config, query, saved, params, asOf, timeoutSeconds, signal }: QueryRequest,
  work: (session: QuerySession, query: PreparedQuery) => Promise<T>,
  output?: string,
): Promise<T> {
  const session = await QuerySession.open({
    config,
    signal,
    ...(asOf && { asOf }),
    ...(output !== undefined && { output }),
    ...(timeoutSeconds !== undefined && { limits: { timeoutSeconds } }),
  });
  try {
    const values = saved ? await resolveParameters(saved, params, session) : params;
    return await work(session, await session.prepare(query, values));
  } finally {
    await session.close();
  }
}

/** Writes the result of a query as text. Returns the number of rows. */
export async function printQuery(
  request: QueryRequest,
  format: Format,
  screen: Screen | undefined,
  write: WriteText,
): Promise<number> {
  return withQuery(request, async (session, query) => {
    if (isTextFormat(format)) return writeText(session, query, TEXT_FORMATS[format], write);
    return (format === 'line' ? writeLines : writeTable)(session, query, write, screen);
  });
}

const DEFAULT_MAX_ROWS = 40;

/** A terminal shows the first and last rows; elsewhere every row is written unless `maxRows` is given. 0 means all. */
export function selectScreen({ screen, colors }: Context, maxRows: number | undefined): Screen | undefined {
  if (screen === undefined && maxRows === undefined) return undefined;
  const rows = maxRows ?? DEFAULT_MAX_ROWS;
  return {
    width: screen?.columns ?? Number.POSITIVE_INFINITY,
    maxRows: rows === 0 ? Number.POSITIVE_INFINITY : rows,
    colors,
  };
}

/** Prints the saved queries. */
export function listSavedQueries(context: Context, queries: ReadonlyMap<string, SavedQuery>): void {
  const list = [...queries.values()];
  writeResult(context, list, () =>
    formatTable(
      ['query', 'title', 'parameters'],
      list.map(({ name, title, parameters }) => [
        name,
        title,
        parameters.map((parameter) => parameter.name).join(', '),
      ]),
      context,
    ),
  );
}
