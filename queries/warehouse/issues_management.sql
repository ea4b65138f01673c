-- Whether a mesh role issues management tokens, by its token type or its policies; null where neither tells, or where it has no policy, role
-- or identity at all: a service accepts no such role. What the mesh roles that it names contain is not known.
-- role: its row; {{scope}}: `temp ` for one connection
-- defined: after the views, and where it is missing
create or replace {{scope}}macro issues_management(role) as case
  when lower(role.token_type) = 'management' or len(management_policies(role.consul_policies)) > 0 then true
  when
    lower(role.token_type) = 'client'
    and (
      coalesce(role.policy, '') <> ''
      or coalesce(len(role.consul_policies), 0) + coalesce(len(role.consul_roles), 0) > 0
      or coalesce(len(role.service_identities), 0) + coalesce(len(role.node_identities), 0) > 0
    )
    then false
end;
