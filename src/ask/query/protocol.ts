import type { Format } from '../../core/choices.ts';
import type { ErrorCode } from '../../core/errors.ts';
import type { SessionConfig } from './session.ts';

/** One query, as a process that runs queries takes it. */
export interface QueryRequest {
  readonly config: SessionConfig;
  readonly query: string;
  /** It is a query of ours, and nothing that a person wrote: it is not checked, and its texts are not cut. @default false */
  readonly isOwn?: boolean;
  readonly params: Readonly<Record<string, string>>;
  readonly asOf?: Date | undefined;
  /** `rows`: the rows of a page, each a JSON list of texts and nulls. */
  readonly format: Format | 'rows';
  /** Ends the result after so many rows; for pages, which show a beginning. */
  readonly maxRows?: number | undefined;
  /** The terminal that the formats `table` and `line` are fitted to. */
  readonly screen?: ScreenSize | undefined;
  /** The file to write instead of sending text. `parquet` and `xlsx` have one of their own without it. */
  readonly output?: string;
}

export interface ScreenSize {
  /** Characters of a line. */
  readonly width: number;
  /** Rows shown: of more, the first and the last. */
  readonly maxRows: number;
  readonly hasColor: boolean;
}

/** A column of a result and its type in DuckDB's words. */
export interface ColumnInfo {
  readonly name: string;
  readonly type: string;
  readonly isNumber: boolean;
}

/** Messages to the process: run a query, send the next part. */
export type ToChild = { readonly kind: 'run'; readonly request: QueryRequest } | { readonly kind: 'next' };

/** What the process answers: that the time of the query begins, parts of text, and the end. */
export type FromChild =
  | { readonly kind: 'started' }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'done'; readonly summary: ResultSummary }
  | { readonly kind: 'error'; readonly code: ErrorCode; readonly message: string; readonly hint: string | undefined };

export interface ResultSummary {
  readonly columns: readonly ColumnInfo[];
  readonly rows: number;
  /** More rows would follow. */
  readonly isCut: boolean;
  /** The file of a result that is one, where the request names none. It belongs to the receiver, which removes its folder. */
  readonly file?: string;
}

/** What of a configuration goes to the process of a query: no target, and so no secret. @param timeout seconds */
export function queryConfig({ data, directory, sql }: SessionConfig, timeout = sql.timeout): SessionConfig {
  return { data, directory, sql: { ...sql, timeout } };
}

/** Takes a part of the output; resolves when the next may follow. */
export type WriteText = (text: string) => Promise<void>;
