-- grain: one row per role; the real product returns `lease`, `ttl` and `max_ttl` in seconds, and lists as lists or as text with commas
with
  responses as (
    select mount, name, body.data as data
    from read_json($files, format = 'newline_delimited', records = true, columns = {mount: 'VARCHAR', name: 'VARCHAR', body: 'STRUCT(data JSON)'}, maximum_object_size = $longest_line)
  ),
  lists as (
    select
      mount,
      name as role_name,
      field,
      case json_type(data -> field)
        when 'ARRAY' then from_json(data -> field, '["VARCHAR"]')
        -- the datacenters of a service identity are separated by commas as well
        when 'VARCHAR' then if(ends_with(field, '_identities'), [data ->> field], regexp_split_to_array(data ->> field, '\s*,\s*'))
      end as members,
    from responses
    cross join unnest(['consul_policies', 'policies', 'consul_roles', 'service_identities', 'node_identities']) as fields(field)
  ),
  named as (
    select
      mount,
      role_name,
      flatten(list(members) filter (where ends_with(field, 'policies') and members is not null)) as consul_policies,
      any_value(members) filter (where field = 'consul_roles') as consul_roles,
      any_value(members) filter (where field = 'service_identities') as service_identities,
      any_value(members) filter (where field = 'node_identities') as node_identities,
    from lists
    where len(list_filter(members, lambda member: member <> '')) > 0
    group by mount, role_name
  )
select
  responses.mount,
  name,
  data ->> 'token_type' as token_type,
  data ->> 'policy' as policy,
  data ->> 'lease' as lease,
  list_distinct(named.consul_policies).list_sort() as consul_policies,
  list_sort(named.consul_roles) as consul_roles,
  list_sort(named.service_identities) as service_identities,
  list_sort(named.node_identities) as node_identities,
  data ->> 'consul_namespace' as consul_namespace,
  data ->> 'partition' as partition,
  data ->> 'ttl' as ttl,
  data ->> 'max_ttl' as max_ttl,
  json_merge_patch(
    data,
    '{"name": null, "token_type": null, "policy": null, "lease": null, "consul_policies": null, "policies": null, "consul_roles": null, "service_identities": null, "node_identities": null, "consul_namespace": null, "partition": null, "ttl": null, "max_ttl": null}'
  ) as extra,
from responses
left join named on named.role_name = responses.name and named.mount is not distinct from responses.mount
