import { TidemarkError } from '../core/errors.ts';
import { firstLine } from '../warehouse/database.ts';
import { isOutOfMemory } from '../warehouse/integrity.ts';
import type { Table } from '../warehouse/tables.ts';
import { findBadKeyLine, findCellLine } from './bad-row.ts';
import type { LoadOptions } from './load.ts';

/** DuckDB says in several lines where a file is not as declared; one line of it is told. */
export async function withLoadErrors(
  table: Table,
  { manifest, directory }: Landed,
  fill: () => Promise<void>,
): Promise<void> {
  try {
    await fill();
  } catch (error) {
    if (error instanceof TidemarkError || isOutOfMemory(error)) throw error;
    const cell = BAD_TIME.exec(firstLine(error))?.[1];
    const place = cell === undefined ? undefined : await findCellLine(manifest, directory, cell);
    const message = `${table.name}: ${placeAndReason(error)}${place === undefined ? '' : `: ${place}`}`;
    throw new TidemarkError('DATA', message, { cause: error });
  }
}

type Landed = Pick<LoadOptions, 'manifest' | 'directory'>;

/** How DuckDB tells of a text that is no time. */
const BAD_TIME = /timestamp field [^"]*"(.*)"(?:,|$)/u;

function placeAndReason(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const line = /CSV Error on Line: (\d+)/u.exec(message)?.[1];
  if (line === undefined) return firstLine(error).replace(/^\w[\w ]* Error: /u, '');
  const reason = message
    .split('\n')
    .find((text) => /^(Error when|Expected Number|Value with|Invalid unicode|Maximum line)/u.test(text));
  return `line ${line} of the CSV is not as declared: ${reason ?? firstLine(error)}`;
}

/** A key that is refused is told with its line, where the file has lines that a person can go to. */
export async function withKeyLocation(
  table: Table,
  { manifest, directory }: Landed,
  check: () => Promise<void>,
): Promise<void> {
  try {
    await check();
  } catch (error) {
    if (!(error instanceof TidemarkError)) throw error;
    const place = await findBadKeyLine(manifest, directory, table.key);
    throw place === undefined ? error : new TidemarkError('DATA', `${error.message}: ${place}`, { cause: error });
  }
}
