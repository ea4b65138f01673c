-- grain: one row per intermediate that a root names and that no leaf needs, as of a time
-- Where a root is replaced, the old one signs the key of the new one, for peers that do not know that yet: Consul's certificate lasts seven days.
-- Where an intermediate is renewed, Consul shows the former one until the next renewal after its end. Nobody renews either: the root has its
-- own certificate, and names the key that signs (docs/services/mesh.md#ca-roots).
create or replace macro idle_intermediates_at(at_time) as table
with recursive
  authorities as (select target, root_id, kind, fingerprint, key_id, signer_key_id from authority_certificates_at(at_time)),
  intermediates as (from authorities where kind = 'intermediate' and key_id is not null),
  -- by an intermediate, which only then has replaced another
  signing as (
    select target, root_id, key_id
    from intermediates
    join ca_roots_at(at_time) as roots using (target, root_id)
    where key_id = lower(replace(signing_key_id, ':', ''))
  ),
  -- the key that signs, and those above it
  used as (
    from signing
    union
    select used.target, used.root_id, signer_key_id
    from used
    join intermediates using (target, root_id, key_id)
  )
select target, fingerprint
from intermediates
where
  (target, root_id, key_id) in (select (target, root_id, key_id) from authorities where kind = 'root')
  or (
    (target, root_id) in (select (target, root_id) from signing)
    and (target, root_id, key_id) not in (select (target, root_id, key_id) from used where key_id is not null)
  );
