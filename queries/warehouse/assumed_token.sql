-- grain: one row, or none where nothing tells what the token is
-- parameters: $target; $token: JSON, null for none; {{name}}: of the table, `tokens`
create or replace temp table {{name}} as
select
  $target as target,
  $token::json ->> 'type' as type,
  ($token::json ->> 'is_management')::boolean as is_management,
  ($token::json ->> 'sees_every_namespace')::boolean as sees_every_namespace,
where $token::varchar is not null;
