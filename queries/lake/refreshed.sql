-- Adds the current rows that were published before and have changed without a new version.
-- parameters: $after; $now
insert into lake_pending
select 'refresh' as op, $now::timestamptz as as_of, {{begun}}
from (
  select {{values}}
  from {{stored}}
  where valid_to is null and valid_from <= $after::timestamptz
) as begun
join lake_held as ended on {{same}}
where row({{begun}}) is distinct from row({{ended}});
