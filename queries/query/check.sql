-- What DuckDB's own parser says of a text that a person wrote, before anything of it is bound: to bind a function may already act.
-- Grain: one row. $text: the text.
-- `is_select`: it has only statements that DuckDB counts as SELECT (also FROM, VALUES, DESCRIBE, SUMMARIZE, SHOW). `is_malformed`:
-- its syntax is wrong. `names`: the functions and tables that it names, as `kind:name`. `moments`: the constant times of table functions
-- such as `workspaces_at('2026-11-20')`.
with parsed as (
  select json_serialize_sql($text::varchar) as tree
),
names as (
  select
    lower(value ->> '$') as name,
    -- SHOW, DESCRIBE and SUMMARIZE keep the quotes of a name.
    case when key = 'table_name' then 'view' when ends_with(path, '.function') then 'table function' else 'function' end as kind
  from parsed, json_tree(tree)
  where key in ('function_name', 'table_name')
),
moments as (
  select coalesce(value ->> '$.children[0].value.value', value ->> '$.children[0].child.value.value') as moment
  from parsed, json_tree(tree)
  where key = 'function' and ends_with(value ->> '$.function_name', '_at')
)
select
  not (tree ->> 'error')::boolean as is_select,
  coalesce(tree ->> 'error_type' = 'parser', false) as is_malformed,
  coalesce(json_array_length(tree, '$.statements'), 0) as statements,
  coalesce(
    (tree ->> '$.statements[0].node.from_table.type') = 'SHOW_REF'
    and case tree ->> '$.statements[0].node.from_table.table_name'
      when '"tables"' then true
      when '__show_tables_expanded' then regexp_matches($text::varchar, '^\s*describe\b', 'i')
    end,
    false
  ) as shows_tables,
  coalesce((select list(distinct concat(kind, ':', trim(name, '"'))) from names), []) as names,
  coalesce((select list(moment) filter (moment is not null) from moments), []) as moments,
from parsed
