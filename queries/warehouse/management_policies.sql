-- Those of a role's policies that make its tokens management tokens: the mesh's built-in policy `global-management`, by name or ID; null
-- where its policies are not reported.
-- {{scope}}: `temp ` for one connection
-- defined: after the views, and where it is missing
create or replace {{scope}}macro management_policies(policies) as
  list_filter(policies, lambda policy: lower(policy) in ('global-management', '00000000-0000-0000-0000-000000000001'));
