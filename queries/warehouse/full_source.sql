-- The full address of the source of a `provider` or `module`. Terraform reads one without a host as the public registry's; a list may have
-- `providers` between the host and the names. {{scope}} as for semver_key.
-- defined: after the views
create or replace {{scope}}macro full_source(kind, source) as (
  case
    when regexp_full_match(source, if(kind = 'provider', '[\w-]+/[\w-]+', '[\w-]+/[\w-]+/[\w-]+')) then 'registry.terraform.io/' || source
    when kind = 'provider' then regexp_replace(source, '^([^/]+\.[^/]+/)providers/', '\1')
    else source
  end
);
