import { TidemarkError } from '../core/errors.ts';
import { firstLine } from '../warehouse/database.ts';
import type { Table } from '../warehouse/tables.ts';
import { lineOfBadKey } from './bad-row.ts';
import type { LoadOptions } from './load.ts';

/** DuckDB says in several lines where a file is not as declared; one line of it is told. */
export async function refusable(table: Table, fill: () => Promise<void>): Promise<void> {
  try {
    await fill();
  } catch (error) {
    if (error instanceof TidemarkError) throw error;
    throw new TidemarkError('DATA', `${table.name}: ${placeAndReason(error)}`, { cause: error });
  }
}

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
export async function placed(
  table: Table,
  { manifest, directory }: Pick<LoadOptions, 'manifest' | 'directory'>,
  check: () => Promise<void>,
): Promise<void> {
  try {
    await check();
  } catch (error) {
    if (!(error instanceof TidemarkError)) throw error;
    const place = await lineOfBadKey(manifest, directory, table.key);
    throw place === undefined ? error : new TidemarkError('DATA', `${error.message}: ${place}`, { cause: error });
  }
}
