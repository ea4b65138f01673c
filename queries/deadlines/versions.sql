-- deadline: Versions in use that lose their support.
-- grain: one row per target and cycle in use of a tool or product; ends_at: null where its end is not known yet
-- parameters: $as_of
select
  target,
  'version' as kind,
  format('{} {}', name, cycle) as subject_id,
  format('{} {} ({})', name, cycle, if(sum(used_by) = 1, '1 use', sum(used_by) || ' uses')) as subject_name,
  any_value(support_ends_at)::timestamptz as ends_at,
  case
    when any_value(support_ends_at) is not null then format('upgrade {} (facts of {})', name, any_value(data_as_of))
    when any_value(ends_with) is not null then format('supported until {} {} is released (facts of {})', name, any_value(ends_with), any_value(data_as_of))
    else format('its end is not known yet (facts of {})', any_value(data_as_of))
  end as what_to_do,
from version_support_at($as_of)
where cycle is not null
group by target, name, cycle;
