-- grain: one row per registered volume of a plugin, oldest first. $target, $plugin_id, $external_id
-- new_id: the ID to register the external volume under. It is the external one reduced to what a URL path takes and to 100 characters,
-- because plugins derive socket and folder names from it. Where that drops characters, a digest keeps two IDs from colliding.
with
  reduced as (
    select left(trim(regexp_replace($external_id, '[^A-Za-z0-9_-]+', '-', 'g'), '-'), 100) as plain
  ),
  named as (
    select
      case
        when plain = $external_id then plain
        else format(
          '{}-{}',
          coalesce(nullif(plain, ''), 'volume'),
          left(sha256(format('{} {} {}', $target, $plugin_id, $external_id)), 8)
        )
      end as new_id,
    from reduced
  )
select volumes.volume_id, volumes.namespace, named.new_id
from volumes
cross join named
where volumes.target = $target and volumes.plugin_id = $plugin_id
order by volumes.create_index nulls last, volumes.namespace, volumes.volume_id
limit 5;
