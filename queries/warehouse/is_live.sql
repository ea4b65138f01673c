-- Whether an agent of a status works; null for a status that is not documented. {{scope}} as for semver_key.
-- defined: after the views, and where it is missing
create or replace {{scope}}macro is_live(status) as case
  when status in ('idle', 'busy') then true
  when status in ('unknown', 'errored', 'exited') then false
end;
