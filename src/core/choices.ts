/**
 * Values that the help and the completion of commands show, beside the code that uses them. This file imports nothing, so that
 * help and completion load no more than they show.
 */

/** From the least to the most severe. */
export const SEVERITIES = ['info', 'warning', 'critical'] as const;
export type Severity = (typeof SEVERITIES)[number];

export const FINDING_STATES = ['new', 'open', 'resolved', 'accepted'] as const;
export type FindingState = (typeof FINDING_STATES)[number];

/** Output formats of a query. */
export const FORMATS = ['table', 'line', 'csv', 'json', 'ndjson', 'markdown', 'parquet', 'xlsx'] as const;
export type Format = (typeof FORMATS)[number];

export const DIFF_FORMATS = ['text', 'markdown'] as const;
export type DiffFormat = (typeof DIFF_FORMATS)[number];

/** Upper bounds of what a plan may change. */
export const DEFAULT_LIMITS: Readonly<Record<'maxActions' | 'maxPercent' | 'minRows', number>> = {
  maxActions: 25,
  /** Of the rows that the playbook's table has in a target. */
  maxPercent: 20,
  /** So many rows may be affected whatever their share is: 1 of 3 rows is 33 %. */
  minRows: 5,
};
export type PlanLimits = typeof DEFAULT_LIMITS;

/** An apply stops after so many failed or unconfirmed actions. */
export const DEFAULT_MAX_FAILURES = 3;

/** So many days are the findings of an undo accepted. */
export const DEFAULT_ACCEPT_DAYS = 30;

/** Parts of the targets. */
export const MAX_SHARDS = 1_000;

/** Node waits for no longer than 2^31 milliseconds. */
export const MAX_SECONDS = 2_000_000;

/** Shells that `tidemark completion` knows. */
export const SHELLS = ['bash', 'zsh', 'fish'] as const;

/** Engines that `tidemark lake ddl` writes statements for. */
export const ENGINES = ['spark', 'trino', 'clickhouse', 'duckdb'] as const;
export type Engine = (typeof ENGINES)[number];
