-- The history of each subject of a kind that has a page: one row per time and column that changed, and one per time at which the
-- subject appeared or disappeared. `event` is `first pull`, `appeared`, `changed`, `gone` or `back`; `times` is the number of all times.
-- {{subject}}: the kind; {{versions}}: its versions; {{source}}: the source; parameters $as_of, $limit: times per subject
with
  selected as (
    select versions.* exclude (subject_name, place)
    from ({{versions}}) as versions
    semi join (from subject_pages where subject_type = {{subject}}) as pages using (target, subject_id)
    where valid_from <= $as_of::timestamptz
  ),
  baseline as (select target, min(as_of) as first_pull from pulls where source = {{source}} and status in ('complete', 'partial') group by target),
  numbered as (
    select
      *,
      row_number() over versions as version_number,
      lag(valid_to) over versions as previous_end,
    from selected
    window versions as (partition by target, subject_id order by valid_from)
  ),
  appearances as (
    select
      target,
      subject_id,
      valid_from as happened_at,
      case
        when version_number = 1 then if(valid_from <= first_pull, 'first pull', 'appeared')
        else 'back'
      end as event,
    from numbered
    left join baseline using (target)
    where version_number = 1 or previous_end < valid_from
  ),
  disappearances as (
    select target, subject_id, valid_to as happened_at, 'gone' as event
    from numbered
    where
      valid_to <= $as_of::timestamptz
      and not exists (
        from numbered as following
        where
          following.target = numbered.target
          and following.subject_id = numbered.subject_id
          and following.valid_from = numbered.valid_to
      )
  ),
  -- a long text is known by its hash: windows would hold all of it
  texts as (
    select
      target,
      subject_id,
      valid_from,
      version_number,
      struct_pack(
        text := left(columns(* exclude (target, subject_id, valid_from, valid_to, version_number, previous_end))::varchar, 2000),
        hash := hash(columns(* exclude (target, subject_id, valid_from, valid_to, version_number, previous_end))::varchar)
      ),
    from numbered
  ),
  fields as (
    from texts
    unpivot include nulls (content for field in (columns(* exclude (target, subject_id, valid_from, version_number))))
  ),
  compared as (
    select
      target,
      subject_id,
      valid_from as happened_at,
      version_number,
      field,
      lag(content) over (partition by target, subject_id, field order by valid_from) as before,
      content as after,
    from fields
  ),
  events as (
    select target, subject_id, happened_at, event, null::varchar as field, null::varchar as before, null::varchar as after
    from appearances
    union all
    select target, subject_id, happened_at, event, null, null, null from disappearances
    union all
    select target, subject_id, happened_at, 'changed', field, before.text, after.text
    from compared
    where version_number > 1 and before is distinct from after
  ),
  ranked as (
    select *, dense_rank() over (partition by target, subject_id order by happened_at desc) as place_in_order
    from events
  )
select
  *,
  'history' as kind,
  case event
    when 'first pull' then 'Present in the first pull'
    when 'appeared' then 'Appeared'
    when 'changed' then 'Changed'
    when 'gone' then 'No longer reported'
    when 'back' then 'Reported again'
  end as title,
  max(place_in_order) over (partition by target, subject_id) as times
from ranked
qualify place_in_order <= $limit
order by target, subject_id, happened_at desc, event <> 'changed' desc, field
