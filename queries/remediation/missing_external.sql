-- grain: one row where a plugin lists its volumes and this one is not among them. $target, $plugin_id, $external_id
select listings.plugin_id
from external_volume_listings as listings
where
  listings.target = $target
  and listings.plugin_id = $plugin_id
  and listings.supported
  and not exists (
    from external_volumes as listed
    where
      listed.target = $target
      and listed.external_id = $external_id
      and coalesce(starts_with(listed.plugin_id, $plugin_id), true)
  )
order by listings.plugin_id;
