const HEALTH = 'insert into autoscaler_health_history (target, alive, valid_from, valid_to) values';
const METRIC = `insert into autoscaler_metrics_history by name select 'a' as target, 'gauge' as kind, 'jobs' as name, '{}'::json as labels,
  1 as value, timestamptz '2026-09-29' as measured_at, timestamptz '2026-09-29T02:15:00Z' as valid_from`;
const FINDING = `insert into findings by name select unnest(['f', 'g']) as finding_id, 'a' as target, 'r' as rule, 'warning' as severity,
  's' as subject_type, 's' as subject_id, 't' as title, 'new' as state, timestamptz '2026-09-29' as first_seen,
  timestamptz '2026-09-29' as last_seen, 0 as times_reopened`;

type Night = readonly [asOf: string, ...changes: readonly string[]];

/** The nights of `test/system/lake/lake-0.1.0.tar.gz`, a lake with folders for months and tables of states: each the time and the changes of the warehouse. */
export const oldNights: readonly Night[] = [
  [
    '2026-09-29T02:15:00Z',
    `${HEALTH} ('a', true, '2026-09-29T02:15:00Z', null), ('b', true, '2026-09-29T02:15:00Z', null)`,
    METRIC,
    FINDING,
  ],
  [
    '2026-09-30T02:15:00Z',
    `update autoscaler_health_history set valid_to = '2026-09-30T02:15:00Z' where target = 'b'`,
    `update autoscaler_metrics_history set measured_at = timestamptz '2026-09-30'`,
  ],
  [
    '2026-10-02T02:15:00Z',
    `update autoscaler_health_history set valid_to = '2026-10-02T02:15:00Z' where target = 'a'`,
    `${HEALTH} ('a', false, '2026-10-02T02:15:00Z', null)`,
    `update findings set state = 'resolved' where finding_id = 'f'`,
    `delete from findings where finding_id = 'g'`,
  ],
];
