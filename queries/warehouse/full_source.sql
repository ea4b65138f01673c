-- The full address of the source of a `provider` or `module`. Terraform reads one without a host as the public registry's; a list may have
-- `providers` between the host and the names, and Terraform reads those of providers in any case. {{scope}} as for semver_key.
-- defined: after the views
create or replace {{scope}}macro full_source(kind, source) as (
  case
    when kind = 'provider' then lower(if(
      regexp_full_match(source, '[\w-]+/[\w-]+'),
      'registry.terraform.io/' || source,
      regexp_replace(source, '^([^/]+\.[^/]+/)providers/', '\1')
    ))
    when regexp_full_match(source, '[\w-]+/[\w-]+/[\w-]+') then 'registry.terraform.io/' || source
    else source
  end
);
