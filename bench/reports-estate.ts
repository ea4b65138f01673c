import { PACKAGE_ROOT } from '../src/core/paths.ts';
import { type Database, openDatabase } from '../src/warehouse/database.ts';
import { migrate } from '../src/warehouse/migrate.ts';
import { createSqlFiles, type SqlFiles } from '../src/warehouse/sql-files.ts';

export interface Year {
  readonly database: Database;
  readonly files: SqlFiles;
  readonly asOf: Date;
}

const START = '2025-11-20T02:15:00Z';
const RUNS = 365;

/** A warehouse of 365 runs and 10,000 workspaces of which 2 % change each run; the other tables in proportion. */
export async function createYear(file: string): Promise<Year> {
  const database = await openDatabase(file);
  const files = createSqlFiles([PACKAGE_ROOT]);
  await migrate(database, files);
  const start = `timestamptz '${START}'`;
  await database.run(
    `create temp table run_times as select n, ${start} + to_days(n::integer) as run_at from range(${RUNS}) t(n)`,
  );
  for (const statement of STATEMENTS) await database.run(statement);
  await database.run('checkpoint');
  return { database, files, asOf: new Date(Date.parse(START) + (RUNS - 1) * 86_400_000) };
}

const VERSIONS = "['1.5.7', '1.8.5', '1.9.8', '1.10.5', '1.11.4', '1.12.2', '1.13.0-rc1', '1.13.0']";

const STATEMENTS = [
  `insert into runs
   select strftime(run_at, '%Y%m%dT%H%M%SZ'), 'acme', 'nightly', 'complete', run_at, run_at from run_times`,
  `insert into pulls (run_id, target, source, status, started_at, finished_at, as_of)
   select strftime(run_at, '%Y%m%dT%H%M%SZ'), 'acme', source, 'complete', run_at, run_at, run_at
   from run_times, unnest(['workspaces', 'tf_versions', 'providers', 'modules', 'saved_views', 'saved_view_rows', 'agent_pools',
     'agents', 'keys', 'kms_providers', 'key_distributions', 'mesh_roles', 'acl_policies', 'volumes', 'external_volumes',
     'volume_snapshots', 'autoscaler_health', 'autoscaler_metrics', 'ca_roots', 'leaf_certificates']) s(source)`,
  `insert into workspaces_history by name
   with versions as (
     select w, run_at, hash(w, n) as h, hash(w, n, 1) as h2
     from range(10000) t(w), run_times
     where n = 0 or hash(w, n, 7) % 50 = 0
   )
   select
     'acme' as target,
     format('ws-{:05d}', w) as external_id,
     format('team-{}-service-{:05d}', w % 97, w) as workspace_name,
     format('prj-{}', w % 97) as project_external_id,
     format('project {}', w % 97) as project_name,
     'acme' as organization_name,
     case when h % 20 = 0 then null else h % 10 = 1 end as drifted,
     case when h % 10 = 1 then h % 13 end as resources_drifted,
     case when h2 % 25 = 0 then 1 + h2 % 3 else 0 end::bigint as checks_failed,
     case when h2 % 60 = 0 then 1 else 0 end as checks_errored,
     case when h2 % 45 = 0 then 1 else 0 end as checks_unknown,
     (h2 % 8)::bigint as checks_passed,
     ['applied', 'planned_and_finished', 'errored', 'discarded'][(1 + h % 4)::integer] as current_run_status,
     ${VERSIONS}[(1 + (w + year(run_at) * 12 + month(run_at)) % 8)::integer] as workspace_iac_version,
     (h % 300)::bigint as current_rum_count,
     run_at as valid_from,
     lead(run_at) over (partition by w order by run_at) as valid_to
   from versions`,
  `insert into tf_versions_rows by name
   select
     'acme' as target,
     version,
     (1000 + hash(version, n) % 400)::bigint as workspace_count,
     run_at as valid_from,
     lead(run_at) over (partition by version order by run_at) as valid_to
   from run_times, unnest(${VERSIONS}) v(version)`,
  ...['providers', 'modules'].map(
    (table) => `insert into ${table}_rows by name
   select
     'acme' as target,
     format('${table}-{}', p) as name,
     format('registry.example/acme/{}', p) as source,
     ${VERSIONS}[(1 + p % 3 + v)::integer] as version,
     (hash(p, v, n) % 900)::bigint as workspace_count,
     run_at as valid_from,
     lead(run_at) over (partition by p, v order by run_at) as valid_to
   from run_times, range(40) t(p), range(4) u(v)`,
  ),
  ...['providers', 'modules', 'tf_versions'].map(
    (table) => `insert into ${table}_members by name
   select columns(name -> list_contains(['target', 'name', 'source', 'version'], name)), 1 as nth, m::double as rank,
     format('team-{}-service-{:05d}', m % 97, m) as member, timestamptz '${START}' as valid_from
   from (from ${table}_rows where valid_to is null) as rows, range(500) t(m)`,
  ),
  `insert into agent_pools_history by name
   select 'acme' as target, format('apool-{}', p) as pool_id, format('pool-{}', p) as name, true as organization_scoped,
     timestamptz '${START}' as valid_from
   from range(30) t(p)`,
  `insert into agents_history by name
   select 'acme' as target, format('agent-{}', a) as agent_id, format('apool-{}', a % 30) as pool_id, format('agent {}', a) as name,
     ['idle', 'busy', 'exited', 'errored', 'unknown'][(1 + hash(a, n) % 5)::integer] as status,
     run_at - to_seconds((hash(a, n) % 1000)::bigint) as last_ping_at,
     run_at as valid_from,
     lead(run_at) over (partition by a order by run_at) as valid_to
   from run_times, range(300) t(a)`,
  `insert into keys_history by name
   select 'acme' as target, format('key-{}', k) as name, 'aes256-gcm96' as type, k % 9 = 0 as deletion_allowed,
     0 as min_enabled_version, n // 30 + 1 as latest_version,
     run_at as valid_from,
     lead(run_at) over (partition by k order by run_at) as valid_to
   from run_times, range(100) t(k)
   where n % 30 = 0`,
  `insert into key_versions_history by name
   select target, name as key_name, latest_version as version, valid_from as creation_time, valid_from from keys_history`,
  `insert into volumes_history by name
   select 'acme' as target, format('vol-{}', v) as volume_id, format('ext-{}', v) as external_id, 'default' as namespace,
     format('vol-{}', v) as name, hash(v, n) % 30 > 0 as schedulable, 'csi' as plugin_id,
     run_at as valid_from,
     lead(run_at) over (partition by v order by run_at) as valid_to
   from run_times, range(400) t(v)
   where n = 0 or hash(v, n, 3) % 50 = 0`,
  `insert into external_volume_listings_history by name
   select 'acme' as target, 'csi' as plugin_id, true as supported, timestamptz '${START}' as valid_from`,
  `insert into volume_snapshot_listings_history by name
   select 'acme' as target, 'csi' as plugin_id, true as supported, timestamptz '${START}' as valid_from`,
  `insert into external_volumes_history by name
   select 'acme' as target, 'csi' as plugin_id, format('ext-{}', v) as external_id, 10_000_000_000 as capacity_bytes,
     timestamptz '${START}' as valid_from
   from range(420) t(v)`,
  `insert into volume_snapshots_history by name
   select 'acme' as target, 'csi' as plugin_id, format('snap-{}-{}', v, n) as snapshot_id,
     format('ext-{}', v) as external_source_volume_id, 1_000_000_000 as size_bytes, run_at as created_at, true as is_ready,
     run_at as valid_from,
     case when n < ${RUNS} - 60 then run_at + interval 60 days end as valid_to
   from run_times, range(400) t(v)
   where (v + n) % 14 = 0`,
  `insert into findings by name
   select finding_id, 'acme' as target, rule, 'warning' as severity, 'workspace' as subject_type, external_id as subject_id,
     workspace_name as subject_name, 'Workspace ' || workspace_name || ' drifts' as title, 'open' as state,
     valid_from as first_seen, valid_from as last_seen, 0 as times_reopened
   from (select 'f-' || external_id as finding_id, 'drifted-workspace' as rule, * from workspaces_history where drifted and valid_to is null)`,
  `insert into finding_events by name
   select finding_id, target, rule, first_seen as changed_at, state, severity, 'found' as reason from findings`,
];
