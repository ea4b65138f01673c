-- Sources as if they had just been pulled completely, to ask what their listings would prove.
-- parameters: $target; $sources: list; $as_of; {{name}}: of the table, `evaluated_sources`
create or replace temp table {{name}} as
select $target as target, unnest($sources::varchar[]) as source, 'complete' as status, $as_of::timestamptz as as_of;
