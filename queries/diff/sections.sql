-- grain: one row per row of `difference`, with its place in the order that is shown and the number of the section that is read at once
-- One thing's rows follow each other. Only what names a row is sorted: DuckDB sorts long texts in memory alone.
create or replace temp table sections as
with
  narrow as materialized (
    select
      rowid as id,
      "table",
      target,
      name,
      key,
      change,
      "column",
      1000 + coalesce(strlen(old), 0) + coalesce(strlen("new"), 0) as bytes,
    from difference
  )
select
  id,
  row_number() over shown as nth,
  floor(sum(bytes) over shown / 16e6)::bigint as section,
from narrow
window shown as (order by "table", target, coalesce(name, key), key, change, "column" rows unbounded preceding);
