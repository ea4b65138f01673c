import type { ErrorCode } from '../core/errors.ts';

/** Formats of a result that the server sends: text in parts, or a file. */
export type ResultFormat = 'csv' | 'json' | 'ndjson' | 'parquet' | 'xlsx';

/** One query, as the server gives it to a worker. */
export interface WorkerRequest {
  /** The configuration file. */
  readonly config: string;
  readonly query: string;
  /** Name of the saved query that `query` comes from. */
  readonly saved?: string;
  readonly params: Readonly<Record<string, string>>;
  /** ISO 8601. */
  readonly asOf?: string;
  readonly format: ResultFormat;
  /** Ends the result after so many rows; for pages, which show a beginning. */
  readonly maxRows?: number;
}

/** A column of a result and its type in DuckDB's words. */
export interface ColumnInfo {
  readonly name: string;
  readonly type: string;
  readonly isNumber: boolean;
}

/** What the server tells a worker: a query, and that it takes the next part. */
export type ToWorker = { readonly kind: 'run'; readonly request: WorkerRequest } | { readonly kind: 'next' };

/** What a worker answers: the columns, parts of text or one file, and the end. */
export type FromWorker =
  | { readonly kind: 'columns'; readonly columns: readonly ColumnInfo[] }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'done'; readonly rows: number; readonly isCut: boolean }
  | { readonly kind: 'error'; readonly code: ErrorCode; readonly message: string; readonly hint?: string };
