-- grain: one row per certificate of the mesh, as of a time: roots, intermediates and leaves
-- signed_by: the fingerprint of its signer, null for a root and where no certificate of the authority is its signer
-- defined: after the views
create or replace macro certificates_at(at_time) as table
with
  authorities as (
    select certificates.*, row(roots.active is false, kind <> 'root', certificates.fingerprint) as place
    from authority_certificates_at(at_time) as certificates
    left join ca_roots_at(at_time) as roots using (target, root_id)
  ),
  known as (
    select
      target, kind, subject, issuer, serial, not_before, not_after, key_type, key_bits, signature_algorithm, fingerprint,
      null::varchar as service, names, root_id, signer_key_id,
    from authorities
    union all
    select
      target, 'leaf', subject, issuer, serial_number, valid_after, valid_before, key_type, key_bits, signature_algorithm, fingerprint,
      case when coalesce(namespace, 'default') = 'default' then service else format('{}/{}', namespace, service) end,
      names, null, signer_key_id,
    from leaf_certificates_at(at_time)
  ),
  -- Two authorities may have one name, and a certificate need not name the key of its signer. Cross-signed ones have the same key as well:
  -- a chain that ends at an active root counts before others, and the root itself before what cross-signs it.
  signers as (
    select
      signed.target,
      signed.fingerprint,
      signed.service,
      arg_min(signer.fingerprint, place) as signed_by,
      arg_min(signer.root_id, place) as signer_root_id,
    from known as signed
    join authorities as signer
      on signer.target = signed.target
      and signer.subject = signed.issuer
      and signer.fingerprint <> signed.fingerprint
      and coalesce(signer.key_id = signed.signer_key_id, true)
    group by all
  )
select
  known.* exclude (root_id, signer_key_id),
  case when kind <> 'root' then signed_by end as signed_by,
  coalesce(root_id, signer_root_id) as root_id,
from known
left join signers
  on signers.target = known.target
  and signers.fingerprint = known.fingerprint
  and signers.service is not distinct from known.service;
