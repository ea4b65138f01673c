-- grain: one row per target and problem of sources whose difference is not known, or not of just these times
-- parameters: $from, $to; $targets: a list, null for all; $sources: those of interest
with
  compared as (
    select
      coalesce(later.target, earlier.target) as target,
      coalesce(later.source, earlier.source) as source,
      earlier.as_of as from_as_of,
      earlier.status as from_status,
      later.as_of as to_as_of,
      later.tried_at,
      later.status as to_status,
      later.error,
    from source_state_at($to) as later
    full join source_state_at($from) as earlier on earlier.target = later.target and earlier.source = later.source
  ),
  dated as (
    select
      *,
      strftime(timezone('UTC', from_as_of), '%Y-%m-%dT%H:%M:%SZ') as from_text,
      strftime(timezone('UTC', to_as_of), '%Y-%m-%dT%H:%M:%SZ') as to_text,
    from compared
  ),
  -- a source that was asked, and has no state, was left out
  asked as (select distinct target, source from pulls where as_of <= $from::timestamptz),
  told as (
    select
      target,
      source,
      case
        when to_status is null then 'the configuration leaves it out'
        when to_status = 'unsupported' then 'not known'
        when to_as_of is null then 'never pulled: ' || to_status
        when from_status is null and asked.source is not null then 'the configuration left it out at the earlier time'
        when from_as_of is null then 'no answer before ' || to_text
        when to_as_of <= $from::timestamptz and to_as_of < $to::timestamptz then concat('no answer since ', to_text, ': ', if(tried_at > $from::timestamptz, to_status, 'not pulled'))
        when to_status = 'partial' then 'partial'
        when to_as_of < $to::timestamptz then concat('compared as of ', to_text, ': ', if(tried_at > to_as_of, to_status, 'not pulled since'))
        when from_as_of < $from::timestamptz then concat('compared with ', from_text, ': not loaded in the first pull')
      end as problem,
      if(to_status in ('complete', 'left-out'), null, error) as error,
    from dated
    left join asked using (target, source)
  )
select target, string_agg(source, ', ' order by source) as sources, concat_ws(': ', problem, error) as problem
from told
where problem is not null and coalesce(list_contains($targets::varchar[], target), true) and list_contains($sources::varchar[], source)
group by target, problem, error
order by target, sources;
