-- grain: one row per key
-- title: Keys
-- sources: key_distributions, keys
-- about: The oldest rotation first. "Enabled" counts the versions that providers may still use.
-- empty: No key is known.
-- labels: name=Key; type=Type; age=Since rotation; versions_enabled=Enabled; latest_version=Latest; held_by=Providers; deletion_allowed=May be deleted
-- strips: age=bar
-- legend: bad=overdue; good=in time; limit=the limit
-- subjects: name=key
-- hidden: age_days, type
with
  held as (
    select target, key_name, list_sort(list(provider_name)) as held_by
    from key_distributions_at($as_of)
    group by target, key_name
  )
select
  rotated.target,
  rotated.name,
  rotated.rotated_at,
  date_diff('hour', rotated.rotated_at, $as_of::timestamptz) // 24 as age_days,
  case
    when rotated.rotated_at is null then 'unknown'
    when rotated.rotated_at < $as_of::timestamptz - to_seconds($key_rotation_days::double * 86400) then 'overdue'
    else 'in time'
  end as state,
  if(
    rotated_at is null,
    [],
    [
      {
        'kind': if(state = 'overdue', 'bad', 'good'),
        'value': age_days,
        'text': format('{:,} {}', age_days, if(age_days = 1, 'day', 'days')),
      },
      {'kind': 'limit', 'value': $key_rotation_days::double, 'text': format('limit {:g} days', $key_rotation_days::double)},
    ]
  ) as age,
  rotated.type,
  rotated.latest_version,
  rotated.versions_enabled,
  held.held_by,
  rotated.deletion_allowed,
from rotated_keys($as_of) as rotated
left join held on held.target = rotated.target and held.key_name = rotated.name
order by rotated.rotated_at nulls first, rotated.name, rotated.target;
