-- title: How many modules are private
-- description: After each pull, modules in use by registry, and the share of the private ones; no share where a registry is not known.
-- param: since timestamp = now() - interval 90 days - only later pulls
select
  pulls.as_of as pulled_at,
  pulls.target,
  count(used.target) as modules,
  count_if(used.registry_type = 'public') as public_modules,
  count_if(used.registry_type is null and used.target is not null) as not_known,
  case when not_known = 0 then round(100 * (1 - public_modules / nullif(count(used.target), 0)), 1) end as private_percent,
from pulls
left join modules_history as used
  on used.target = pulls.target
  and used.valid_from <= pulls.as_of
  and (used.valid_to is null or used.valid_to > pulls.as_of)
where pulls.source = 'modules' and pulls.status = 'complete' and pulls.as_of >= $since::timestamptz
group by pulls.as_of, pulls.target
order by pulls.as_of desc, pulls.target;
