-- grain: one row per intermediate that a root names and that no leaf needs, as of a time
-- Where a root is replaced, the old one signs the key of the new one, for peers that do not know that yet: Consul's
-- certificate lasts seven days. Where an intermediate is renewed, Consul shows the former one until the next renewal after its end. Nobody
-- renews either: the root has its own certificate, and names the key that signs (docs/services/mesh.md#ca-roots).
-- {{scope}} as for semver_key.
-- defined: after the views, and where it is missing
create or replace {{scope}}macro idle_intermediates_at(at_time) as table
with recursive
  authorities as (
    select target, root_id, kind, fingerprint, subject, issuer, key_id, signer_key_id from authority_certificates_at(at_time)
  ),
  intermediates as (from authorities where kind = 'intermediate'),
  cross_signed as (
    select intermediates.target, intermediates.fingerprint
    from intermediates
    semi join (from authorities where kind = 'root') as roots using (target, root_id, key_id)
  ),
  -- what the root names as the signer of leaves: only an intermediate has replaced another
  signing as (
    select target, root_id, fingerprint, issuer, signer_key_id
    from intermediates
    anti join cross_signed using (target, fingerprint)
    join ca_roots_at(at_time) as roots using (target, root_id)
    where key_id = lower(replace(signing_key_id, ':', ''))
  ),
  -- and those above it: a certificate need not name its key, nor that of its signer
  used as (
    from signing
    union
    select above.target, above.root_id, above.fingerprint, above.issuer, above.signer_key_id
    from used
    join intermediates as above
      on above.target = used.target
      and above.root_id = used.root_id
      and above.subject = used.issuer
      and coalesce(above.key_id = used.signer_key_id, true)
  )
from cross_signed
union
select target, fingerprint
from intermediates
where
  key_id is not null
  and (target, root_id) in (select (target, root_id) from signing)
  and (target, fingerprint) not in (select (target, fingerprint) from used);
