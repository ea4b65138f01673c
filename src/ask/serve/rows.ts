import { type Moment, resolveMoment } from '../../warehouse/moment.ts';
import { fillParams } from '../../warehouse/sql-params.ts';
import { readPage, toRequest } from './results.ts';
import type { Exchange } from './route.ts';

/** A row of a query of ours: the texts of its columns. */
export type TextRow = Readonly<Record<string, string | null>>;

/** Rows of a query below `queries/` that a page reads. */
const MAX_ROWS = 2_000;

/** Runs a query of ours in a worker, with its texts as they are. Parameters that it does not use are left out. */
export async function readRows(
  exchange: Exchange,
  query: string,
  params: Readonly<Record<string, string>> = {},
  maxRows = MAX_ROWS,
): Promise<readonly TextRow[]> {
  const request = toRequest(exchange, { query: fillParams(query, params), isOwn: true, format: 'rows' });
  const { columns, rows } = await readPage(exchange, request, { maxRows });
  return rows.map((row) => Object.fromEntries(columns.map(({ name }, index) => [name, row[index] ?? null])));
}

/** A number that is known, for templates. */
export function toCount(text: string | null | undefined): number | null {
  return text == null ? null : Number(text);
}

/** The time that a page shows: `as_of`, or now. */
export function shownTime({ moment, clock }: Pick<Exchange, 'moment' | 'clock'>): Date {
  return moment?.at ?? clock.now();
}

/** The moment that the parameter `as_of` of an address names. @throws TidemarkError USAGE as `resolveMoment` */
export async function readMoment(exchange: Exchange): Promise<Moment | undefined> {
  const { url, files, clock, readTimeZone } = exchange;
  const text = url.searchParams.get('as_of') ?? '';
  if (text === '') return undefined;
  const rows = (sql: string, params: Readonly<Record<string, string>>) => readRows(exchange, sql, params);
  return resolveMoment(text, { rows, files, now: clock.now(), timeZone: await readTimeZone() });
}
