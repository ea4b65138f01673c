-- grain: one row per target that has come from another writer, and whose rows there this warehouse never had: nobody has judged that they
-- are gone. A pull has judged every other row. The pending changes are those of one history. {{stored}}, {{same}}: the history
with
  held as (
    from lake_log
    qualify row_number() over (partition by {{identity}} order by as_of desc) = 1 and op <> 'delete'
  ),
  known as (
    select valid_to, {{values}}
    from {{stored}}
  ),
  gone as (
    select begun.target, count(*) as deleted
    from lake_pending as begun
    join lake_foreign on lake_target = begun.target
    anti join known as ended on ended.valid_to = begun.as_of and {{same}}
    where begun.op = 'delete'
    group by begun.target
  )
select gone.target, gone.deleted, count(*) as held
from gone
join held using (target)
group by all
order by gone.target;
