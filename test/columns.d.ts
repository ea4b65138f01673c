export interface ColumnReaders {
  readonly table: string;
  readonly column: string;
  readonly readers: readonly string[];
}
export function readMatrix(): readonly ColumnReaders[];
/** Columns by the reason why nothing reads them. */
export function readReasons(): Readonly<Record<string, readonly string[]>>;
