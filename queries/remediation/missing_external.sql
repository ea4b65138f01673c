-- grain: one row where a plugin that lists its volumes does not list this one. $target, $plugin_id, $external_id
select listings.plugin_id
from external_volume_listings as listings
where
  listings.target = $target
  and listings.plugin_id = $plugin_id
  and listings.supported
  and not exists (
    from external_volumes as held
    where held.target = $target and held.plugin_id = $plugin_id and held.external_id = $external_id
  )
order by listings.plugin_id;
