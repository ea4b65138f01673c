/** What one query may use. */
export interface QueryLimits {
  readonly timeoutSeconds: number;
  /** A size as DuckDB reads it, such as `1GB`. */
  readonly memory: string;
  /** Temporary disk space, such as `10GB`. */
  readonly temporary: string;
}
