-- rule: No root or intermediate that the mesh shows has signed a leaf certificate.
-- severity: warning
-- sources: leaf_certificates, ca_roots
-- subject: leaf certificate
-- many: leaf certificates{of} were signed by none that the mesh shows
-- repair: find out who issued them; ask who runs the mesh
-- grain: one row per such leaf; unknown where the leaf or an authority cannot be read, where a root names the key of its signer and the mesh
-- does not show the certificate, or where the leaf may be newer than the roots as they were read: the root may have been rotated meanwhile
-- parameters: $as_of
-- The mesh no longer trusts its signer, or somebody else issued it. An agent may tell roots of ten minutes ago (docs/services/mesh.md#errors).
with
  unreadable as (
    select distinct target
    from certificates
    where kind <> 'leaf' and subject is null
  ),
  -- by the key that a root signs with (docs/services/mesh.md#ca-roots)
  named as (
    select distinct target, leaf.fingerprint
    from leaf_certificates as leaf
    join ca_roots using (target)
    where leaf.signer_key_id = lower(replace(signing_key_id, ':', ''))
  )
select
  target,
  service as subject_id,
  service as subject_name,
  case
    when issuer is null then 'its certificate cannot be read'
    when unreadable.target is not null then 'a certificate of the authority cannot be read'
    when named.target is not null then 'the mesh names the key of its signer, and does not show its certificate'
    when is_new then 'it was issued while the roots were read'
    else format('The leaf certificate of {} is signed by {}, which the mesh does not show', service, issuer)
  end as title,
  json_object('service', service, 'issuer', issuer, 'serial', serial, 'not_after', iso_time(not_after)) as detail,
  'signer ' || issuer as group_key,
  issuer is null or unreadable.target is not null or named.target is not null or is_new as unknown,
from certificates
cross join lateral (select coalesce(not_before > $as_of::timestamptz - interval 15 minutes, false) as is_new)
left join unreadable using (target)
left join named using (target, fingerprint)
where kind = 'leaf' and signed_by is null
