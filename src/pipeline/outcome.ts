import type { Meter } from '../http/meter.ts';
import type { Delta } from '../warehouse/history.ts';
import type { Warehouse } from '../warehouse/session.ts';

export type PullStatus = 'complete' | 'failed' | 'quarantined';

/** What became of one source of one target. */
export interface PullOutcome {
  readonly target: string;
  readonly source: string;
  readonly status: PullStatus;
  readonly rows: number | null;
  readonly expected_rows: number | null;
  readonly requests: number;
  readonly retries: number;
  readonly throttle_wait_ms: number;
  readonly bytes: number;
  readonly inserted: number;
  readonly changed: number;
  readonly deleted: number;
  readonly error: string | null;
}

/** How a pull ended, beside what talking cost. */
export interface PullResult {
  readonly target: string;
  readonly source: string;
  readonly status: PullStatus;
  readonly expected: number | null;
  readonly delta?: Delta;
  readonly error?: string;
}

export function toPullOutcome(end: PullResult, meter: Meter): PullOutcome {
  return {
    target: end.target,
    source: end.source,
    status: end.status,
    rows: end.delta?.rowsAfter ?? null,
    expected_rows: end.expected,
    requests: meter.requests,
    retries: meter.retries,
    throttle_wait_ms: Math.round(meter.waitedMs),
    bytes: meter.bytes,
    inserted: end.delta?.inserted ?? 0,
    changed: end.delta?.changed ?? 0,
    deleted: end.delta?.deleted ?? 0,
    error: end.error ?? null,
  };
}

/** The run that a pull belongs to, and its times, ISO 8601. */
export interface PullTimestamps {
  readonly runId: string;
  readonly asOf: string;
  readonly startedAt: string;
  readonly finishedAt: string;
  /** When the rows were asked for; null where none came. */
  readonly landedAt: string | null;
}

/** Writes a row of `pulls`. */
export async function recordPull(
  { database, files }: Warehouse,
  outcome: PullOutcome,
  meter: Meter,
  times: PullTimestamps,
): Promise<void> {
  const { inserted: _appeared, changed: _changed, deleted: _gone, ...columns } = outcome;
  await database.run(await files.read('warehouse/record_pull'), {
    ...columns,
    run_id: times.runId,
    started_at: times.startedAt,
    finished_at: times.finishedAt,
    as_of: times.asOf,
    landed_at: times.landedAt,
    turned_away: meter.throttled,
  });
}
