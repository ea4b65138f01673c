-- Whether an allocation of a status has ended; null for a status that is not reported, or that Nomad does not document. {{scope}} as for
-- semver_key.
-- defined: after the views, and where it is missing
create or replace {{scope}}macro has_ended(status) as case
  when status in ('complete', 'failed', 'lost') then true
  when status in ('pending', 'running', 'unknown') then false
end;
