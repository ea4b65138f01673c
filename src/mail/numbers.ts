import { discover } from '../core/paths.ts';
import { headerOf, type SqlFiles } from '../warehouse/sql-files.ts';
import type { Row } from '../warehouse/values.ts';

/** A number of the digest: a file in `queries/mail/numbers/`, whose head names it and whose one row tells it. */
export interface NumberRow {
  readonly name: string;
  readonly label: string;
  /** The report that tells more of it. */
  readonly report: string;
  /** Its place among the numbers of the subject. */
  readonly subjectOrder: number;
  /** Its words in the subject, for one and for many; null where it does not belong there. */
  readonly words: { readonly one: string; readonly many: string } | null;
  /** Column of `mail/nights` with the same number night by night. */
  readonly nights: string | null;
  readonly value: number;
  /** The number before; null where it is not known. */
  readonly before: number | null;
  /** What came and what went; null where only the number itself is compared. */
  readonly appeared: number | null;
  readonly gone: number | null;
}

/** Place of a number whose head names none. */
const LAST = 99;

/** Every number that has something to tell, in the order of the heads. */
export async function loadNumbers(
  files: SqlFiles,
  rowsOf: (name: string) => Promise<readonly Row[]>,
): Promise<readonly NumberRow[]> {
  const names = [...(await discover(files.roots, 'queries/mail/numbers', '.sql')).keys()];
  const found: { order: number; row: NumberRow }[] = [];
  for (const name of names) {
    const header = headerOf(await files.text(`mail/numbers/${name}`));
    const [row] = await rowsOf(`mail/numbers/${name}`);
    if (row) found.push({ order: Number(header.order ?? LAST), row: numberRow(name, header, row) });
  }
  return found.sort((a, b) => a.order - b.order).map(({ row }) => row);
}

function numberRow(name: string, header: Readonly<Record<string, string>>, row: Row): NumberRow {
  const told = (column: string) => (row[column] === null || row[column] === undefined ? null : Number(row[column]));
  return {
    name,
    label: header.label ?? name,
    report: header.report ?? '',
    subjectOrder: Number(header.subject ?? header.order ?? LAST),
    words: header.one && header.many ? { one: header.one, many: header.many } : null,
    nights: header.nights ?? null,
    value: Number(row.value),
    before: told('before'),
    appeared: told('appeared'),
    gone: told('gone'),
  };
}

/** Whether it moved since the digest before. */
export function moved({ value, before, appeared, gone }: NumberRow): boolean {
  return Boolean(appeared) || Boolean(gone) || (before !== null && before !== value);
}

/** `+3 −1`, `+2`, `no change`; empty where nothing is known to compare with. */
export function changeOf({ value, before, appeared, gone }: NumberRow): string {
  if (appeared !== null && gone !== null) {
    const parts = [appeared > 0 ? `+${appeared}` : '', gone > 0 ? `−${gone}` : ''].filter(Boolean);
    if (parts.length > 0) return parts.join(' ');
  }
  if (before === null) return '';
  if (before === value) return 'no change';
  return value > before ? `+${value - before}` : `−${before - value}`;
}
