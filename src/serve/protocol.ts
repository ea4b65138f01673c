import type { ErrorCode } from '../core/errors.ts';
import type { SessionConfig } from '../query/session.ts';

/** Formats of a result that the server sends: text in parts, or a file. */
export type ResultFormat = 'csv' | 'json' | 'ndjson' | 'parquet' | 'xlsx';

/** One query, as the server gives it to a worker. */
export interface WorkerRequest {
  readonly config: SessionConfig;
  readonly query: string;
  /** Name of the saved query that `query` comes from. */
  readonly saved?: string;
  readonly params: Readonly<Record<string, string>>;
  /** ISO 8601. */
  readonly asOf?: string;
  /** `rows`: the rows of a page, each a JSON list of texts and nulls. */
  readonly format: ResultFormat | 'rows';
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
  | { readonly kind: 'done'; readonly summary: ResultSummary }
  | { readonly kind: 'error'; readonly code: ErrorCode; readonly message: string; readonly hint?: string };

export interface ResultSummary {
  readonly rows: number;
  /** More rows would follow. */
  readonly isCut: boolean;
  /** The file of a result that is one. It belongs to the receiver, which removes its folder. */
  readonly file?: string;
}
