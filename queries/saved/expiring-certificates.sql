-- title: Certificates that end soon
-- description: Active CA roots and leaf certificates of the mesh whose validity ends within the given days.
-- param: days integer = 30 - days from the last pull
with certificates as (
  select target, 'CA root' as kind, name, not_after as ends_at from ca_roots where active is not false
  union all by name
  select target, 'leaf' as kind, concat(namespace, '/', service) as name, valid_before as ends_at from leaf_certificates
)
select target, kind, name, ends_at, date_diff('day', (select max(as_of) from pulls), ends_at) as days_left
from certificates
where ends_at < (select max(as_of) from pulls) + to_days($days::integer)
order by ends_at, target, name;
