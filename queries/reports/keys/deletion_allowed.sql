-- grain: one row per key that may be deleted
-- title: Deletion allowed
-- sources: key_distributions, keys
-- about: A key can be deleted once it is in no provider. Deletion cannot be undone.
-- empty: No key is known that may be deleted.
-- labels: name=Key; type=Type; held_by=Providers; since=Allowed since
-- subjects: name=key
with
  held as (
    select target, key_name, list_sort(list(provider_name)) as held_by
    from key_distributions_at($as_of)
    group by target, key_name
  ),
  changed as (
    select
      target,
      name,
      valid_from,
      deletion_allowed is distinct from lag(deletion_allowed) over (partition by target, name order by valid_from) as is_changed,
    from keys_history
    where valid_from <= $as_of::timestamptz
  ),
  allowed as (select target, name, max(valid_from) filter (is_changed) as since from changed group by target, name)
select
  keys.target,
  keys.name,
  keys.type,
  held.held_by,
  allowed.since,
from keys_at($as_of) as keys
left join held on held.target = keys.target and held.key_name = keys.name
left join allowed on allowed.target = keys.target and allowed.name = keys.name
where keys.deletion_allowed
order by allowed.since, keys.name, keys.target;
