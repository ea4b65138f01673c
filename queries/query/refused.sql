-- What a query may not name: functions that act, run SQL in a text, read memory by address, or tell paths, host or user.
-- Grain: one row per name and kind. kind: `function`, `table function` or `view`.
-- Refused by kind, so that a function of a later DuckDB is refused until someone decides: every table function, and every scalar
-- function that is not pure, but for those that are known to be harmless. Pure functions are allowed, but for one that tells settings
-- and one that plans a SQL text. A view of DuckDB is refused if it reads a refused function.
with functions as (
  select
    function_name as name,
    if(function_type in ('table', 'table_macro', 'pragma'), 'table function', 'function') as kind,
    stability = 'VOLATILE' as is_volatile
  from duckdb_functions()
  where internal
),
refused as (
  select distinct name, kind
  from functions
  where
    case
      when kind = 'table function' then name not in (
        'duckdb_columns', 'duckdb_constraints', 'duckdb_dependencies', 'duckdb_functions', 'duckdb_indexes', 'duckdb_keywords',
        'duckdb_memory', 'duckdb_schemas', 'duckdb_sequences', 'duckdb_tables', 'duckdb_types', 'duckdb_views', 'generate_series',
        'icu_calendar_names', 'json_each', 'json_tree', 'pg_timezone_names', 'pragma_collations', 'pragma_show',
        'pragma_storage_info', 'pragma_table_info', 'pragma_version', 'range', 'repeat', 'repeat_row', 'summary', 'test_all_types',
        'unnest'
      )
      when is_volatile then name not in (
        'current_connection_id', 'current_query', 'current_query_id', 'current_transaction_id', 'error', 'gen_random_uuid', 'random',
        'setseed', 'sleep_ms', 'stats', 'uuid', 'uuidv4', 'uuidv7'
      )
      else name in ('current_setting', 'json_serialize_plan')
    end
)
from refused
union all
select view_name as name, 'view' as kind
from duckdb_views() as views
where internal and exists (from refused where kind = 'table function' and contains(views.sql, concat(name, '(')))
order by name, kind
